"""The shape of Converse's messages, as the client checks it before it sends: keys, required ones and their types.

Source: botocore's service model of bedrock-runtime, 1.44. The texts are those of its `ParamValidator`; a test compares
the verdicts of both.
"""

from collections.abc import Iterator
from typing import Any

from backscroll.evaluation.fake_providers.bedrock_request import BedrockRequest
from backscroll.evaluation.fake_providers.errors import FakeProviderError, bedrock_error

_CONTENT = (
    "text", "image", "document", "video", "audio", "toolUse", "toolResult", "guardContent", "cachePoint",
    "reasoningContent", "citationsContent", "searchResult", "toolAddition", "toolRemoval",
)  # fmt: skip  # one thought
_RESULT = ("json", "text", "image", "document", "video", "searchResult")
_REQUIRED: dict[str, dict[str, type]] = {
    "toolUse": {"toolUseId": str, "name": str, "input": object},
    "toolResult": {"toolUseId": str, "content": list},
    "image": {"format": str, "source": dict},
    "video": {"format": str, "source": dict},
    "audio": {"format": str, "source": dict},
    "document": {"name": str, "source": dict},
    "cachePoint": {"type": str},
    "searchResult": {"source": str, "title": str, "content": list},
}
"""Required keys of each block."""
_ALLOWED: dict[str, frozenset[str]] = {
    "toolUse": frozenset(("toolUseId", "name", "input", "type")),
    "toolResult": frozenset(("toolUseId", "content", "status", "type")),
    "reasoningContent": frozenset(("reasoningText", "redactedContent")),
    "cachePoint": frozenset(("type", "ttl")),
}
"""Every key of the blocks that a context manager renders."""
_NAMES: dict[type, str] = {str: "<class 'str'>", dict: "<class 'dict'>", list: "<class 'list'>, <class 'tuple'>"}


def shape(request: BedrockRequest) -> Iterator[FakeProviderError]:
    """Yield what the client refuses before it sends."""
    for at, message in enumerate(request.messages):
        where = f"messages[{at}]"
        yield from _missing(where, message, {"role": str})
        yield from _unknown(where, message, frozenset(("role", "content")))
        for number, block in enumerate(message["content"]):
            yield from _block(f"{where}.content[{number}]", block, _CONTENT)


def _block(where: str, block: Any, known: tuple[str, ...]) -> Iterator[FakeProviderError]:
    """A block is a union: exactly one of its keys is set."""
    if not isinstance(block, dict):
        yield _wrong_type(where, block, dict)
        return
    yield from _unknown(where, block, frozenset(known))
    if len(block) != 1:
        yield _failed(
            f"Invalid number of parameters set for tagged union structure {where}. Can only set one of the following"
            f" keys: {', '.join(known)}."
        )
    for key, held in block.items():
        path = f"{where}.{key}"
        if key == "text" and not isinstance(held, str):
            yield _wrong_type(path, held, str)
        elif isinstance(held, dict):
            yield from _held(path, key, held)
        elif key not in ("text", "json"):
            yield _wrong_type(path, held, dict)


def _held(path: str, key: str, held: dict[str, Any]) -> Iterator[FakeProviderError]:
    yield from _missing(path, held, _REQUIRED.get(key, {}))
    yield from _unknown(path, held, _ALLOWED.get(key, frozenset(held)))
    if key == "toolResult" and isinstance(held.get("content"), list):
        for number, inner in enumerate(held["content"]):
            yield from _block(f"{path}.content[{number}]", inner, _RESULT)
    if key == "reasoningContent" and isinstance(held.get("reasoningText"), dict):
        yield from _missing(f"{path}.reasoningText", held["reasoningText"], {"text": str})


def _missing(where: str, held: dict[str, Any], required: dict[str, type]) -> Iterator[FakeProviderError]:
    for key, expected in required.items():
        if key not in held:
            yield _failed(f'Missing required parameter in {where}: "{key}"')
        elif not isinstance(held[key], expected):
            yield _wrong_type(f"{where}.{key}", held[key], expected)


def _unknown(where: str, held: dict[str, Any], known: frozenset[str]) -> Iterator[FakeProviderError]:
    for key in sorted(held.keys() - known):
        yield _failed(f'Unknown parameter in {where}: "{key}", must be one of: {", ".join(sorted(known))}')


def _wrong_type(where: str, value: Any, expected: type) -> FakeProviderError:
    return _failed(
        f"Invalid type for parameter {where}, value: {value}, type: {type(value)}, valid types: {_NAMES[expected]}"
    )


def _failed(what: str) -> FakeProviderError:
    return bedrock_error(f"Parameter validation failed:\n{what}", kind="ParamValidationError")
