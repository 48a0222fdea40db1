"""The guard around every counting engine: linear time, no exception, no zero.

Engines are made for prose and code. On other texts some panic, some take minutes, and most reject lone surrogates. So a
long text is counted in blocks, cut where a tokenizer cuts anyway, and a text that an engine cannot count is estimated.
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
"""Longest text, in characters, that an engine gets whole."""

HARD_BLOCK = 4_096
"""Characters per block of a text without a good place to cut: long words up to this size are still fast."""

FAILURE_FACTOR = 1.25
"""Factor for estimates that replace a failed count, because texts on which engines fail are rarely prose."""

_TRIES = 16  # places tried for a cut: bounds the work per block
_PAIRS = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_SURROGATES = re.compile("[\ud800-\udfff]+")
_ROUNDS_TO_ZERO = 64  # characters up to which a caller's function may round down to 0, as `len(text) // 4` does

Report = Callable[[str, dict[str, Any]], Any]
"""`report(event, payload)`, called once when a tokenizer falls back."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A function that counts, and how far to trust it.

    `name` includes the engine's version, for instance `o200k_base/toktok-0.3.0`. `goldens` maps texts to their counts:
    an engine with another result is rejected. `may_round_down` allows 0 for a short text.
    """

    name: str
    count: Callable[[str], Any]
    goldens: Mapping[str, int] = field(default_factory=dict)
    may_round_down: bool = False


def blocks(text: str) -> Iterator[str]:
    """Yield `text` in blocks of at most `BLOCK` characters whose token counts add up to (nearly) those of the whole.

    Measured on agent transcripts, code and JSON: at most 0.05 % more than counting the whole, never less. Linear time:
    two successive cuts are never closer than `HARD_BLOCK` characters.
    """
    start = 0
    while len(text) - start > BLOCK:
        window = text[start : start + BLOCK]
        cut = _after_newline(window) or _before_space(window) or HARD_BLOCK
        yield window[:cut]
        start += cut
    yield text[start:]


def _after_newline(window: str) -> int:
    """Return the position after the last newline of the last white-space run with a newline; 0 if there is none.

    Tokenizers end a pre-token at the last newline of a run. Runs before a slash do not count: some tokenizers attach it
    to them.
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
    """Return the last single space between two letters, 0 if there is none: the space belongs to the next word."""
    space = len(window) - 1
    for _ in range(_TRIES):
        space = window.rfind(" ", 1, space)
        if space < 0:
            return 0
        if window[space - 1].isalpha() and window[space + 1].isalpha():
            return space
    return 0


def without_surrogates(text: str) -> str:
    """Make `text` encodable as UTF-8: surrogate pairs joined, lone surrogates replaced by U+FFFD."""
    joined = _PAIRS.sub(_character, text)  # several times faster than a way through UTF-16
    return _SURROGATES.sub(lambda run: "\ufffd" * len(run.group()), joined)


def _character(pair: re.Match[str]) -> str:
    """Return the character that a surrogate pair encodes."""
    high, low = ord(pair.group()[0]), ord(pair.group()[1])
    return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))


def is_failure(error: BaseException) -> bool:
    """Return whether `error` is a failure of the engine; interrupts, exits and cancellations are not."""
    # A panic of an extension written in Rust derives from BaseException, and its class cannot be imported.
    return isinstance(error, Exception) or any(base.__name__ == "PanicException" for base in type(error).__mro__)


class Guarded:
    """A `Tokenizer` around an engine. The first read of `name` or `exact` finds it; the first count checks it, which
    loads its vocabulary.

    An engine that cannot be found, or that miscounts a golden text, is replaced by the estimator for good, with the
    estimator's `name` and `exact`; so these may change with the first count. A checked engine that fails on a text
    keeps its name; that text is estimated and raised by `FAILURE_FACTOR`. Both are reported once as
    `context:tokenizer_fallback`, and as a `BackscrollWarning`.

    `wanted` is the name the caller asked for; `find` returns an `Engine` or raises, and loads no vocabulary. Safe to
    share between threads.
    """

    def __init__(self, wanted: str, find: Callable[[], Engine], report: Report | None = None) -> None:
        self._wanted = wanted
        self._find = find
        self._report = report
        self._lock = threading.Lock()
        self._found: Engine | None = None
        self._engine: Engine | None = None
        """The engine, once it is checked; or the estimator in place of it."""
        self._failure_reported = False
        self._count: Callable[[str], Any] = self._first_count
        self._exact = True
        # Before the engine is checked a text goes whole to `_first_count`; the estimator never needs blocks.
        self._longest: float = float("inf")

    @property
    def name(self) -> str:
        """Name and version of the engine, for instance `o200k_base/toktok-0.3.0`."""
        return self._named().name

    @property
    def exact(self) -> bool:
        """False if the estimator replaced the engine."""
        if self._engine is None:
            self._named()
        return self._exact

    def count(self, text: str) -> int:
        """Return the tokens of `text`: 0 for "", else at least 1. Linear in the length; never raises for a `str`."""
        if not text:
            return 0
        if len(text) > self._longest:
            return sum(map(self._count_block, blocks(text)))
        return self._count_block(text)

    def __repr__(self) -> str:
        return f"<Guarded {self._wanted}: {self._engine.name if self._engine else 'not loaded'}>"

    def _count_block(self, text: str) -> int:
        """Count a text that is short enough for the engine and not empty."""
        try:
            tokens = self._count(text)
        except UnicodeEncodeError:
            return self._count_without_surrogates(text)
        except BaseException as error:  # panics derive from it; `_failed` lets interrupts pass
            return self._failed(text, error)
        # `type() is int` also rejects True, which would pass for 1.
        return tokens if type(tokens) is int and tokens > 0 else self._unusual(text, tokens)

    def _count_without_surrogates(self, text: str) -> int:
        # Ordinary texts need no scan: repairing comes after a failed attempt.
        try:
            tokens = self._count(without_surrogates(text))
        except BaseException as error:  # panics derive from it; `_failed` lets interrupts pass
            return self._failed(text, error)
        return tokens if type(tokens) is int and tokens > 0 else self._unusual(text, tokens)

    def _unusual(self, text: str, answer: Any) -> int:
        """Interpret a result that is not a positive int, or treat it as a failure."""
        if not isinstance(answer, bool) and hasattr(answer, "__index__"):  # an integer of numpy, for instance
            tokens = operator.index(answer)
            if tokens > 0:
                return tokens
            if tokens == 0 and self._settled().may_round_down and len(text) <= _ROUNDS_TO_ZERO:
                return 1
        if hasattr(answer, "close"):  # closed, because a coroutine would warn that it was never awaited
            with contextlib.suppress(Exception):
                answer.close()
        return self._failed(text, TypeError(f"counting {len(text)} characters answered {_short(answer)}"))

    def _failed(self, text: str, error: BaseException) -> int:
        """Return the raised estimate for a text that the engine could not count; report the first failure."""
        if not is_failure(error):
            raise error
        with self._lock:
            first, self._failure_reported = not self._failure_reported, True
        if first:
            self._notify("text", f"{type(error).__name__}: {_short(error)}", FAILURE_FACTOR)
        return estimate(text, FAILURE_FACTOR)

    def _first_count(self, text: str) -> int:
        self._settled()
        return self.count(text)

    def _named(self) -> Engine:
        """Return the engine, found by the first call and perhaps not checked."""
        engine, problem = self._engine or self._found, ""
        if engine is None:
            with self._lock:
                engine, problem = self._found_once()
        if problem:  # reported outside the lock: a listener may count
            self._notify("engine", problem, 1.0)
        return engine

    def _settled(self) -> Engine:
        """Return the engine, found and checked by the first call."""
        if self._engine is not None:
            return self._engine
        with self._lock:
            engine, problem = self._found_once()
            if self._engine is None:
                engine, problem = self._checked(engine)
        if problem:
            self._notify("engine", problem, 1.0)
        return engine

    def _found_once(self) -> tuple[Engine, str]:
        """Return the engine and "", or the estimator and why there is no engine. The caller holds the lock."""
        known = self._engine or self._found
        if known is not None:
            return known, ""
        try:
            self._found = self._find()
        except BaseException as error:
            return self._replaced(error)
        return self._found, ""

    def _checked(self, engine: Engine) -> tuple[Engine, str]:
        """Count the golden texts; return the engine and "", or the estimator and what is wrong with the engine."""
        try:
            for text, tokens in engine.goldens.items():
                answer = engine.count(text)
                if answer != tokens:
                    raise ValueError(f"self-check: {text[:24]!r} counted as {_short(answer)} instead of {tokens}")
        except BaseException as error:
            return self._replaced(error)
        self._use(engine, BLOCK)
        return engine, ""

    def _replaced(self, error: BaseException) -> tuple[Engine, str]:
        """Use the estimator from now on; return it and what was wrong. Interrupts pass."""
        if not is_failure(error):
            raise error
        self._exact = False
        estimator = Engine(ESTIMATOR_NAME, estimate)
        # It counts texts whole, so that its stored counts do not depend on how it was chosen.
        self._use(estimator, float("inf"))
        return estimator, f"{type(error).__name__}: {_short(error)}"

    def _use(self, engine: Engine, longest: float) -> None:
        self._count, self._longest = engine.count, longest
        self._engine = engine  # last: other threads take it as the sign that the rest is set

    def _notify(self, scope: str, reason: str, factor: float) -> None:
        """Report and warn; neither a failing listener nor warnings turned into errors may break a count."""
        about = {"tokenizer": self._wanted, "scope": scope, "reason": reason}
        payload = about | {"used": ESTIMATOR_NAME, "factor": factor}
        if self._report is not None:
            with contextlib.suppress(Exception):
                self._report(events.TOKENIZER_FALLBACK, payload)
        with contextlib.suppress(Exception):
            warn(events.sentence(events.TOKENIZER_FALLBACK, payload))


def _short(value: object) -> str:
    """Describe `value` in one line of a report, even if it cannot be printed."""
    try:
        return str(value)[:200] if isinstance(value, BaseException) else repr(value)[:200]
    except Exception:  # printing a foreign object may raise anything
        return f"<{type(value).__name__}>"
