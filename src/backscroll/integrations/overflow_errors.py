"""How providers reject a request as too long, and the sizes that their errors name.

Each provider has its own wording, some also an error code. Rate-limit errors with similar wording do not count as too
long. Sources, read in October and November 2026: the error pages of Anthropic, OpenAI, Google, Mistral, xAI, Groq and
OpenRouter, and the responses of vLLM, llama.cpp, LM Studio and LiteLLM.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_NUMBER = r"\(?(?P<{}>\d[\d,]*)\)?"
_SIZED = tuple(
    re.compile(
        form.replace("REQUESTED", _NUMBER.format("requested")).replace("LIMIT", _NUMBER.format("limit")), re.IGNORECASE
    )
    for form in (
        r"REQUESTED tokens? > LIMIT",
        r"maximum context length is LIMIT tokens.{0,120}?(?:requested(?: about)?|resulted in|request has) REQUESTED",
        r"token count REQUESTED exceeds the maximum number of tokens allowed LIMIT",
        r"request \(REQUESTED tokens\) exceeds the available context size \(LIMIT",
        r"prompt contains REQUESTED tokens.{0,80}?too large for model with LIMIT maximum",
        r"maximum prompt length is LIMIT but the request contains REQUESTED",
        r"input \(REQUESTED tokens\) is longer than the model'?s context length \(LIMIT",
        r"exceeded model token limit: LIMIT \(requested: REQUESTED",
        r"passed REQUESTED input tokens.{0,120}?context length is only LIMIT",
    )
)
_UNSIZED = re.compile(
    r"context[ _-]?length|context[ _-]?window|context[ _-]?size|maximum context|prompt is too long|input is too long|"
    r"exceed context limit|request[ _]too[ _]large|too many (?:input )?tokens|max(?:imum)? (?:input )?tokens exceeded|"
    r"exceeds? .{0,60}(?:tokens?|context)|maximum allowed input length|exceeds the limit of \d|"
    r"reduce the length of the messages|'max_tokens' or 'max_completion_tokens' is too large",
    re.IGNORECASE,
)
_RATE = re.compile(
    r"rate[ _-]?limit|too many requests|throttling ?(?:error|exception)|service ?unavailable|tokens per (?:minute|day)",
    re.IGNORECASE,
)
_INVALID = 400  # the status of a request that its provider does not take
_SEARCHED = 4_000  # characters of an error
_DEEPEST = 6  # nested causes and mappings
_FIELDS = ("message", "msg", "code", "type", "error", "body", "error_type", "exception", "stop_reason")


def is_overflow(error: object) -> bool:
    """Return whether a provider rejected a request because it is too long for the model's window.

    If so, call `observe_overflow` with `overflow_sizes`, and get the view again: it is shorter.

    Args:
        error: The exception of any provider's client, its text, or its body as a mapping. The text and class of an
            exception and of the errors that caused it are searched.
    """
    text = _text_of(error)
    if _RATE.search(text):
        return False
    return any(form.search(text) for form in _SIZED) or bool(_UNSIZED.search(text))


def is_refusal(error: object) -> bool:
    """Return whether a provider refused a request as invalid: status 400, in the field where a client has it."""
    return any(getattr(error, name, None) == _INVALID for name in ("status_code", "code", "status"))


def overflow_sizes(error: object) -> tuple[int | None, int | None]:
    """Return the tokens that were requested and those that are allowed, if the error names both; else `None` twice.

    Args:
        error: As for `is_overflow`.
    """
    text = _text_of(error)
    for form in _SIZED:
        if found := form.search(text):
            requested, limit = (int(found[name].replace(",", "")) for name in ("requested", "limit"))
            if requested > limit > 0:
                return requested, limit
    return None, None


def _text_of(error: object) -> str:
    return " ".join(_words(error, 0))[:_SEARCHED]


def _words(error: object, depth: int) -> Iterator[str]:
    """Yield the texts of an error, including its fields and causes."""
    if error is None or depth > _DEEPEST:
        return
    if isinstance(error, str):
        yield error
    elif isinstance(error, Mapping):
        yield from _fields(error, depth)
    elif isinstance(error, BaseException):
        yield f"{type(error).__name__}: {error}"
        yield from _fields({name: getattr(error, name, None) for name in _FIELDS}, depth)
        yield from _words(error.__cause__, depth + 1)
    else:
        yield repr(error)[:_SEARCHED]


def _fields(fields: Mapping[Any, Any], depth: int) -> Iterator[str]:
    for name in _FIELDS:
        found = fields.get(name)
        if isinstance(found, str | Mapping | BaseException):
            yield from _words(found, depth + 1)
