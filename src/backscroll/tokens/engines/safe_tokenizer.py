"""The guard around every counting engine: linear time, no exception, no zero. No engine's name or import may live here.

Engines are made for prose and code. On other texts some panic, some take minutes, and most refuse lone surrogates. So a
long text is counted in blocks, cut where a tokenizer cuts anyway; and whatever an engine cannot count is estimated.
"""

import contextlib
import operator
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from backscroll import events
from backscroll.notices import warn
from backscroll.tokens.engines.heuristic import ESTIMATOR_NAME, estimate

BLOCK = 16_384
"""Longest text, in characters, that an engine is given whole."""

HARD_BLOCK = 4_096
"""Characters in a block of a text that has no good place to cut: the size up to which long words stay fast."""

FAILURE_FACTOR = 1.25
"""Estimates that stand in for a failed count are raised by this, because what makes engines fail is rarely prose."""

_TRIES = 16  # places looked at for a cut before giving up: bounds the work in a block
_PAIRS = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_SURROGATES = re.compile("[\ud800-\udfff]+")
_ROUNDS_TO_ZERO = 64  # characters up to which a caller's function may round down to 0, as `len(text) // 4` does

Report = Callable[[str, dict[str, Any]], Any]
"""`report(event, payload)`: told once when a tokenizer falls back."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A function that counts, and how far to trust it.

    `name` carries the engine's version, for instance `o200k_base/toktok-0.3.0`. `goldens` maps texts to their counts:
    an engine that answers anything else is not used. `may_round_down` allows 0 for a short text.
    """

    name: str
    count: Callable[[str], Any]
    goldens: Mapping[str, int] = field(default_factory=dict)
    may_round_down: bool = False


def blocks(text: str) -> Iterator[str]:
    """`text` in pieces of at most `BLOCK` characters whose token counts add up to those of the whole, or very nearly.

    Measured on agent transcripts, code and JSON: at most 0.05 % more than counting the whole, never less.
    Linear time: two successive cuts are never closer than `HARD_BLOCK` characters.
    """
    start = 0
    while len(text) - start > BLOCK:
        window = text[start : start + BLOCK]
        cut = _after_newline(window) or _before_space(window) or HARD_BLOCK
        yield window[:cut]
        start += cut
    yield text[start:]


def _after_newline(window: str) -> int:
    """Where the last white-space run of `window` that holds a newline has its last newline, plus 1; 0 if nowhere.

    Tokenizers end a pre-token at the last newline of a run. Not so before a slash, which some of them attach to it.
    """
    end = len(window)
    for _ in range(_TRIES):
        newline = window.rfind("\n", 0, end)
        if newline < 0:
            return 0
        rest = window[newline + 1 : end]
        word = rest.lstrip()
        if word and word[0] != "/" and "\r" not in rest[: len(rest) - len(word)]:
            return newline + 1
        end = newline
    return 0


def _before_space(window: str) -> int:
    """The last single space between two letters of `window`, 0 if there is none: the space belongs to the next word."""
    space = len(window) - 1
    for _ in range(_TRIES):
        space = window.rfind(" ", 1, space)
        if space < 0:
            return 0
        if window[space - 1].isalpha() and window[space + 1].isalpha():
            return space
    return 0


def without_surrogates(text: str) -> str:
    """`text` as UTF-8 can carry it: surrogate pairs joined, lone surrogates replaced by U+FFFD."""
    joined = _PAIRS.sub(_character, text)  # several times faster than a way through UTF-16
    return _SURROGATES.sub(lambda run: "\ufffd" * len(run.group()), joined)


def _character(pair: re.Match[str]) -> str:
    """The character that a surrogate pair stands for."""
    high, low = ord(pair.group()[0]), ord(pair.group()[1])
    return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))


def is_failure(error: BaseException) -> bool:
    """Whether `error` is a failure of the engine. An interrupt, an exit or a cancellation is not, and must pass."""
    # A panic of an extension written in Rust derives from BaseException, and its class cannot be imported.
    return isinstance(error, Exception) or any(base.__name__ == "PanicException" for base in type(error).__mro__)


class Guarded:
    """A `Tokenizer` around an engine that is loaded at the first count, or when `name` or `exact` is first asked for.

    An engine that cannot be loaded, or that miscounts a golden text, is replaced by the estimator for good: `name` and
    `exact` then are the estimator's. A loaded engine that fails on a text keeps its name; that text is estimated and
    raised by `FAILURE_FACTOR`. Both are reported once as `context:tokenizer_fallback`, and as a `BackscrollWarning`.

    `wanted` is what the caller asked for, `load` answers an `Engine` or raises. Safe to share between threads.
    """

    def __init__(self, wanted: str, load: Callable[[], Engine], report: Report | None = None) -> None:
        self._wanted = wanted
        self._load = load
        self._report = report
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._failure_told = False
        self._count: Callable[[str], Any] = self._first_count
        self._exact = True
        # Before the engine is there a text goes whole to `_first_count`; the estimator never needs blocks.
        self._longest: float = float("inf")

    @property
    def name(self) -> str:
        """Name and version of what counts, for instance `o200k_base/toktok-0.3.0`; loads the engine."""
        return self._settled().name

    @property
    def exact(self) -> bool:
        """False if the estimator had to take over; loads the engine."""
        self._settled()
        return self._exact

    def count(self, text: str) -> int:
        """Tokens of `text`: 0 for "", else at least 1. Linear in the length, and never raises for a `str`."""
        if not text:
            return 0
        if len(text) > self._longest:
            return sum(map(self._count_block, blocks(text)))
        return self._count_block(text)

    def __repr__(self) -> str:
        return f"<Guarded {self._wanted}: {self._engine.name if self._engine else 'not loaded'}>"

    def _count_block(self, text: str) -> int:
        """Tokens of a text that is short enough for the engine and not empty."""
        try:
            tokens = self._count(text)
        except UnicodeEncodeError:
            return self._count_without_surrogates(text)
        except BaseException as error:  # panics derive from it; `_failed` lets interrupts pass
            return self._failed(text, error)
        # `type() is int` also turns away True, which would pass for 1.
        return tokens if type(tokens) is int and tokens > 0 else self._unusual(text, tokens)

    def _count_without_surrogates(self, text: str) -> int:
        # Trying first and repairing afterwards spares every ordinary text a scan.
        try:
            tokens = self._count(without_surrogates(text))
        except BaseException as error:  # panics derive from it; `_failed` lets interrupts pass
            return self._failed(text, error)
        return tokens if type(tokens) is int and tokens > 0 else self._unusual(text, tokens)

    def _unusual(self, text: str, answer: Any) -> int:
        """Make sense of an answer that is not a positive int, or treat it as a failure."""
        if not isinstance(answer, bool) and hasattr(answer, "__index__"):  # an integer of numpy, for instance
            tokens = operator.index(answer)
            if tokens > 0:
                return tokens
            if tokens == 0 and self._settled().may_round_down and len(text) <= _ROUNDS_TO_ZERO:
                return 1
        if hasattr(answer, "close"):  # a coroutine would complain that nobody awaited it
            with contextlib.suppress(Exception):
                answer.close()
        return self._failed(text, TypeError(f"counting {len(text)} characters answered {_short(answer)}"))

    def _failed(self, text: str, error: BaseException) -> int:
        """The raised estimate for a text that the engine could not count; reported the first time."""
        if not is_failure(error):
            raise error
        with self._lock:
            first, self._failure_told = not self._failure_told, True
        if first:
            self._tell("text", f"{type(error).__name__}: {_short(error)}", FAILURE_FACTOR)
        return estimate(text, FAILURE_FACTOR)

    def _first_count(self, text: str) -> int:
        self._settled()
        return self.count(text)

    def _settled(self) -> Engine:
        """The engine, loaded and checked at the first call."""
        if self._engine is not None:
            return self._engine
        problem = ""
        with self._lock:
            if self._engine is None:
                engine, problem = self._loaded()
                self._exact = not problem
                self._count = engine.count
                # The estimator counts texts whole, so that its stored counts do not depend on how it was chosen.
                self._longest = float("inf") if problem else BLOCK
                self._engine = engine  # last: other threads take it as the sign that the rest is set
            engine = self._engine
        if problem:  # told outside the lock: a listener may count
            self._tell("engine", problem, 1.0)
        return engine

    def _loaded(self) -> tuple[Engine, str]:
        """The engine and "", or the estimator and what was wrong with the engine."""
        try:
            engine = self._load()
            for text, tokens in engine.goldens.items():
                answer = engine.count(text)
                if answer != tokens:
                    raise ValueError(f"self-check: {text[:24]!r} counted as {_short(answer)} instead of {tokens}")
        except BaseException as error:
            if not is_failure(error):
                raise
            return Engine(ESTIMATOR_NAME, estimate), f"{type(error).__name__}: {_short(error)}"
        return engine, ""

    def _tell(self, scope: str, reason: str, factor: float) -> None:
        """Report and warn; neither a failing listener nor warnings turned into errors may break a count."""
        about = {"tokenizer": self._wanted, "scope": scope, "reason": reason}
        payload = about | {"used": ESTIMATOR_NAME, "factor": factor}
        if self._report is not None:
            with contextlib.suppress(Exception):
                self._report(events.TOKENIZER_FALLBACK, payload)
        with contextlib.suppress(Exception):
            warn(events.sentence(events.TOKENIZER_FALLBACK, payload))


def _short(value: object) -> str:
    """`value` as a text for a report: one that fits a line, of an object that may not even print."""
    try:
        return str(value)[:200] if isinstance(value, BaseException) else repr(value)[:200]
    except Exception:  # printing a stranger's object may do anything
        return f"<{type(value).__name__}>"
