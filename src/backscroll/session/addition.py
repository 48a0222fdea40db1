"""One message to be added, and the tools whose results come too late to join their call."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from backscroll.history.history import History
from backscroll.history.loading import fetch
from backscroll.history.log import MessageAdded
from backscroll.history.log_reader import LogReader
from backscroll.messages import Message, ParsedMessage
from backscroll.messages.parts import CallId
from backscroll.ports import Operation
from backscroll.tokens.counts import Counts

_SEARCHED = 1_000
"""Messages that are searched for the call of a result that answers no open one: a tool that reports twice does so soon,
and an agent that invents ids must not read a whole log for each.
"""


class Addition(NamedTuple):
    """One message to be added."""

    reading: ParsedMessage
    message: Message
    counts: Counts
    event: MessageAdded | None
    """`None`: the message is never stored."""
    late: tuple[tuple[int, int | None, int], ...] = ()
    """As `Joining.late`."""


def with_tools(history: History, reader: LogReader, added: list[Addition]) -> Operation[list[Addition]]:
    """Return the additions, with the names of the tools whose results join no group."""
    found: list[Addition] = []
    for addition in added:
        if addition.late and addition.event is not None:
            late = []
            for index, seq, number in addition.late:
                answer = addition.reading.results[index][0]
                tool = yield from _tool_of(history, reader, found, answer, (seq, number))
                late.append((index, tool, seq is None and bool(tool)))
            addition = addition._replace(event=replace(addition.event, late=tuple(late)))  # noqa: PLW2901  rarely so
        found.append(addition)
    return found


def _tool_of(
    history: History, reader: LogReader, before: Sequence[Addition], answer: CallId, call: tuple[int | None, int]
) -> Operation[str]:
    """Return the name of the tool that a result is from; empty if no call is found.

    Args:
        history: The history.
        reader: Reads its log.
        before: What is added before the result.
        answer: The id of the call, or of its function alone.
        call: The `seq` and number of the open call. `None`: the call has a result already, or there is none.
    """
    seq, number = call
    new = {addition.event.seq: addition.reading for addition in before if addition.event is not None}
    if seq is not None:
        call_reading = new.get(seq)
        if call_reading is None:
            (entry,) = yield from fetch(history, reader, [seq])
            call_reading = entry.reading
        return call_reading.call_parts[number].name or ""
    branch = history.branch
    newest = yield from fetch(history, reader, list(branch.between(max(0, len(branch) - _SEARCHED), len(branch))))
    for reading in [*reversed(new.values()), *(entry.reading for entry in reversed(newest))]:
        for part in reading.parts:
            if part.kind == "call" and part.id is not None and answer.may_mean(part.id):
                return part.name or ""
    return ""
