"""Token counting: from a name, function or object to a tokenizer that never fails.

    heuristic.py       a count without any vocabulary
    safe_tokenizer.py  makes every engine linear, total and never 0
    vocabularies.py    the engines by name, and the golden counts they must reproduce
    media.py           sizes of images and pages of documents, from their headers
    measurer.py        counts the parts of messages

Importing this package loads no third-party module; an engine is imported by the first read of `name` or `exact`,
and loads its vocabulary with the first count.
"""

import difflib
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from backscroll.errors import ConfigurationError
from backscroll.ports import Tokenizer
from backscroll.tokens.engines.heuristic import Estimator
from backscroll.tokens.engines.safe_tokenizer import Engine, Guarded, Report
from backscroll.tokens.engines.vocabularies import ENCODINGS, find_tiktoken, find_toktok

__all__ = ["NAMES", "Estimator", "resolve"]

NAMES = ("auto", *ENCODINGS, "tiktoken", *(f"tiktoken:{encoding}" for encoding in ENCODINGS), "estimate")
"""The names that `resolve` accepts."""


def resolve(
    tokenizer: str | Callable[[str], int] | Tokenizer = "auto",
    report: Callable[[str, dict[str, Any]], None] | None = None,
) -> Tokenizer:
    """Return the tokenizer for a name, a function or an object.

    The first count of an engine loads its vocabulary (about 0.4 s for o200k_base). An engine that is missing or
    miscounts is replaced by the estimator, with a `BackscrollWarning`.

    Args:
        tokenizer: One of these:
            - "auto" and "o200k_base": exact o200k_base tokens; "cl100k_base" likewise. Offline, by toktok-rs.
            - "tiktoken", "tiktoken:o200k_base", "tiktoken:cl100k_base": by tiktoken, if its cache holds the vocabulary.
            - "estimate": the estimator; no dependency, `exact` is False.
            - a function from a text to its tokens: taken as exact and guarded, so it may raise. It gets texts over
                16,384 characters in blocks. Its name is "custom:" and its qualified name.
            - an object with `name`, `exact` and `count`: used as it is, and trusted to keep the promises of
                `Tokenizer`.
        report: Called once with `("context:tokenizer_fallback", {...})` if the estimator replaces an engine.

    Raises:
        ConfigurationError: It is none of these.
    """
    if isinstance(tokenizer, str):
        return _named(tokenizer, report)
    if isinstance(tokenizer, type):
        raise ConfigurationError(f"`tokenizer` must be an instance, not the class {tokenizer.__qualname__}")
    if all(_has(tokenizer, attribute) for attribute in ("name", "exact", "count")):
        return cast(Tokenizer, tokenizer)
    if not callable(tokenizer):
        raise ConfigurationError(
            f"`tokenizer` must be one of {', '.join(NAMES)}, a function from text to tokens, or an object with "
            f"name, exact and count; got {type(tokenizer).__name__}"
        )
    return _custom(tokenizer, report)


def _named(name: str, report: Report | None) -> Tokenizer:
    if name not in NAMES:
        nearest = difflib.get_close_matches(name, NAMES, n=1, cutoff=0.0)
        hint = f"; the nearest is {nearest[0]!r}" if nearest else ""
        raise ConfigurationError(f"unknown tokenizer {name!r}{hint}; known names: {', '.join(NAMES)}")
    if name == "estimate":
        return Estimator()
    engine, _, encoding = name.rpartition(":")
    if name == "tiktoken" or engine:
        return Guarded(name, partial(find_tiktoken, encoding if engine else ENCODINGS[0]), report)
    return Guarded(name, partial(find_toktok, ENCODINGS[0] if name == "auto" else name), report)


def _custom(function: Callable[[str], int], report: Report | None) -> Tokenizer:
    code = getattr(function, "__code__", None)
    if code is not None and code.co_flags & 0x80:  # CO_COROUTINE of the language reference's `inspect` module
        raise ConfigurationError("`tokenizer` must be a plain function: counting cannot await a coroutine")
    name = f"custom:{getattr(function, '__qualname__', type(function).__qualname__)}"
    return Guarded(name, lambda: Engine(name, function, may_round_down=True), report)


def _has(value: object, attribute: str) -> bool:
    """Return whether `value` has the attribute, without reading it: a property could load an engine."""
    return hasattr(type(value), attribute) or attribute in getattr(value, "__dict__", {})
