"""What the Messages API refuses by the request alone: fields, roles, pairs of calls and results, marks.

Sources: "Errors", "Prompt caching", "Thinking", "Troubleshooting thinking", "Mid-conversation system messages" and
"Preserved thinking" (Claude Platform Docs), and the types of the anthropic client. Where no page gives the text of an
error, the text is ours and says so in a comment.
"""

from collections.abc import Callable, Iterator
from typing import Any

from backscroll.evaluation.fake_providers import anthropic_request as wire
from backscroll.evaluation.fake_providers.anthropic_request import THINKING, AnthropicRequest, Place, kind
from backscroll.evaluation.fake_providers.claude_models import ClaudeModel
from backscroll.evaluation.fake_providers.errors import FakeProviderError, anthropic_error

_TOP = frozenset({
    "model", "system", "tools", "messages", "thinking", "betas", "headers", "extra_headers", "max_tokens",
    "compaction", "context_management", "cache_control", "metadata", "output_config", "tool_choice",
    "stop_sequences", "temperature", "top_p", "top_k", "service_tier", "stream", "container", "diagnostics",
    "mcp_servers", "inference_geo", "speed",
})  # fmt: skip
_MESSAGE = frozenset({"role", "content"})
_MARKS = 4
_FIELDS = {
    "thinking": {"type", "thinking", "signature"},
    "redacted_thinking": {"type", "data"},
    "compaction": {"type", "content", "encrypted_content", "signature", "tool_changes", "cache_control"},
}
"""All fields of blocks to which nothing may be added."""
_REQUIRED = {
    "text": ("text",),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
    "tool_use": ("id", "name", "input"),
    "tool_result": ("tool_use_id",),
}
_OF_ASSISTANT = frozenset({"tool_use", "thinking", "redacted_thinking"})


def check_shape(request: AnthropicRequest, model: ClaudeModel) -> None:
    """Refuse what needs no memory to be refused.

    Args:
        request: The request.
        model: The row of its model.

    Raises:
        FakeProviderError: With the text of the first rule that the request breaks.
    """
    checks: tuple[Callable[[AnthropicRequest, ClaudeModel], Iterator[FakeProviderError]], ...] = (
        _top,
        _thinking,
        _fields,
        _roles,
        _contents,
        _system_places,
        _marks,
        _pairs,
        _ending,
    )
    for check in checks:
        for error in check(request, model):
            raise error


def _extra(path: str) -> FakeProviderError:
    return anthropic_error(f"{path}: Extra inputs are not permitted")


def _top(request: AnthropicRequest, _: ClaudeModel) -> Iterator[FakeProviderError]:
    for key in request.raw:
        if key not in _TOP:
            yield _extra(str(key))
    if request.is_compaction and wire.ON_DEMAND not in request.betas:
        yield _extra("compaction")
    if request.raw.get("context_management") and not request.betas & {wire.CONTEXT_EDITING, wire.THRESHOLD}:
        yield _extra("context_management")
    names = [tool.get("name") for tool in request.tools]
    if len(set(names)) < len(names):
        yield anthropic_error("tools: Tool names must be unique.")


def _thinking(request: AnthropicRequest, model: ClaudeModel) -> Iterator[FakeProviderError]:
    mode = request.thinking.get("type", "adaptive")
    if mode not in ("adaptive", "enabled", "disabled", "between_tools"):
        yield anthropic_error(
            f"thinking: Input tag '{mode}' found using 'type' does not match any of the expected tags"
        )
    if mode == "disabled" and not model.can_disable_thinking:
        yield anthropic_error('"thinking.type.disabled" is not supported for this model.')  # our text
    if request.thinking.get("block_binding") is None:
        return
    if wire.BINDING not in request.betas or mode in ("disabled", "between_tools"):
        yield _extra(f"thinking.{mode}.block_binding")
    if request.setting not in (None, "error", "drop_block"):
        yield anthropic_error(
            f"thinking.{mode}.block_binding.prefix_mismatch_behavior: Input should be 'error' or 'drop_block'"
        )


def _fields(request: AnthropicRequest, _: ClaudeModel) -> Iterator[FakeProviderError]:
    for at, message in enumerate(request.messages):
        allowed = set(_MESSAGE)
        if message.get("role") == "system":
            allowed |= {"clear_at"} if wire.CLEAR_AT in request.betas else set()
            allowed |= {"output_config"} if wire.OUTPUT_CONFIG in request.betas else set()
        for key in message:
            if key not in allowed:
                yield _extra(f"messages.{at}.{key}")
    for place in request.places():
        yield from _block(place)
        if place.kind == "compaction" and not request.betas & {wire.ON_DEMAND, wire.THRESHOLD}:
            yield anthropic_error(
                f"{place.path}: Input tag 'compaction' found using 'type' does not match any of the expected tags"
            )
        if place.kind in ("tool_addition", "tool_removal") and not request.betas & wire.TOOL_CHANGES:
            yield anthropic_error(
                f"{place.path}: Input tag '{place.kind}' found using 'type' does not match any of the expected tags"
            )


def _block(place: Place) -> Iterator[FakeProviderError]:
    block = place.content
    if isinstance(block, str):
        return
    for key in _REQUIRED.get(place.kind, ()):
        if block.get(key) is None:
            yield anthropic_error(f"{place.path}.{place.kind}.{key}: Field required")
    for key in block:
        if key not in _FIELDS.get(place.kind, block):
            yield _extra(f"{place.path}.{place.kind}.{key}")
    if place.kind in _OF_ASSISTANT and place.role != "assistant":
        yield anthropic_error(f"messages.{place.message}: `{place.kind}` blocks can only be in `assistant` messages")
    if place.kind == "tool_result" and place.role != "user":
        yield anthropic_error(f"messages.{place.message}: `tool_result` blocks can only be in `user` messages")


def _roles(request: AnthropicRequest, model: ClaudeModel) -> Iterator[FakeProviderError]:
    for at in range(len(request.messages)):
        role = request.role(at)
        if role == "system" and not model.appends_system:
            yield anthropic_error(
                'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter,'
                ' not "system" as an input message role.'
            )
        if role not in ("user", "assistant", "system"):
            yield anthropic_error(
                f'messages: Unexpected role "{role}". Allowed roles are "user" or "assistant".'  # the API's wording
            )
    compacted = request.blocks[0] and kind(request.blocks[0][0]) == "compaction"
    if request.role(0) != "user" and not compacted:
        yield anthropic_error('messages: first message must use the "user" role')


def _contents(request: AnthropicRequest, _: ClaudeModel) -> Iterator[FakeProviderError]:
    for at, blocks in enumerate(request.blocks):
        if not blocks and not (request.role(at) == "system" and request.messages[at].get("output_config")):
            yield anthropic_error(
                f"messages.{at}: all messages must have non-empty content except for the optional final assistant"
                " message"
            )
    for place in request.places():
        if place.kind == "text" and isinstance(place.content, dict) and not place.content["text"]:
            yield anthropic_error("messages: text content blocks must be non-empty")
    for block in request.system if isinstance(request.system, list) else ():
        if not block.get("text"):
            yield anthropic_error("system: text content blocks must be non-empty")


def _system_places(request: AnthropicRequest, _: ClaudeModel) -> Iterator[FakeProviderError]:
    """After a turn of the user, and last or before one of the assistant: "Mid-conversation system messages".

    A compaction block in front counts as a turn of the user: that a system message follows it is no error by itself.
    """
    roles = [request.role(at) for at in range(len(request.messages))]
    if [kind(block) for block in request.blocks[0]] == ["compaction"]:
        roles[0] = "user"
    for at, role in enumerate(roles):
        if role != "system":
            continue
        before = next((other for other in reversed(roles[:at]) if other != "system"), None)
        after = next((other for other in roles[at:] if other != "system"), None)
        if before != "user" or after == "user":
            yield anthropic_error(  # our text
                f"messages.{at}: a `system` message must follow a user turn, and precede an assistant turn or be last"
            )


def _marks(request: AnthropicRequest, _: ClaudeModel) -> Iterator[FakeProviderError]:
    marks = request.marks() + ([request.automatic_mark] if request.automatic_mark else [])
    if len(marks) > _MARKS:
        yield anthropic_error(f"A maximum of 4 blocks with cache_control may be provided. Found {len(marks)}.")
    if "5m" in marks and "1h" in marks[marks.index("5m") :]:
        yield anthropic_error(
            "cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block."
            " Note that blocks are processed in the following order: `tools`, `system`, `messages`."
        )


def _pairs(request: AnthropicRequest, _: ClaudeModel) -> Iterator[FakeProviderError]:
    """Check calls and results over turns: the API merges neighboring messages of one role."""
    turns = list(_turns(request))
    used: set[Any] = set()
    for number, turn in enumerate(turns):
        calls = [place.content["id"] for place in turn if place.kind == "tool_use"]
        following = turns[number + 1] if number + 1 < len(turns) else []
        answered = _leading_results(following)
        missing = [call for call in calls if call not in answered]
        if missing and not (request.is_compaction and not following):
            yield anthropic_error(
                f"messages.{turn[-1].message}: `tool_use` ids were found without `tool_result` blocks immediately"
                f" after: {', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in"
                " the next message."
            )
        if len(set(calls)) < len(calls) or used & set(calls):
            yield anthropic_error(f"messages.{turn[-1].message}: `tool_use` ids must be unique")
        used |= set(calls)
        yield from _orphans(turn, turns[number - 1] if number else [])


def _orphans(turn: list[Place], before: list[Place]) -> Iterator[FakeProviderError]:
    known = [place.content["id"] for place in before if place.kind == "tool_use"]
    for place in turn:
        if place.kind != "tool_result":
            continue
        asked = place.content["tool_use_id"]
        if asked not in known:
            yield anthropic_error(
                f"{place.path}: unexpected `tool_use_id` found in `tool_result` blocks: {asked}. Each `tool_result`"
                " block must have a corresponding `tool_use` block in the previous message."
            )
        else:
            known.remove(asked)


def _turns(request: AnthropicRequest) -> Iterator[list[Place]]:
    """Yield the blocks of each run of messages of one role. Two messages with a `system` one between do not merge."""
    turn: list[Place] = []
    for place in request.places():
        if turn and turn[-1].role != place.role:
            yield turn
            turn = []
        turn.append(place)
    if turn:
        yield turn


def _leading_results(turn: list[Place]) -> set[Any]:
    found: set[Any] = set()
    for place in turn:
        if place.kind != "tool_result":
            break
        found.add(place.content["tool_use_id"])
    return found


def _ending(request: AnthropicRequest, model: ClaudeModel) -> Iterator[FakeProviderError]:
    roles = [request.role(at) for at in range(len(request.messages))]
    last = next((role for role in reversed(roles) if role != "system"), None)
    if last == "assistant" and model.refuses_prefill and not request.is_compaction:
        yield anthropic_error(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )
    if request.thinking.get("type") == "enabled" and last == "user":
        yield from _manual_thinking(request, roles)


def _manual_thinking(request: AnthropicRequest, roles: list[str]) -> Iterator[FakeProviderError]:
    """With manual thinking, the final assistant message of an open tool round begins with thinking ("Thinking")."""
    final = max((at for at, role in enumerate(roles) if role == "assistant"), default=-1)
    if final < 0 or final + 1 >= len(roles) or kind(request.blocks[final + 1][0]) != "tool_result":
        return
    first = kind(request.blocks[final][0])
    if first not in THINKING:
        yield anthropic_error(
            f"messages.{final}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{first}`. When"
            " `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the"
            " lastmost set of `tool_use` and `tool_result` blocks)."
        )
