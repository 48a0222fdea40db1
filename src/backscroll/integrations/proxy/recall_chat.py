"""The recall tool in OpenAI's chat completions."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from backscroll.integrations.proxy.recall_form import NAME, Call, Item, RecallForm, Says, Turn, parted_by

_NOT_SENT = ("annotations", "audio", "refusal", "function_call")
"""Members of an answer that no request has."""
_TEXTS = ("content", "reasoning_content", "reasoning")
"""Members of which a client that reads a stream puts the pieces of all rounds together."""


class ChatRecall(RecallForm):
    """Answers are one message, with its calls apart. Only the first choice counts."""

    format = "openai"

    def said(self, response: Any) -> list[Item]:
        """Return the message of a response."""
        choices = response.get("choices") if isinstance(response, dict) else None
        message = choices[0].get("message") if isinstance(choices, list) and choices else None
        if not isinstance(message, dict):
            return []
        kept = {key: value for key, value in message.items() if value is not None and key not in _NOT_SENT}
        return [{"role": "assistant", "content": message.get("content"), **kept}]

    def calls(self, said: Iterable[Item]) -> list[Call]:
        """Return the calls of our tool."""
        return [Call(each["id"], each["function"].get("arguments")) for each in _calls(said) if is_ours(each)]

    def calls_others(self, said: Iterable[Item]) -> bool:
        """Return whether tools of the client are called."""
        return any(not is_ours(each) for each in _calls(said))

    def answers(self, answered: Sequence[tuple[Call, str]]) -> list[Item]:
        """Return a message for each result."""
        return [{"role": "tool", "tool_call_id": call.id, "content": text} for call, text in answered]

    def parted(self, read: Iterable[Item], calls: Collection[str]) -> tuple[list[Item], list[Item]]:
        """Return the messages with the results, and the client's messages."""
        return parted_by("tool_call_id", read, calls)

    def merged(self, responses: Sequence[Any]) -> Any:
        """Return one completion."""
        first, *others = responses[-1]["choices"]
        message = {key: value for key, value in first["message"].items() if key != "tool_calls"}
        for key in _TEXTS:
            texts = [each["choices"][0]["message"].get(key) for each in responses]
            if any(texts):
                message[key] = "".join(filter(None, texts))
        if calls := [each for each in _calls([first["message"]]) if not is_ours(each)]:
            message["tool_calls"] = calls
        reason = finish_reason(first.get("finish_reason"), bool(calls))
        choice = {**first, "message": message, "finish_reason": reason}
        return {
            **responses[-1],
            "id": responses[0].get("id"),
            "choices": [choice, *others],
            "usage": usage_of([each.get("usage") for each in responses]),
        }

    def restored(self, behind: Sequence[Item], turn: Turn, says: Says) -> list[Item]:  # noqa: ARG002
        """Return the messages of the rounds, then the client's message without what they say."""
        found = [item for each in turn.rounds for item in (*each.said, *each.answers)]
        if not behind or behind[0].get("role") != "assistant":
            return [*found, *behind]
        first, *others = behind
        rest = {**first, **{key: _without(first[key], key, turn) for key in _TEXTS if isinstance(first.get(key), str)}}
        if turn.last is not None and {_id(each) for each in _calls(turn.last.said) if not is_ours(each)} <= {
            _id(each) for each in _calls([first])
        }:
            rest["tool_calls"] = [*_calls([first]), *(each for each in _calls(turn.last.said) if is_ours(each))]
            others = [*turn.last.answers, *others]
        is_empty = not rest.get("tool_calls") and not rest.get("content")
        return [*found, *([] if is_empty else [rest]), *others]


def is_ours(call: Item) -> bool:
    """Return whether a call is one of our tool."""
    function = call.get("function")
    return isinstance(function, dict) and function.get("name") == NAME


def finish_reason(reason: Any, calls: bool) -> Any:
    """Return why an answer stopped, for a client that does not see our tool."""
    return "stop" if reason == "tool_calls" and not calls else reason


def usage_of(used: Sequence[Any]) -> Any:
    """Return the usage of the last response with the answers of all."""
    if not isinstance(used[-1], dict):
        return used[-1]
    answers = sum(each.get("completion_tokens") or 0 for each in used if isinstance(each, dict))
    prompt = used[-1].get("prompt_tokens") or 0
    return {**used[-1], "completion_tokens": answers, "total_tokens": prompt + answers}


def _id(call: Item) -> Any:
    return call.get("id")


def _calls(said: Iterable[Item]) -> list[Item]:
    return [call for item in said for call in item.get("tool_calls") or ()]


def _without(text: str, key: str, turn: Turn) -> str:
    """Return a text of the client's message without what the rounds said before it."""
    for each in turn.rounds:
        text = text.removeprefix(each.said[0].get(key) or "")
    return text
