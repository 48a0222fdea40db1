"""What the Messages API refuses by the request alone: fields, roles, pairs of calls and results, marks.

Sources: "Errors", "Prompt caching", "Thinking", "Troubleshooting thinking", "Mid-conversation system messages" and
"Preserved thinking" (Claude Platform Docs), and the types of the anthropic client. Where no page gives the text of an
error, the text is ours and says so in a comment.
"""

from collections.abc import Iterator
from typing import Any

from backscroll.evaluation.fake_providers import anthropic_request as wire
from backscroll.evaluation.fake_providers.anthropic_request import THINKING, AnthropicRequest, Place, kind
from backscroll.evaluation.fake_providers.anthropic_server_tools import open_calls, server_pairs
from backscroll.evaluation.fake_providers.anthropic_texts import (
    blank_texts,
    contents,
    empty_texts,
    inputs,
    not_texts,
    surrogates,
)
from backscroll.evaluation.fake_providers.errors import FakeProviderError, anthropic_error
from backscroll.evaluation.fake_providers.rules import Rule

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


def _extra(path: str) -> FakeProviderError:
    return anthropic_error(f"{path}: Extra inputs are not permitted")


def _top(request: AnthropicRequest) -> Iterator[FakeProviderError]:
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


def _thinking(request: AnthropicRequest) -> Iterator[FakeProviderError]:
    mode = request.thinking.get("type", "adaptive")
    if mode not in ("adaptive", "enabled", "disabled", "between_tools"):
        yield anthropic_error(
            f"thinking: Input tag '{mode}' found using 'type' does not match any of the expected tags"
        )
    if mode == "disabled" and not request.model.can_disable_thinking:
        yield anthropic_error('"thinking.type.disabled" is not supported for this model.')  # our text
    if request.thinking.get("block_binding") is None:
        return
    if wire.BINDING not in request.betas or mode in ("disabled", "between_tools"):
        yield _extra(f"thinking.{mode}.block_binding")
    if request.setting not in (None, "error", "drop_block"):
        yield anthropic_error(
            f"thinking.{mode}.block_binding.prefix_mismatch_behavior: Input should be 'error' or 'drop_block'"
        )


def _fields(request: AnthropicRequest) -> Iterator[FakeProviderError]:
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


def _roles(request: AnthropicRequest) -> Iterator[FakeProviderError]:
    for at in range(len(request.messages)):
        role = request.role(at)
        if role == "system" and not request.model.appends_system:
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


def _system_places(request: AnthropicRequest) -> Iterator[FakeProviderError]:
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


def _marks(request: AnthropicRequest) -> Iterator[FakeProviderError]:
    marks = request.marks() + ([request.automatic_mark] if request.automatic_mark else [])
    if len(marks) > _MARKS:
        yield anthropic_error(f"A maximum of 4 blocks with cache_control may be provided. Found {len(marks)}.")
    if "5m" in marks and "1h" in marks[marks.index("5m") :]:
        yield anthropic_error(
            "cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block."
            " Note that blocks are processed in the following order: `tools`, `system`, `messages`."
        )


def _answered(request: AnthropicRequest) -> Iterator[FakeProviderError]:
    """Check over turns that each call has its result in the next one: the API merges messages of one role."""
    turns = list(_turns(request))
    for turn, following in zip(turns, [*turns[1:], []], strict=False):
        answered = _leading_results(following)
        missing = [call for call in _calls(turn) if call not in answered]
        if missing and not (request.is_compaction and not following):
            yield anthropic_error(
                f"messages.{turn[-1].message}: `tool_use` ids were found without `tool_result` blocks immediately"
                f" after: {', '.join(map(str, missing))}. Each `tool_use` block must have a corresponding `tool_result`"
                " block in the next message."
            )


def _unique(request: AnthropicRequest) -> Iterator[FakeProviderError]:
    used: set[Any] = set()
    for turn in _turns(request):
        calls = _calls(turn)
        if len(set(calls)) < len(calls) or used & set(calls):
            yield anthropic_error(f"messages.{turn[-1].message}: `tool_use` ids must be unique")
        used |= set(calls)


def _asked(request: AnthropicRequest) -> Iterator[FakeProviderError]:
    """Check that each result answers a call of the turn before it, and is the only one."""
    turns = list(_turns(request))
    for before, turn in zip([[], *turns], turns, strict=False):
        known = _calls(before)
        for place in turn:
            if place.kind != "tool_result":
                continue
            asked = place.content.get("tool_use_id")
            if asked in known:
                known.remove(asked)
            else:
                yield anthropic_error(
                    f"{place.path}: unexpected `tool_use_id` found in `tool_result` blocks: {asked}. Each `tool_result`"
                    " block must have a corresponding `tool_use` block in the previous message."
                )


def _calls(turn: list[Place]) -> list[Any]:
    return [place.content.get("id") for place in turn if place.kind == "tool_use"]


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
        found.add(place.content.get("tool_use_id"))
    return found


def _prefill(request: AnthropicRequest) -> Iterator[FakeProviderError]:
    """Check that the user has the last word. After `pause_turn` the answer itself is last, with its call open."""
    is_refused = request.model.refuses_prefill and not request.is_compaction
    if is_refused and _last_role(request) == "assistant" and not open_calls(request):
        yield anthropic_error(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )


def _last_role(request: AnthropicRequest) -> str | None:
    roles = (request.role(at) for at in reversed(range(len(request.messages))))
    return next((role for role in roles if role != "system"), None)


def _manual_thinking(request: AnthropicRequest) -> Iterator[FakeProviderError]:
    """With manual thinking, the final assistant message of an open tool round begins with thinking ("Thinking")."""
    if request.thinking.get("type") != "enabled" or _last_role(request) != "user":
        return
    roles = [request.role(at) for at in range(len(request.messages))]
    final = max((at for at, role in enumerate(roles) if role == "assistant"), default=-1)
    following = request.blocks[final + 1 : final + 2]
    if final < 0 or not following or [kind(block) for block in following[0][:1]] != ["tool_result"]:
        return
    first = kind(request.blocks[final][0])
    if first not in THINKING:
        yield anthropic_error(
            f"messages.{final}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{first}`. When"
            " `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the"
            " lastmost set of `tool_use` and `tool_result` blocks)."
        )


RULES: tuple[Rule[AnthropicRequest], ...] = (
    Rule("surrogates", surrogates, ("lone_surrogate",)),
    Rule("top", _top),
    Rule("thinking", _thinking),
    Rule("fields", _fields, ("empty_text",)),
    Rule("roles", _roles),
    Rule("contents", contents, ("empty_text",)),
    Rule("empty-texts", empty_texts, ("empty_text",)),
    Rule("blank-texts", blank_texts, ("empty_text",)),
    Rule("not-texts", not_texts, ("result_not_text",)),
    Rule("inputs", inputs, ("cut_arguments",)),
    Rule("system-places", _system_places),
    Rule("marks", _marks),
    Rule("answered", _answered, ("open_call", "late_result")),
    Rule("unique", _unique),
    Rule("asked", _asked, ("second_result", "late_result", "unknown_call")),
    Rule("server-pairs", server_pairs, ("server_pair",)),
    Rule("prefill", _prefill, ("prefill",)),
    Rule("manual-thinking", _manual_thinking),
)
"""What `FakeAnthropic` refuses by the request alone, in the order in which it looks."""
