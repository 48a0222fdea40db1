"""The tools that an agent's model may call. If the model makes a mistake, they answer what to do instead.

None of them changes the agent's messages: they read the conversation or change its plan.
"""

from typing import Any, Literal

from strands import ToolContext, tool

from backscroll.errors import BackscrollError
from backscroll.integrations.strands.conversation import Conversation
from backscroll.integrations.strands.registration import conversation_of
from backscroll.integrations.strands.serialization import from_json
from backscroll.recall.pages import RecallResult

NOT_HERE = "This agent has no Backscroll context manager: there is nothing to look up or to pin."
_KEEP = 10  # default of `keep_recent`
_SHARE = 0.3
_SHARES = (0.1, 0.8)

Kind = Literal["all", "tools", "messages"]
Action = Literal["pin", "unpin"]


@tool(context=True)
async def retrieve_offloaded_content(  # noqa: PLR0917  # a model names its arguments
    tool_context: ToolContext,
    reference: str,
    pattern: str | None = None,
    line_range: dict[str, int] | None = None,
    context_lines: int = 0,
    offset: int = 0,
) -> dict[str, Any]:
    """Read what was left out of this conversation to save room, word for word, by a reference that appears in it.

    Long tool results, old messages, images and documents are replaced by a preview or a line with a reference such as
    [ref:12.1]. A long answer comes in pages: to go on, call again with the offset that it names.

    Args:
        reference: The reference as it appears in the conversation: 12, 12-40 or 12.1; or several, as 12,15. Of a long
            range, each message is named in a line; read those you need by their own reference.
        pattern: A regular expression; only lines in which it is found are returned.
        line_range: First and last line, counted from 1: {"start": 10, "end": 25}. With a pattern, where to look.
        context_lines: Lines before and after each that the pattern finds, 0 to 50.
        offset: Characters to skip, as the page before said.
        tool_context: Injected by the framework.
    """
    conversation = conversation_of(tool_context.agent)
    if conversation is None:
        return _answer(NOT_HERE)
    try:
        lines = None if line_range is None else (line_range["start"], line_range["end"])
        await conversation.follow(tool_context.agent)
        found = await conversation.recall(
            reference, pattern=pattern, lines=lines, around=context_lines, offset=offset, outline=True
        )
    except KeyError as error:
        return _answer(f"line_range needs 'start' and 'end', counted from 1; {error} is missing")
    except BackscrollError as error:
        return _answer(str(error))
    return _page(found)


def _page(found: RecallResult) -> dict[str, Any]:
    media = [from_json(block) for block in found.media]
    more = f"\n[more follows: call again with offset {found.next_offset}]" if found.next_offset else ""
    if found.next_ref is not None:
        more = f"[more follows: call again with reference {found.next_ref}]"
    return {"status": "success", "content": [{"text": (str(found) or "nothing found") + more}, *media]}


def _answer(text: str) -> dict[str, Any]:
    return {"status": "error", "content": [{"text": text}]}


@tool(context=True)
def pin_message(tool_context: ToolContext, index: int, action: Action = "pin") -> str:
    """Protect a message of this conversation from being left out, or take that back.

    A tool call and its results are protected together.

    Args:
        index: Which message: its place in the conversation from 0 on, or counted from the end: -1 is the newest.
        action: "pin" or "unpin".
        tool_context: Injected by the framework.
    """
    conversation = conversation_of(tool_context.agent)
    if conversation is None:
        return NOT_HERE
    if action not in ("pin", "unpin"):
        return f"action is 'pin' or 'unpin', not {action!r}."
    try:
        return conversation.pin_now(tool_context.agent, index, action == "pin")
    except (IndexError, BackscrollError) as error:
        return f"Nothing was changed: {error}."


@tool(context=True)
async def summarize_context(
    tool_context: ToolContext,
    keep_recent: int = _KEEP,
    summary_ratio: float = _SHARE,
    message_type: Kind = "all",
) -> str:
    """Replace the oldest messages of your context by a summary, to free room. They can still be read by reference.

    Args:
        keep_recent: Newest messages that stay as they are.
        summary_ratio: Share of the messages to summarize, from the oldest on: 0.1 to 0.8.
        message_type: "tools" for tool calls and results only, "messages" for everything else, or "all".
        tool_context: Injected by the framework.
    """
    share = min(max(summary_ratio, _SHARES[0]), _SHARES[1])
    return await _left_out(tool_context.agent, keep_recent, share, message_type, summarize=True)


@tool(context=True)
async def truncate_context(tool_context: ToolContext, keep_recent: int = _KEEP, message_type: Kind = "all") -> str:
    """Leave the oldest messages out of your context, to free room. They can still be read by reference.

    Args:
        keep_recent: Newest messages that stay.
        message_type: "tools" for tool calls and results only, "messages" for everything else, or "all".
        tool_context: Injected by the framework.
    """
    return await _left_out(tool_context.agent, keep_recent, 1.0, message_type, summarize=False)


async def _left_out(agent: Any, keep: int, share: float, kind: str, *, summarize: bool) -> str:
    conversation = conversation_of(agent)
    if conversation is None:
        return NOT_HERE
    try:
        await conversation.follow(agent)
        done = await conversation.trim(
            keep_last=keep, fraction=share, only=kind, summarize=summarize, lane=conversation.lane
        )
    except BackscrollError as error:
        return f"Nothing was left out: {error}."
    if done is None:
        return "Nothing was left out: what is not protected or recent is left out already."
    return f"Left out {done.messages_dropped} messages; {done.after_messages} are in your context."


@tool(context=True)
def pin_context(
    tool_context: ToolContext,
    select: Literal["last_turn"] | int | list[int],
    filter: Literal["user", "assistant", "tools"] | None = None,
    action: Action = "pin",
) -> str:
    """Protect several messages of your context from being left out, or take that back.

    Args:
        select: "last_turn" for the present exchange, a number for so many of the newest, or a list of places from 0 on.
        filter: Of these only what the user wrote, what you wrote, or tool calls and results.
        action: "pin" or "unpin".
        tool_context: Injected by the framework.
    """
    conversation = conversation_of(tool_context.agent)
    if conversation is None:
        return NOT_HERE
    messages = tool_context.agent.messages
    chosen = [at for at in _selected(messages, select) if filter is None or _is(messages[at], filter)]
    if not chosen:
        return f"No matching messages: the conversation has {len(messages)}, 0 to {len(messages) - 1}."
    return _pinned(conversation, tool_context.agent, chosen, action)


def _pinned(conversation: Conversation, agent: Any, chosen: list[int], action: str) -> str:
    try:
        for at in chosen:
            conversation.pin_now(agent, at, action == "pin")
    except BackscrollError as error:
        return f"Nothing more was changed: {error}."
    return f"{'Pinned' if action == 'pin' else 'Unpinned'} {len(chosen)} messages."


def _selected(messages: list[Any], select: Any) -> list[int]:
    total = len(messages)
    if select == "last_turn":
        said = [at for at in range(total) if _is(messages[at], "user")]
        return list(range(said[-1] if said else 0, total))
    if isinstance(select, int):
        return list(range(max(0, total - max(0, select)), total))
    return [at for at in select if isinstance(at, int) and 0 <= at < total]


def _is(message: Any, kind: str) -> bool:
    keys = {key for block in message["content"] for key in block}
    if kind == "tools":
        return not keys.isdisjoint(("toolUse", "toolResult"))
    return message["role"] == kind and "text" in keys
