"""Token counting in a fresh interpreter: its imports, and that it uses no network. Only such tests may live here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from backscroll.tokens.engines import resolve
from backscroll.tokens.engines.heuristic import ESTIMATOR_NAME, estimate
from backscroll.tokens.engines.vocabularies import vocabulary_path

SOURCES = Path(__file__).resolve().parents[2] / "src"

pytest.importorskip("toktok", reason="exact counts need the engine; the fallback has its own tests")


def in_subprocess(code: str, **environment: str) -> str:
    """What `code` prints in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(SOURCES), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


BLOCKED_IMPORT = """
import sys, warnings
class Block:
    def find_spec(self, name, path=None, target=None):
        if name in ("toktok", "tiktoken"):
            raise ImportError(f"{name} is blocked")
sys.meta_path.insert(0, Block())
from backscroll.tokens.engines import resolve
events = []
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    tokenizer = resolve(sys.argv[1] if len(sys.argv) > 1 else "auto", lambda *event: events.append(event))
    counts = [tokenizer.count(text) for text in ("", "hello world", "x" * 100_000)]
print(tokenizer.name, tokenizer.exact, len(events), len(seen), min(counts[1:]) > 0, counts[0])
"""

NO_SOCKETS = """
import socket
class Refuse:
    def __init__(self, *arguments, **options):
        raise AssertionError("a socket was opened")
socket.socket = Refuse
socket.create_connection = Refuse
socket.getaddrinfo = Refuse
import warnings
warnings.simplefilter("ignore")
from backscroll.tokens.engines import resolve
"""


def test_importing_loads_no_engine() -> None:
    code = """
import sys
import backscroll.tokens.engines
backscroll.tokens.engines.resolve("auto"), backscroll.tokens.engines.resolve("tiktoken")
import backscroll.tokens.engines.media
print([m for m in ("toktok", "tiktoken", "imagesize", "urllib.request", "tempfile") if m in sys.modules])
"""
    assert in_subprocess(code).strip() == "[]"


def test_a_missing_engine_falls_back_to_the_estimator() -> None:
    assert in_subprocess(BLOCKED_IMPORT).split() == [ESTIMATOR_NAME, "False", "1", "1", "True", "0"]


def test_counting_opens_no_socket() -> None:
    code = NO_SOCKETS + "t = resolve('auto'); print(t.count('hello world'), t.exact)"
    assert in_subprocess(code).split() == ["2", "True"]


def test_tiktoken_without_its_vocabulary_does_not_download_it(tmp_path: Path) -> None:
    code = NO_SOCKETS + (
        "events = []; t = resolve('tiktoken', lambda *e: events.append(e)); print(t.count('hello world'), t.name)\n"
        "print(events[0][1]['reason'])"
    )
    count, reason = in_subprocess(code, TIKTOKEN_CACHE_DIR=str(tmp_path)).splitlines()
    assert count == f"{estimate('hello world')} {ESTIMATOR_NAME}"
    assert "TIKTOKEN_CACHE_DIR" in reason


def test_a_damaged_vocabulary_is_not_replaced(tmp_path: Path) -> None:
    find = "from backscroll.tokens.engines.vocabularies import vocabulary_path as p; print(p('o200k_base'))"
    path = Path(in_subprocess(find, TIKTOKEN_CACHE_DIR=str(tmp_path)).strip())
    assert path.parent == tmp_path
    path.write_bytes(b"not a vocabulary")
    code = NO_SOCKETS + "t = resolve('tiktoken:o200k_base'); print(t.count('hello world'), t.exact)"
    assert in_subprocess(code, TIKTOKEN_CACHE_DIR=str(tmp_path)).split()[1] == "False"
    assert path.read_bytes() == b"not a vocabulary"


def test_tiktoken_counts_alike_where_it_has_its_vocabulary() -> None:
    path = vocabulary_path("o200k_base")
    if path is None or not path.is_file():
        pytest.skip("tiktoken's cache holds no vocabulary here")
    pytest.importorskip("tiktoken")
    tokenizer = resolve("tiktoken")
    assert tokenizer.exact
    assert tokenizer.count("word \n\n" * 9_000) == resolve("o200k_base").count("word \n\n" * 9_000)
