"""What commands say and take: sizes and dates, standard input, JSON everywhere, the version, and what to install."""

import json
import os
import re
import subprocess
import sys
import tomllib
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import backscroll
from backscroll import ContextManager
from backscroll.cli.main import main
from backscroll.cli.stores import render as showing
from backscroll.stores.memory import MemoryStore
from tests.cli.commands import app, on_a_terminal

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TALK = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "Hello yourself!"}]
main([])  # so that every command is there


def invoke(*arguments: Any, given: bytes | None = None) -> Result:
    """Run a command, with something on standard input."""
    return CliRunner().invoke(app, [str(each) for each in arguments], input=given)


def talk(store: Any, session: str) -> None:
    """A short conversation in a store."""
    with ContextManager(store=store, session=session, tokenizer=len) as context:
        context.append(*TALK)


@pytest.fixture(params=["sqlite", "jsonl"])
def place(request: Any, tmp_path: Path) -> Path:
    """A store with one session, and a shorter one."""
    path = tmp_path / ("a.db" if request.param == "sqlite" else "a")
    talk(f"{request.param}:///{path}", "one")
    with ContextManager(store=f"{request.param}:///{path}", session="two", tokenizer=len) as context:
        context.append(TALK[0])
    return path


# -- sessions --


def test_sessions_show_bytes_and_date_of_last_record(place):
    """Each session has its bytes, and the date of its last record where the store knows it."""
    rows = json.loads(invoke("sessions", place, "--json").stdout)["sessions"]
    first, shorter = rows
    assert first["bytes"] > max(shorter["bytes"], sum(len(each["content"]) for each in TALK))
    dated = place.is_dir()
    assert [row["changed"] is not None for row in rows] == [dated, dated]
    shown = invoke("sessions", place).stdout
    assert "bytes" in shown
    assert ("last record" in shown) == dated
    if dated:
        age = datetime.now().astimezone() - datetime.fromisoformat(first["changed"])
        assert abs(age.total_seconds()) < 60
        assert re.search(r"│ \d{4}-\d\d-\d\d \d\d:\d\d │", shown)


def test_sessions_of_store_without_sizes_show_none():
    """A store that cannot say its sizes gets no column for them."""
    store = MemoryStore()
    talk(store, "one")
    row = showing.session_row(store, "one")
    assert (row["bytes"], row["changed"], row["messages"]) == (None, None, 2)
    assert [column.header for column in showing.sessions_table([row]).columns] == ["session", "messages", "records"]


def test_search_on_terminal_says_that_it_indexes(place):
    """A first search, which reads everything, says what it does while a terminal is there."""
    assert "indexing and searching" in on_a_terminal("search", place, "yourself")
    assert "indexing" not in invoke("search", place, "yourself").output


# -- standard input --


def test_import_reads_transcript_from_standard_input(tmp_path):
    """A transcript comes in through a pipe, under the name that was given."""
    given = json.dumps(TALK).encode()
    assert invoke("import", "-", tmp_path / "b.db", "--as", "piped", given=given).exit_code == 0
    assert ContextManager(store=tmp_path / "b.db", session="piped").get_messages() == TALK
    assert invoke("import", "-", tmp_path / "b.db", given=given).exit_code == 0
    assert ContextManager(store=tmp_path / "b.db", session="standard input").get_messages() == TALK


def test_import_reads_export_from_standard_input(place, tmp_path):
    """What `export -` wrote comes in through a pipe as well."""
    line = [sys.executable, "-m", "backscroll.cli.main", "export", place, "-", "one"]
    exported = subprocess.run(line, capture_output=True, timeout=60, check=True).stdout
    assert invoke("import", "-", tmp_path / "b.db", given=exported).exit_code == 0
    assert ContextManager(store=tmp_path / "b.db", session="one").get_messages() == TALK
    torn = invoke("import", "-", tmp_path / "c.db", given=exported[:-20])
    assert (torn.exit_code, (tmp_path / "c.db").exists()) == (1, False)
    assert torn.stderr.startswith("backscroll: standard input: ")


@pytest.mark.parametrize("given", [b"", b"nothing of ours"])
def test_import_names_standard_input_that_is_no_transcript(tmp_path, given):
    """What cannot be imported is named, and no store is made."""
    done = invoke("import", "-", tmp_path / "b.db", given=given)
    assert (done.exit_code, list(tmp_path.iterdir())) == (2, [])
    assert done.stderr.startswith("backscroll: standard input: ")


# -- JSON --


def test_every_command_takes_json():
    """As the README says. Standard output of `mcp` is the protocol's, and `serve` has its totals at an address."""
    assert "all but `mcp`, `serve` print `--json`." in (ROOT / "README.md").read_text(encoding="utf-8")
    for name, command in app.commands.items():
        assert name in ("mcp", "serve") or any("--json" in parameter.opts for parameter in command.params), name


def test_inspect_export_prints_json(place, tmp_path):
    """The figures of an exported page, for programs."""
    target = tmp_path / "page.html"
    done = invoke("inspect", place, "--export", target, "--session", "one", "--json")
    assert json.loads(done.stdout) == {"file": str(target), "sessions": 1, "bytes": os.path.getsize(target)}


def test_inspect_prints_address_as_json(place):
    """The address of the page that is served, for programs."""
    line = [sys.executable, "-m", "backscroll.cli.main", "inspect", str(place), "--no-browser", "--json"]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            told = json.loads(process.stdout.readline())
        finally:
            process.terminate()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]+/", told["address"])


# -- the version, and what to install --


def test_version_is_that_of_the_package():
    """The version comes from the metadata, and only when it is asked for."""
    assert backscroll.__version__ == PROJECT["version"]
    program = "import sys, backscroll; print('importlib.metadata' in sys.modules, backscroll.__version__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["False", PROJECT["version"]]
    with pytest.raises(AttributeError, match="has no attribute '__versoin__'"):
        backscroll.__versoin__  # type: ignore[attr-defined]  # noqa: B018


def test_command_prints_version_without_extras():
    """`backscroll --version` needs no package of an extra."""
    program = "import sys; from backscroll.cli.main import main; sys.exit(main(['--version']))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    line = [sys.executable, "-S", "-c", program]  # -S leaves out installed packages, the metadata of ours as well
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("backscroll, version ")


def test_hints_name_extras_that_exist_in_quotes_of_a_shell():
    """What an error says to install is an extra of the project, quoted so that a shell leaves the brackets alone."""
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    hints = [hint for source in sources for hint in re.findall(r"pip install (\S*backscroll\S*)", source)]
    assert len(hints) >= 10
    for hint in hints:
        named = re.match(r"'backscroll\[([\w-]+)\]'", hint)
        assert named is not None, hint
        assert named[1] in PROJECT["optional-dependencies"]


def test_all_extras_hold_each_but_ray_and_litellm():
    """`backscroll[all]` brings every extra save that for a cluster, which is larger than all others, and LiteLLM, which
    holds the package openai below 3.
    """
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    assert set(re.findall(r"[\w-]+", everything)) - {"backscroll"} == set(extras) - {"all", "ray", "litellm"}
