"""Token counting: engines, guard, names, estimator. Only their tests may live here; engines are injected, not mocked.

Golden counts are constants on which two independent implementations agreed.
"""

import json
import threading
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.errors import ConfigurationError
from backscroll.tokens.engines import NAMES, Estimator, resolve
from backscroll.tokens.engines.heuristic import CEILING, ESTIMATOR_NAME, estimate
from backscroll.tokens.engines.safe_tokenizer import BLOCK, HARD_BLOCK, Engine, Guarded, blocks, without_surrogates
from backscroll.tokens.engines.vocabularies import ENCODINGS, find_toktok, goldens
from tests.profiles import examples

SOURCES = Path(__file__).resolve().parents[2] / "src"
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


@settings(deadline=None)
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


@settings(max_examples=examples(200), deadline=None)
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


def test_fallback_counts_equal_the_estimator_on_long_texts() -> None:
    """Fallen back counts equal those of the estimator on long texts too."""
    tokenizer = guarded(len, goldens={"x": 2})
    text = "Some words of a long text.\n" * 5_000
    with pytest.warns(RuntimeWarning):
        assert tokenizer.count(text) == Estimator().count(text)


def test_name_and_exact_are_right_before_the_first_count() -> None:
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
        return answer

    tokenizer = Guarded("fake", load)
    with pytest.raises(KeyboardInterrupt):
        tokenizer.count("abc")
    assert tokenizer.count("abc") == 3


def test_failing_listener_and_strict_warnings_break_no_count() -> None:
    """Neither a failing listener nor strict warnings break a count."""

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


def test_toktok_is_loaded_by_its_encoding() -> None:
    assert find_toktok("cl100k_base").name.startswith("cl100k_base/toktok-")
