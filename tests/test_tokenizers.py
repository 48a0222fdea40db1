"""Token counting and media headers. Only their tests may live here; engines are injected, nothing is mocked.

Golden counts are constants on which two independent implementations agreed.
"""

import base64
import json
import os
import struct
import subprocess
import sys
import threading
import warnings
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.errors import ConfigurationError
from backscroll.tokenizers import NAMES, Estimator, resolve
from backscroll.tokenizers.engines import ENCODINGS, goldens, load_toktok, vocabulary_path
from backscroll.tokenizers.estimator import CEILING, ESTIMATOR_NAME, estimate
from backscroll.tokenizers.guard import BLOCK, HARD_BLOCK, Engine, Guarded, blocks, without_surrogates
from backscroll.tokenizers.media import image_size, pdf_pages

SOURCES = Path(__file__).resolve().parent.parent / "src"
EVENT = "context:tokenizer_fallback"

toktok = pytest.importorskip("toktok", reason="exact counts need the engine; the fallback has its own tests")
O200K = resolve("o200k_base")


class Listener:
    """Keeps what is reported."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, event: str, payload: dict[str, Any]) -> None:
        self.events.append((event, payload))


def guarded(count: Callable[[str], Any], report: Any = None, **options: Any) -> Guarded:
    """A guarded engine made of a function."""
    return Guarded("fake", lambda: Engine("fake/1", count, **options), report)


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


def exactly(text: str) -> int:
    """The engine's own count of the whole text."""
    return int(toktok.truncate(text, 1 << 60, "o200k_base")[1])


# --- engines -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_golden_counts(encoding: str) -> None:
    tokenizer = resolve(encoding)
    assert tokenizer.exact
    assert tokenizer.name.startswith(f"{encoding}/toktok-")
    for text, tokens in goldens(encoding).items():
        assert tokenizer.count(text) == tokens


@pytest.mark.parametrize(
    ("text", "o200k", "cl100k"),
    [
        ("", 0, 0),
        ("hello world", 2, 2),
        ("<|endoftext|>", 7, 7),
        ("上下文窗口满了需要压缩", 8, 14),
        ("\t\t\tindent\n\t\n\t\t end\t", 7, 7),
    ],
)
def test_small_golden_counts(text: str, o200k: int, cl100k: int) -> None:
    assert resolve("auto").count(text) == o200k
    assert resolve("cl100k_base").count(text) == cl100k


def test_the_default_is_o200k_base() -> None:
    assert resolve().name == O200K.name


def test_a_lone_surrogate_counts_as_the_replacement_character() -> None:
    assert O200K.count("a \ud800 b") == O200K.count("a \ufffd b")
    assert O200K.count("\ud83d\ude00") == O200K.count("😀")
    assert without_surrogates("\udc00\ud800x\ud83d\ude00") == "\ufffd\ufffdx😀"


def test_loading_happens_once_for_many_threads() -> None:
    loads: list[int] = []
    gate = threading.Barrier(8)

    def load() -> Engine:
        loads.append(1)
        return Engine("fake/1", len)

    tokenizer = Guarded("fake", load)
    counts: list[int] = []

    def work() -> None:
        gate.wait()
        counts.append(tokenizer.count("abc"))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(loads), counts) == (1, [3] * 8)


# --- the guard: blocks ---------------------------------------------------------------------------------------------

words = st.sampled_from(
    ["word ", "beta", "\n", "\n\n    ", " ", "x = 1\n", "// note\n", "/", "é", "上", "😀", "\t", "\r\n"]
)
lines = st.lists(words, min_size=5, max_size=60).map("".join)
long_texts = st.tuples(lines, st.integers(400, 900)).map(lambda pair: pair[0] * pair[1])


@settings(max_examples=60, deadline=None)
@given(long_texts)
def test_blocks_add_up_to_the_whole(text: str) -> None:
    pieces = list(blocks(text))
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= BLOCK for piece in pieces[:-1])
    whole = exactly(text)
    in_blocks = O200K.count(text)
    # A cut can add a token or two, and take one away where a greedy merge was worse than the cut.
    assert abs(in_blocks - whole) <= 2 * (len(pieces) - 1)


def test_prose_and_code_are_cut_where_the_engine_cuts() -> None:
    for path in sorted(SOURCES.rglob("*.py")):
        text = path.read_text(encoding="utf-8") * 12
        assert O200K.count(text) == exactly(text), path.name


def test_a_block_is_cut_after_the_last_newline_of_white_space() -> None:
    text = "word " * 3_000 + "end\n\n    \n    next " + "a" * 5_000
    first = next(blocks(text))
    assert first.endswith("end\n\n    \n")


def test_no_cut_before_a_slash_that_belongs_to_the_newline() -> None:
    text = "one two\n" * 1_000 + ".\n/" + "a" * 20_000
    assert next(blocks(text)).endswith("one two\n")


def test_a_text_without_white_space_is_cut_hard() -> None:
    assert [len(piece) for piece in blocks("a" * 30_000)][:2] == [HARD_BLOCK, HARD_BLOCK]


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(codec=None), max_size=200), st.integers(1, 300))
def test_any_text_is_counted(text: str, times: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tokens = resolve_once().count(text * times)
    assert (tokens > 0) == bool(text)


def resolve_once() -> Any:
    """The shared tokenizer: loading is not what these tests are about."""
    return O200K


# --- the guard: failures -------------------------------------------------------------------------------------------


def test_a_failing_self_check_falls_back_once() -> None:
    listener = Listener()
    tokenizer = guarded(len, listener, goldens={"hello world": 2})
    with pytest.warns(RuntimeWarning, match="self-check"):
        assert tokenizer.count("hello world") == estimate("hello world")
    assert tokenizer.count("again") == estimate("again")  # without a warning, which would be an error here
    assert (tokenizer.name, tokenizer.exact) == (ESTIMATOR_NAME, False)
    [(event, payload)] = listener.events
    assert event == EVENT
    assert payload["tokenizer"] == "fake"
    assert payload["scope"] == "engine"
    assert "instead of 2" in payload["reason"]
    json.dumps(payload)


def test_fallen_back_counts_equal_those_of_the_estimator_on_long_texts_too() -> None:
    tokenizer = guarded(len, goldens={"x": 2})
    text = "Some words of a long text.\n" * 5_000
    with pytest.warns(RuntimeWarning):
        assert tokenizer.count(text) == Estimator().count(text)


def test_name_and_exact_tell_the_truth_before_the_first_count() -> None:
    def missing() -> Engine:
        raise ImportError("no such engine")

    with pytest.warns(RuntimeWarning, match="no such engine"):
        assert not Guarded("fake", missing).exact
    with pytest.warns(RuntimeWarning):
        assert Guarded("fake", missing).name == ESTIMATOR_NAME
    assert "not loaded" in repr(Guarded("fake", missing))


class PanicException(BaseException):
    """Named like the panics of Rust extensions, which cannot be imported."""


@pytest.mark.parametrize("error", [PanicException("out of range"), ValueError("bad"), MemoryError(), RecursionError()])
def test_a_count_that_fails_is_estimated_and_raised(error: BaseException) -> None:
    def count(text: str) -> int:
        raise error

    listener = Listener()
    tokenizer = guarded(count, listener)
    with pytest.warns(RuntimeWarning):
        assert tokenizer.count("some words here") == estimate("some words here", 1.25)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tokenizer.count("more words " * 9_000) >= estimate("more words " * 9_000)
    assert [payload["scope"] for _, payload in listener.events] == ["text"]
    assert tokenizer.exact
    assert tokenizer.name == "fake/1"


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_interrupts_pass(error: type[BaseException]) -> None:
    def count(text: str) -> int:
        raise error

    with pytest.raises(error):
        guarded(count).count("text")
    with pytest.raises(error):
        Guarded("fake", partial(count, "")).count("text")  # type: ignore[arg-type]  # raises before it could answer


def test_an_interrupted_load_is_tried_again() -> None:
    answers: list[Any] = [KeyboardInterrupt(), Engine("fake/1", len)]

    def load() -> Engine:
        answer = answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer  # type: ignore[no-any-return]  # the list holds both

    tokenizer = Guarded("fake", load)
    with pytest.raises(KeyboardInterrupt):
        tokenizer.count("abc")
    assert tokenizer.count("abc") == 3


def test_neither_a_failing_listener_nor_strict_warnings_break_a_count() -> None:
    def listener(event: str, payload: dict[str, Any]) -> None:
        raise OSError("the listener is broken")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert guarded(lambda text: -1, listener).count("text") > 0
        assert guarded(len, listener, goldens={"x": 7}).count("text") > 0


def test_an_engine_that_answers_zero_has_failed() -> None:
    with pytest.warns(RuntimeWarning):
        assert guarded(lambda text: 0).count("hello there") == estimate("hello there", 1.25)


def test_a_listener_may_count() -> None:
    seen: list[int] = []
    tokenizers: list[Guarded] = []
    tokenizer = guarded(len, lambda event, payload: seen.append(tokenizers[0].count("abc")), goldens={"x": 2})
    tokenizers.append(tokenizer)
    with pytest.warns(RuntimeWarning):
        tokenizer.count("text")
    assert seen == [estimate("abc")]


# --- what a caller may give ----------------------------------------------------------------------------------------


def quarter(text: str) -> int:
    return len(text) // 4


class Whole:
    """An integer that is not an int, as numpy's are."""

    def __index__(self) -> int:
        return 7


def test_a_function_is_taken_as_exact() -> None:
    tokenizer = resolve(quarter)
    assert (tokenizer.name, tokenizer.exact) == ("custom:quarter", True)
    assert tokenizer.count("x" * 40) == 10
    assert resolve(partial(quarter)).name == "custom:partial"


def test_a_function_may_round_a_short_text_down_to_zero() -> None:
    tokenizer = resolve(quarter)
    assert (tokenizer.count(""), tokenizer.count("abc")) == (0, 1)
    with pytest.warns(RuntimeWarning):
        assert resolve(lambda text: 0).count("long " * 20) == estimate("long " * 20, 1.25)


@pytest.mark.parametrize("answer", [None, 2.0, "3", -1, True, [1]])
def test_a_wrong_answer_is_replaced(answer: Any) -> None:
    listener = Listener()
    tokenizer = resolve(lambda text: answer, listener)
    with pytest.warns(RuntimeWarning):
        assert tokenizer.count("some words") == estimate("some words", 1.25)
    assert [event for event, _ in listener.events] == [EVENT]


def test_an_integer_of_another_type_is_an_integer() -> None:
    tokens = resolve(lambda text: Whole()).count("text")  # type: ignore[arg-type, return-value]  # on purpose
    assert tokens == 7
    assert type(tokens) is int


def test_a_function_sees_long_texts_in_blocks() -> None:
    seen: list[int] = []

    def count(text: str) -> int:
        seen.append(len(text))
        return len(text)

    assert resolve(count).count("word " * 10_000) == 50_000
    assert max(seen) <= BLOCK


def test_a_tokenizer_is_taken_as_it_is() -> None:
    estimator = Estimator()
    assert resolve(estimator) is estimator
    assert resolve(O200K) is O200K


async def waiting(text: str) -> int:
    return 1


@pytest.mark.parametrize("wrong", [None, 3, object(), Estimator, waiting, ["auto"]])
def test_other_things_are_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError):
        resolve(wrong)


def test_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(ConfigurationError, match="nearest is 'o200k_base'") as caught:
        resolve("o200kbase")
    assert all(name in str(caught.value) for name in NAMES)


# --- imports and the network ---------------------------------------------------------------------------------------

BLOCKED_IMPORT = """
import sys, warnings
class Block:
    def find_spec(self, name, path=None, target=None):
        if name in ("toktok", "tiktoken"):
            raise ImportError(f"{name} is blocked")
sys.meta_path.insert(0, Block())
from backscroll.tokenizers import resolve
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
from backscroll.tokenizers import resolve
"""


def test_importing_loads_no_engine() -> None:
    code = """
import sys
import backscroll.tokenizers
backscroll.tokenizers.resolve("auto"), backscroll.tokenizers.resolve("tiktoken")
import backscroll.tokenizers.media
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
    find = "from backscroll.tokenizers.engines import vocabulary_path as p; print(p('o200k_base'))"
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
    assert tokenizer.count("word \n\n" * 9_000) == O200K.count("word \n\n" * 9_000)


# --- the estimator -------------------------------------------------------------------------------------------------


@given(st.text(st.characters(codec=None), min_size=1))
def test_estimates_stay_between_one_and_the_ceiling(text: str) -> None:
    tokens = Estimator().count(text)
    size = len(text.encode("utf-8", "surrogatepass"))
    assert 1 <= tokens <= max(1, int(size * CEILING) + 1)
    assert tokens <= estimate(text, 1.25)


@given(st.text(), st.text())
def test_a_longer_text_is_never_cheaper(text: str, more: str) -> None:
    # The ceiling binds on texts of a few bytes only; beyond it, weights that are not negative make appending safe
    # except where an appended sign completes a run of four, which counts as one.
    assert estimate(text + more) + 1 >= estimate(text)


def test_estimates_of_ordinary_texts_are_close() -> None:
    for path in sorted(SOURCES.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if len(text) > 2_000:
            assert 0.8 <= Estimator().count(text) / O200K.count(text) <= 1.3, path.name


@pytest.mark.parametrize(
    "text",
    [
        "The order was shipped on Tuesday, and the customer would like to change the address. " * 20,
        "4d1f" * 200,
        "31415926535897932384" * 30,
        "Der Kunde möchte die Lieferadresse ändern, bevor das Paket verschickt wird. " * 20,
        "Покупатель хочет изменить адрес доставки до отправки посылки. " * 20,
        "客户想在包裹寄出之前更改送货地址。" * 20,
        "お客様は荷物が発送される前に配送先を変更したいと考えています。" * 20,
    ],
)
def test_no_kind_of_text_is_far_too_cheap(text: str) -> None:
    assert Estimator().count(text) >= 0.8 * O200K.count(text)


# --- media ---------------------------------------------------------------------------------------------------------


def b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def png(width: int, height: int) -> bytes:
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header))


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\x00\x00\x00"


def jpeg(width: int, height: int, preview: int = 0) -> bytes:
    """A JPEG's markers up to the start of its scan, with `preview` bytes of application data in front."""
    body = b"\xff\xd8"
    while preview > 0:
        size = min(preview, 60_000)
        body += b"\xff\xe2" + struct.pack(">H", size + 2) + b"\x00" * size
        preview -= size
    frame = struct.pack(">BHHB", 8, height, width, 3) + b"\x01\x11\x00\x02\x11\x01\x03\x11\x01"
    return body + b"\xff\xc0" + struct.pack(">H", len(frame) + 2) + frame + b"\xff\xda\x00\x02" + b"\x00" * 16


def webp(width: int, height: int) -> bytes:
    extended = b"VP8X" + struct.pack("<I", 10) + b"\x00" * 4
    extended += (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF" + struct.pack("<I", len(extended) + 4) + b"WEBP" + extended


@pytest.mark.parametrize("make", [png, gif, jpeg, webp])
def test_image_sizes(make: Callable[[int, int], bytes]) -> None:
    raw = make(640, 480)
    assert image_size(b64(raw)) == (640, 480)
    assert image_size(f"data:image/any;base64,{b64(raw)}") == (640, 480)
    assert image_size("  " + b64(raw).rstrip("=")) == (640, 480)
    assert image_size(base64.urlsafe_b64encode(raw).decode()) == (640, 480)
    assert image_size(base64.encodebytes(raw).decode()) == (640, 480)


def test_only_the_head_of_an_image_is_decoded() -> None:
    assert image_size(b64(png(640, 480) + b"\x00" * 300_000) + "!!! not base64 !!!") == (640, 480)
    assert image_size(b64(jpeg(640, 480, preview=20_000))) == (640, 480)
    assert image_size(b64(jpeg(640, 480, preview=200_000))) is None


@pytest.mark.parametrize(
    "data",
    [
        *[None, "", " ", "x", "äöü", "\ud800" * 9, "https://example.org/a.png", "file:///a.png"],
        *["data:image/png", "data:image/png;base64,", "data:" + "x" * 5_000],
        *[b64(b"no image at all"), b64(png(0, 5)), b64(png(640, 480)[:17])],
    ],
)
def test_no_size_without_an_image(data: str | None) -> None:
    assert image_size(data) is None
    assert pdf_pages(data) is None


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300), st.sampled_from([png, gif, jpeg, webp]), st.integers(2, 40))
def test_broken_images_do_no_harm(tail: bytes, make: Callable[[int, int], bytes], keep: int) -> None:
    size = image_size(b64(make(640, 480)[:keep] + tail))
    assert size is None or min(size) >= 1


def pdf(*objects: bytes) -> str:
    numbered = (b"%d 0 obj\n%b\nendobj\n" % (number, body) for number, body in enumerate(objects, 1))
    return b64(b"%PDF-1.7\n" + b"".join(numbered) + b"trailer << /Root 1 0 R >>\n%%EOF")


def stream(dictionary: bytes, raw: bytes) -> bytes:
    return b"<< %b /Length %d >>\nstream\n%b\nendstream" % (dictionary, len(raw), raw)


PAGES = b"<< /Type /Pages /Kids [2 0 R 3 0 R] /Count 2 >>"
PAGE = b"<< /Type /Page /Parent 1 0 R >>"


def test_pages_of_a_pdf() -> None:
    assert pdf_pages(pdf(PAGES, PAGE, b"<</Type/Page/Parent 1 0 R>>")) == 2
    assert pdf_pages("data:application/pdf;base64," + pdf(PAGES, PAGE)) == 1


def test_pages_in_a_compressed_object_stream() -> None:
    packed = stream(b"/Type /ObjStm /N 3 /First 20 /Filter /FlateDecode", zlib.compress(PAGES + PAGE * 3))
    assert pdf_pages(pdf(stream(b"/Filter /FlateDecode", zlib.compress(b"BT ET")), packed)) == 3


def test_pages_that_are_only_counted() -> None:
    assert pdf_pages(pdf(PAGES, b"<< /Count 12 /Kids [] /Type /Pages >>")) == 12
    assert pdf_pages(pdf(b"<< /Type /Pages /Count 999999999 >>")) is None
    assert pdf_pages(pdf(stream(b"/Type /ObjStm", b"not packed at all"))) is None
    assert pdf_pages(b64(b"<html>/Type /Page</html>")) is None


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([PAGES, PAGE, b"stream\n", b"endstream", b"/ObjStm", b"/Count ", b"7", b"\xff"])))
def test_broken_documents_do_no_harm(parts: list[bytes]) -> None:
    pages = pdf_pages(b64(b"%PDF-1.4\n" + b"".join(parts)))
    assert pages is None or pages >= 1


def test_a_packed_bomb_is_not_unpacked_whole() -> None:
    bomb = stream(b"/Type /ObjStm /Filter /FlateDecode", zlib.compress(b" " * 60_000_000))
    assert pdf_pages(pdf(*[bomb] * 5, PAGE)) == 1


def test_toktok_is_loaded_by_its_encoding() -> None:
    assert load_toktok("cl100k_base").name.startswith("cl100k_base/toktok-")
