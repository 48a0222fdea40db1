"""The recall tool in Anthropic's Messages API."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from backscroll.integrations.proxy.recall_form import NAME, Call, Item, RecallForm, Says, Turn, left_of
from backscroll.messages.cache_marks import without_marks

_PLACEHOLDER = {"type": "text", "text": "(Nothing but look-ups.)"}
"""A message without a block is refused when the client sends it again."""


class AnthropicRecall(RecallForm):
    """Answers are one message of blocks."""

    format = "anthropic"

    def said(self, response: Any) -> list[Item]:
        """Return the message of a response."""
        content = response.get("content") if isinstance(response, dict) else None
        return [{"role": "assistant", "content": content}] if isinstance(content, list) and content else []

    def calls(self, said: Iterable[Item]) -> list[Call]:
        """Return the calls of our tool."""
        return [Call(block["id"], block.get("input")) for item in said for block in _blocks(item) if is_ours(block)]

    def calls_others(self, said: Iterable[Item]) -> bool:
        """Return whether tools of the client are called."""
        blocks = (block for item in said for block in _blocks(item))
        return any(block.get("type") == "tool_use" and not is_ours(block) for block in blocks)

    def answers(self, answered: Sequence[tuple[Call, str]]) -> list[Item]:
        """Return the message with the results."""
        return [{"role": "user", "content": [_result(call.id, text) for call, text in answered]}]

    def parted(self, read: Iterable[Item], calls: Collection[str]) -> tuple[list[Item], list[Item]]:
        """Return the message with the results, and the client's messages without them."""
        found, others = list[Item](), list[Item]()
        for item in read:
            ours = [block for block in _blocks(item) if block.get("tool_use_id") in calls]
            rest = [block for block in _blocks(item) if block.get("tool_use_id") not in calls]
            found += [{"role": "user", "content": ours}] if ours else []
            others += [{**item, "content": rest} if ours else item] if rest else []
        return found, others

    def merged(self, responses: Sequence[Any]) -> Any:
        """Return one message."""
        shown = [block for each in responses for block in each["content"] if not is_ours(block)]
        return {
            **responses[-1],
            "id": responses[0].get("id"),
            "content": shown or [dict(_PLACEHOLDER)],
            "stop_reason": stop_reason(responses[-1]),
            "usage": usage_of(responses),
        }

    def restored(self, behind: Sequence[Item], turn: Turn, says: Says) -> list[Item]:  # noqa: ARG002
        """Return the messages of the rounds, then the client's message without what they say."""
        found = [item for each in turn.rounds for item in (*each.said, *each.answers)]
        if not behind or behind[0].get("role") != "assistant":
            return [*found, *behind]
        first, *others = behind
        shown = [block for each in turn.rounds for block in each.said[0]["content"] if not is_ours(block)]
        blocks = _blocks(first)
        rest = blocks[left_of(blocks, shown, _key) :]
        if turn.last is not None and others and _calls_of(turn.last.said[0]) <= _calls_of({"content": rest}):
            ours = [block for block in turn.last.said[0]["content"] if is_ours(block)]
            results = [block for item in turn.last.answers for block in item["content"]]
            rest = [*rest, *ours]
            others[0] = {**others[0], "content": [*results, *_blocks(others[0])]}
        return [*found, *([{**first, "content": rest}] if rest else []), *others]


def is_ours(block: Item) -> bool:
    """Return whether a block calls our tool."""
    return block.get("type") == "tool_use" and block.get("name") == NAME


def stop_reason(response: Item) -> Any:
    """Return why an answer stopped, for a client that does not see our tool."""
    said = AnthropicRecall().said(response)
    reason = response.get("stop_reason")
    return "end_turn" if reason == "tool_use" and not AnthropicRecall().calls_others(said) else reason


def usage_of(responses: Sequence[Item]) -> Item:
    """Return the usage of the last response with the answers of all."""
    used = [each.get("usage") or {} for each in responses]
    return {**used[-1], "output_tokens": sum(each.get("output_tokens") or 0 for each in used)}


def _calls_of(item: Item) -> set[Any]:
    """Return the ids of the calls of the client's tools."""
    return {block.get("id") for block in item["content"] if block.get("type") == "tool_use" and not is_ours(block)}


def _result(call: str, text: str) -> Item:
    return {"type": "tool_result", "tool_use_id": call, "content": text}


def _blocks(item: Item) -> list[Any]:
    content = item.get("content")
    return list(content) if isinstance(content, list) else [{"type": "text", "text": content or ""}]


def _key(block: Any) -> object:
    """Return what makes blocks different: clients keep these, and may change the rest."""
    if not isinstance(block, dict):
        return block
    named = block.get("id") or block.get("signature") or block.get("data") or block.get("text")
    return block.get("type"), named.strip() if isinstance(named, str) else str(without_marks(block))
