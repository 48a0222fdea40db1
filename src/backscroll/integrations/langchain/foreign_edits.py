"""What other middleware did to the messages of one request: what stays in it, and what cannot.

What the conversation keeps comes from the graph's state. A request may have more at its front and at its end.
"""

from collections.abc import Sequence
from typing import NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from backscroll.integrations.langchain.translation import LangChainTranslation
from backscroll.integrations.same_messages import are_same

_TRANSLATION = LangChainTranslation()


class Request(NamedTuple):
    """The messages of one request."""

    history: Sequence[BaseMessage]
    """What the conversation holds."""
    front: Sequence[BaseMessage] = ()
    """Messages that only this request has, before all others."""
    end: Sequence[BaseMessage] = ()
    """Messages that only this request has, behind all others."""
    edited: bool = False
    """Whether something else differs, which the view replaces."""


def read_request(state: Sequence[BaseMessage], given: Sequence[BaseMessage]) -> Request:
    """Compare the messages of a request with those of the graph's state.

    Args:
        state: The messages of the state.
        given: The messages of the request, as the middleware before ours left them.
    """
    if are_same(state, given):
        return Request(state)
    at = {id(message): number for number, message in enumerate(state)}
    at_id = {message.id: number for number, message in enumerate(state) if message.id}
    places = [at.get(id(message), at_id.get(message.id or "")) for message in given]
    history, repairs = _repaired(state, [each for each, place in zip(given, places, strict=True) if place is None])
    known = [number for number, each in enumerate(given) if places[number] is not None or id(each) in repairs]
    if not known:
        return Request(state, end=given, edited=bool(state))
    first, last = known[0], known[-1]
    inner = [(places[number], given[number]) for number in range(first, last + 1) if id(given[number]) not in repairs]
    return Request(history, given[:first], given[last + 1 :], not _is_same(state, inner))


def _repaired(state: Sequence[BaseMessage], foreign: Sequence[BaseMessage]) -> tuple[Sequence[BaseMessage], set[int]]:
    """Return the history with LangChain's own answers to calls that could not be read, which it adds to the state with
    the model's answer, and the identities of these answers.
    """
    answers = {each.tool_call_id: each for each in foreign if isinstance(each, ToolMessage)}
    found: list[BaseMessage] = []
    repairs: set[int] = set()
    for message in state if answers else ():
        found.append(message)
        for call in message.invalid_tool_calls if isinstance(message, AIMessage) else ():
            if (answer := answers.pop(call.get("id") or "", None)) is not None:
                found.append(answer)
                repairs.add(id(answer))
    return (found, repairs) if repairs else (state, repairs)


def _is_same(state: Sequence[BaseMessage], given: Sequence[tuple[int | None, BaseMessage]]) -> bool:
    """Return whether these are all messages of the state in their order, each saying the same."""
    if [place for place, _ in given] != list(range(len(state))):
        return False
    says = _TRANSLATION.says
    return all(there is here or says(there) == says(here) for (_, there), here in zip(given, state, strict=True))
