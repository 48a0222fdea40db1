"""The calls of tools that have no result: what a loop runs or refuses before it asks the model again."""

from dataclasses import dataclass
from typing import Any

from backscroll.history.history import Entry, History
from backscroll.history.loading import load_group
from backscroll.messages.dialects import is_ended_by_provider
from backscroll.messages.healing import arguments_of
from backscroll.ports import Operation
from backscroll.session.state import SessionState
from backscroll.session.store_sync import enter


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call of a tool without a result.

    A process that ended between an answer and its results leaves such calls. Until a result is appended, views answer
    them with a placeholder.
    """

    id: str
    """The id that its result has to name; empty where its provider gave none."""
    tool: str
    """The name of the called tool."""
    arguments: Any
    """The arguments as an object; the text where they are none, as of a custom tool or of a call that was cut off."""
    seq: int
    """The number of the message that makes the call."""
    went_on: bool
    """Whether the conversation went on since. Views show a result that comes now where it comes, as text; and so do
    lanes that sent the call without its result.
    """


def open_calls(state: SessionState) -> Operation[list[OpenCall]]:
    """Return the calls of the branch that have no result, oldest first. The provider itself ends a program's call."""
    yield from enter(state)
    history, found = state.history, list[OpenCall]()
    for seq, number in sorted(history.waiting_calls()):
        yield from load_group(history, state.reader, seq)
        entry = history.entry(seq)
        if not is_ended_by_provider(entry.reading.call_parts[number]):
            found.append(_open_call(history, entry, number))
    return found


def _open_call(history: History, entry: Entry, number: int) -> OpenCall:
    part = entry.reading.call_parts[number]
    return OpenCall(
        id="" if part.id is None else part.id.given,
        tool=part.name or "",
        arguments=arguments_of(part),
        seq=entry.seq,
        went_on=history.went_on(entry),
    )
