"""The recall tool in OpenAI's Responses API."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from backscroll.integrations.proxy.recall_form import NAME, Call, Item, RecallForm, Says, Turn, left_of, parted_by

_CALLS = ("function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call")
"""Items that wait for a result of the client."""


class ResponsesRecall(RecallForm):
    """Answers are items in a row, of which each call is one."""

    format = "responses"
    is_of_items = True

    def said(self, response: Any) -> list[Item]:
        """Return the items of a response, without reasoning that the provider knows by its id alone and does not keep:
        a request with it is refused.
        """
        output = response.get("output") if isinstance(response, dict) else None
        items = [item for item in output if isinstance(item, dict)] if isinstance(output, list) else []
        if not items or response.get("store") is not False:
            return items
        return [item for item in items if item.get("type") != "reasoning" or item.get("encrypted_content")]

    def calls(self, said: Iterable[Item]) -> list[Call]:
        """Return the calls of our tool."""
        return [Call(item["call_id"], item.get("arguments")) for item in said if is_ours(item)]

    def calls_others(self, said: Iterable[Item]) -> bool:
        """Return whether tools of the client are called."""
        return any(item.get("type") in _CALLS and not is_ours(item) for item in said)

    def answers(self, answered: Sequence[tuple[Call, str]]) -> list[Item]:
        """Return an item for each result."""
        return [{"type": "function_call_output", "call_id": call.id, "output": text} for call, text in answered]

    def parted(self, read: Iterable[Item], calls: Collection[str]) -> tuple[list[Item], list[Item]]:
        """Return the items with the results, and the client's items."""
        return parted_by("call_id", read, calls)

    def merged(self, responses: Sequence[Any]) -> Any:
        """Return one response."""
        shown = [item for each in responses for item in each["output"] if not is_ours(item)]
        return {**responses[-1], "id": responses[0].get("id"), "output": shown, "usage": usage_of(responses)}

    def restored(self, behind: Sequence[Item], turn: Turn, says: Says) -> list[Item]:
        """Return the items of the rounds, and the client's items without those that they hold."""
        found = [item for each in turn.rounds for item in (*each.said, *each.answers)]
        shown = [item for each in turn.rounds for item in each.said if not is_ours(item)]
        rest = list(behind[left_of(behind, shown, says) :])
        given = {item.get("call_id") for item in rest if item.get("type") in _CALLS}
        if (
            turn.last is not None
            and {item.get("call_id") for item in turn.last.said if item.get("type") in _CALLS and not is_ours(item)}
            <= given
        ):
            at = left_of(rest, [item for item in turn.last.said if not is_ours(item)], says)
            ours = [item for item in turn.last.said if is_ours(item)]
            rest[at:at] = [*ours, *turn.last.answers]
        return [*found, *rest]


def is_ours(item: Item) -> bool:
    """Return whether an item calls our tool."""
    return item.get("type") == "function_call" and item.get("name") == NAME


def usage_of(responses: Sequence[Item]) -> Any:
    """Return the usage of the last response with the answers of all."""
    used = [each.get("usage") for each in responses]
    if not isinstance(used[-1], dict):
        return used[-1]
    answers = sum(each.get("output_tokens") or 0 for each in used if isinstance(each, dict))
    return {**used[-1], "output_tokens": answers, "total_tokens": (used[-1].get("input_tokens") or 0) + answers}
