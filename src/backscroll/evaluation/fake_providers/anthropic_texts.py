"""What the Messages API refuses of contents: empty and blank texts, and values that are no text, list or object.

Sources: "Errors" (Claude Platform Docs) and error texts as users of the API reported them.
"""

from collections.abc import Iterator
from typing import Any

from backscroll.evaluation.fake_providers.anthropic_request import AnthropicRequest, kind
from backscroll.evaluation.fake_providers.errors import FakeProviderError, anthropic_error
from backscroll.evaluation.fake_providers.rules import is_blank, is_encodable

_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")


def surrogates(request: AnthropicRequest) -> Iterator[FakeProviderError]:
    """Yield an error for a body with half a surrogate pair: the client of Python fails before it sends it."""
    if not is_encodable(request.raw):
        yield anthropic_error(
            "The request body is not valid JSON: no low surrogate in string: line 1 column 1 (char 0)"
        )


def contents(request: AnthropicRequest) -> Iterator[FakeProviderError]:
    """Yield an error for each message without content."""
    for at, blocks in enumerate(request.blocks):
        if not blocks and not (request.role(at) == "system" and request.messages[at].get("output_config")):
            yield anthropic_error(
                f"messages.{at}: all messages must have non-empty content except for the optional final assistant"
                " message"
            )


def empty_texts(request: AnthropicRequest) -> Iterator[FakeProviderError]:
    """Yield an error for each empty text block, also inside results."""
    for place in request.places():
        for block in (place.content, *_inner(place.content)):
            if kind(block) == "text" and isinstance(block, dict) and block.get("text") == "":
                yield anthropic_error("messages: text content blocks must be non-empty")
    for block in _system(request):
        if not block.get("text"):
            yield anthropic_error("system: text content blocks must be non-empty")


def blank_texts(request: AnthropicRequest) -> Iterator[FakeProviderError]:
    """Yield an error for each text of nothing but whitespace. Results may hold one."""
    for place in request.places():
        text = place.content if isinstance(place.content, str) else place.content.get("text")
        if place.kind == "text" and text and is_blank(text):
            yield anthropic_error("messages: text content blocks must contain non-whitespace text")
    for block in _system(request):
        if block.get("text") and is_blank(block["text"]):
            yield anthropic_error("system: text content blocks must contain non-whitespace text")


def inputs(request: AnthropicRequest) -> Iterator[FakeProviderError]:
    """Yield an error for each input that is no object, such as half a JSON text."""
    for place in request.places():
        if place.kind in _CALLS and not isinstance(place.content.get("input"), dict):
            yield anthropic_error(f"{place.path}.{place.kind}.input: Input should be a valid dictionary")


def not_texts(request: AnthropicRequest) -> Iterator[FakeProviderError]:
    """Yield an error for each text and result that is of another type."""
    for place in request.places():
        if place.kind == "text" and isinstance(place.content, dict) and not isinstance(place.content.get("text"), str):
            yield anthropic_error(f"{place.path}.text.text: Input should be a valid string")
        if place.kind != "tool_result":
            continue
        where, held = f"{place.path}.tool_result.content", place.content.get("content")
        if held is not None and not isinstance(held, str | list):
            yield anthropic_error(f"{where}: Input should be a valid string or list")
        for number, block in enumerate(held if isinstance(held, list) else ()):
            if not isinstance(block, dict):
                yield anthropic_error(f"{where}.{number}: Input should be an object")
            elif block.get("type") == "text" and not isinstance(block.get("text"), str):
                yield anthropic_error(f"{where}.{number}.text.text: Input should be a valid string")


def _inner(block: Any) -> list[Any]:
    held = block.get("content") if kind(block) == "tool_result" else None
    return held if isinstance(held, list) else []


def _system(request: AnthropicRequest) -> list[dict[str, Any]]:
    return request.system if isinstance(request.system, list) else []
