"""Which messages are accepted: strictly JSON, with a role.

A message is checked and copied in one walk *before* any state changes, so a rejected message leaves no trace. Python's
JSON encoders are laxer than JSON (NaN, tuples, colliding keys after conversion), so types are checked exactly.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

from backscroll.errors import MessageError
from backscroll.messages.answers import message_in
from backscroll.messages.dialects.response_items import gathered
from backscroll.messages.parts import Message

Redact = Callable[[Message], object]
"""The caller's function that redacts a message before any other processing. It may change its argument, and returns the
result.
"""

MAX_DEPTH = 200  # json.loads of CPython fails near 1,000 nested levels and other languages' parsers earlier
_CYCLE_CHECK_DEPTH = 24  # real messages are flatter, so the check for cycles costs them nothing
_MAX_INT_BITS = 13_000  # CPython refuses to print an int of more than 4,300 digits (about 14,284 bits)


class _Refused(MessageError):
    """A rejection that quotes the message; `veiled` describes it with the types of its keys instead."""

    def __init__(self, path: Sequence[str | int], what: str, veiled: str | None = None) -> None:
        super().__init__(f"{_where(path)}{what}")
        keys = "".join(f"[{key if type(key) is int else 'str'}]" for key in path)
        self.veiled = f"message{keys}{what if veiled is None else veiled}"


def validated(message: object, redact: Redact | None = None) -> Message:
    """Return a private deep copy of an acceptable message, redacted if `redact` is given.

    Args:
        message: A mapping, an object with `model_dump()` (pydantic), or a client's whole response with one message.
        redact: Applied to the copy; its result is checked again.

    Raises:
        MessageError: The message is not strictly JSON (NaN and infinities, bytes, tuples, sets, keys that are not text,
            more than 200 levels) or has no role. The error names the path; with `redact` it quotes no content.
    """
    try:
        copy = _accepted(message)
    except _Refused as error:
        if redact is None:
            raise MessageError(str(error)) from error.__cause__
        raise MessageError(error.veiled) from None
    return copy if redact is None else validated(_redacted(copy, redact))


def all_validated(messages: Sequence[object], redact: Redact | None = None) -> list[Message]:
    """Return private copies of messages, and of bare items of the Responses API the messages that hold them.

    Raises:
        MessageError: As `validated` does; among several messages it names the one.
    """
    given = len(messages)
    if not all(type(message) is dict and "role" in message and "type" not in message for message in messages):
        messages = gathered(messages)
    with_number = 1 < len(messages) == given  # gathered items are no longer counted as the caller counts
    accepted = []
    for at, message in enumerate(messages, 1):
        try:
            accepted.append(validated(message, redact))
        except MessageError as error:
            raise (numbered(error, at, given) if with_number else error) from error.__cause__
    return accepted


def numbered(error: MessageError, at: int, total: int) -> MessageError:
    """Return the error of one message among several that were given at once, counted from 1."""
    return MessageError(f"message {at} of {total}: {error}") if total > 1 else error


def _accepted(message: object) -> Message:
    given = _mapping(message)
    if given.get("role") is None:
        given = _mapping(message_in(given))
    copy: Message = _copy_mapping(given, (), ())
    role = copy.get("role")
    if type(role) is not str or not role:
        what = " has no role: 'role' must be a non-empty text, found "
        kind = copy.get("type")
        of = f"; no dialect has items of the type {kind!r:.40}" if "role" not in copy and type(kind) is str else ""
        raise _Refused((), f"{what}{role!r:.80}{of}", f"{what}{type(role).__name__}")
    return copy


def _mapping(message: object) -> Mapping[Any, Any]:
    if type(message) is dict or isinstance(message, Mapping):  # the first test is fast, and nearly always true
        return message
    if not _can_dump(message):
        one = ": pass messages one by one, as in append(*messages)" if isinstance(message, list | tuple) else ""
        what = ' must be a mapping such as {"role": "user", "content": "Hello"}, or an object with model_dump(), not '
        kind = type(message).__name__
        raise _Refused((), f"{what}{message!r:.60} ({kind}){one}", f"{what}{kind}{one}")
    dumped = _dump(message)
    if not isinstance(dumped, Mapping):
        raise MessageError(f"model_dump() gave {type(dumped).__name__}; a message must be a mapping")
    return dumped


def accept_text(text: str, role: str, redact: Redact | None) -> str:
    """Redact a text that is no message, given to `redact` as a message of this role.

    Raises:
        MessageError: `redact` raised, or its result has no text.
    """
    if redact is None:
        return text
    left = validated({"role": role, "content": text}, redact).get("content")
    if type(left) is not str:
        raise MessageError(f"`redact` returned {type(left).__name__} for a text; its content must stay a text")
    return left


def _redacted(message: Message, redact: Redact) -> object:
    try:
        return redact(message)
    except Exception as error:
        raise MessageError(_refusal(error)) from None  # its text may quote what must not be kept


def _refusal(error: Exception) -> str:
    """Describe what `redact` raised by its type and its line in the caller's code, without the error's text."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    where = "" if at is None else f" in {at.tb_frame.f_code.co_name}, line {at.tb_lineno}"
    return f"`redact` raised {type(error).__name__}{where}; call it on the message to see why"


def _can_dump(value: object) -> bool:
    return callable(getattr(value, "model_dump", None)) and not isinstance(value, type)


def _dump(value: Any) -> object:
    try:
        return value.model_dump()
    except Exception as error:
        what = f": model_dump() of {type(value).__name__} failed"
        raise _Refused((), f"{what}: {error}", f"{what} with {type(error).__name__}") from error


def _where(path: Sequence[str | int]) -> str:
    return "message" + "".join(f"[{key!r:.60}]" for key in path)


def _shown(key: object) -> str:
    try:
        return f"{key!r:.60}"
    except Exception:  # a number of too many digits, a tuple nested too deep, a broken __repr__
        return "?"


def _copy(value: Any, path: tuple[str | int, ...], above: tuple[int, ...]) -> Any:
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return value
    if kind is int:
        if value.bit_length() > _MAX_INT_BITS:
            raise _Refused(path, " is a number of over 4,000 digits, which JSON readers refuse")
        return value
    if kind is float:
        if not isfinite(value):
            raise _Refused(path, f" is {value!r}, which JSON cannot hold; use null or a text")
        return value
    if kind is list or isinstance(value, list):
        above = _deeper(value, path, above)
        return [_copy(item, (*path, number), above) for number, item in enumerate(value)]
    if kind is dict or isinstance(value, Mapping):
        return _copy_mapping(value, path, above)
    return _copy_scalar(value, path)


def _copy_mapping(value: Mapping[Any, Any], path: tuple[str | int, ...], above: tuple[int, ...]) -> dict[str, Any]:
    above = _deeper(value, path, above)
    copy: dict[str, Any] = {}
    for key, item in value.items():
        if type(key) is not str:
            kind = f"a {type(key).__name__}; JSON keys are text"
            raise _Refused(path, f" has the key {_shown(key)}, {kind}", f" has a key that is {kind}")
        of = type(item)
        copy[key] = item if of is str or item is None or of is bool else _copy(item, (*path, key), above)
    return copy


def _deeper(value: object, path: tuple[str | int, ...], above: tuple[int, ...]) -> tuple[int, ...]:
    if len(path) >= MAX_DEPTH:
        raise _Refused(path[:3], f"... is nested deeper than {MAX_DEPTH} levels")
    if len(path) < _CYCLE_CHECK_DEPTH:
        return above
    if id(value) in above:
        raise _Refused(path[:3], "... contains itself")
    return (*above, id(value))


def _copy_scalar(value: object, path: tuple[str | int, ...]) -> Any:
    """Convert subclasses of JSON's scalars (a `StrEnum` role, an `IntEnum` code) to plain values; dump pydantic
    objects.
    """
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return _copy(int.__int__(value), path, ())
    if isinstance(value, float):
        return _copy(float.__float__(value), path, ())
    if _can_dump(value):  # blocks of a provider's response, as its SDK made them
        _deeper(value, path, ())
        return _copy(_dump(value), (*path, "model_dump()"), ())
    if isinstance(value, bytes) and path[:1] == ("parts",):  # google-genai holds the base64 of the wire as bytes
        return b64encode(value).decode()
    hint = "; encode it as base64 text" if isinstance(value, bytes | bytearray | memoryview) else ""
    hint = "; make it a list" if isinstance(value, set | frozenset) else hint
    raise _Refused(path, f" is of type {type(value).__name__}, which JSON cannot hold{hint}")


def same_json(one: object, other: object) -> bool:
    """Compare two accepted values as JSON: 1, 1.0 and True differ, the order of keys does not matter."""
    if type(one) is not type(other):
        return False
    if type(one) is dict and type(other) is dict:
        return one.keys() == other.keys() and all(same_json(value, other[key]) for key, value in one.items())
    if type(one) is list and type(other) is list:
        return len(one) == len(other) and all(map(same_json, one, other))
    return one == other and (type(one) is not float or repr(one) == repr(other))  # 0.0 and -0.0 are equal as well
