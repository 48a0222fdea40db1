"""Calls that the Messages API runs itself, and their results: `server_tool_use`, `mcp_tool_use`, `*_tool_result`.

Sources: "Web search tool", "Code execution tool", "MCP connector" and "Handling stop reasons" (Claude Platform Docs:
after `pause_turn` the answer is sent back as it is, and goes on), and error texts as users of the API reported them.
"""

from collections.abc import Iterator

from backscroll.evaluation.fake_providers.anthropic_request import AnthropicRequest, Place
from backscroll.evaluation.fake_providers.errors import FakeProviderError, anthropic_error

CALLS = ("server_tool_use", "mcp_tool_use")


def is_result(kind: str) -> bool:
    """Return whether blocks of this type hold a server's result."""
    return kind.endswith("_tool_result")


def server_pairs(request: AnthropicRequest) -> Iterator[FakeProviderError]:
    """Yield an error for each result without its call before it, and each call without its result before the end.

    An answer goes on in the next message of the assistant. Between the two only results of the client's own tools may
    come, which the model called in the same answer.
    """
    waiting: dict[str, Place] = {}
    for place in request.places():
        if place.role == "assistant":
            known = str(place.content.get("tool_use_id")) if is_result(place.kind) else None
            if place.kind in CALLS:
                waiting[str(place.content.get("id"))] = place
            elif known is not None and waiting.pop(known, None) is None:
                yield anthropic_error(
                    f"{place.path}: unexpected `tool_use_id` found in `{place.kind}` blocks: {known}. Each"
                    f" `{place.kind}` block must have a corresponding `{_call_of(place.kind)}` block before it."
                )
        elif place.kind != "tool_result":
            for known, call in waiting.items():
                yield _unanswered(known, call)
            waiting = {}


def open_calls(request: AnthropicRequest) -> set[str]:
    """Return the ids of a server's calls without a result at the end of a request."""
    found: set[str] = set()
    for place in request.places():
        if place.kind in CALLS:
            found.add(str(place.content.get("id")))
        elif is_result(place.kind):
            found.discard(str(place.content.get("tool_use_id")))
        elif place.role != "assistant" and place.kind != "tool_result":
            found.clear()
    return found


def _call_of(result: str) -> str:
    return "mcp_tool_use" if result == "mcp_tool_result" else "server_tool_use"


def _unanswered(known: str, call: Place) -> FakeProviderError:
    name = call.content.get("name")
    result = "mcp_tool_result" if call.kind == "mcp_tool_use" else f"{name}_tool_result"
    return anthropic_error(
        f"messages.{call.message}: `{name}` tool use with id `{known}` was found without a corresponding `{result}`"
        " block"
    )
