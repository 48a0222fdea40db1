"""Messages whose calls and results have to match: a transcript or a request; and faults that requests repeat."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from backscroll.evaluation.lint.costs import Costs
from backscroll.evaluation.lint.finding import Found
from backscroll.evaluation.lint.place import Place
from backscroll.evaluation.lint.talk import Talk
from backscroll.evaluation.transcript import Message
from backscroll.messages import ParsedMessage
from backscroll.messages.dialects.response_items import is_item


class Row(NamedTuple):
    """A sequence of messages."""

    messages: Sequence[Message]
    readings: Sequence[ParsedMessage]
    list_name: str = "messages"
    number: int | None = None
    """The number of the request; `None` for a transcript."""
    shape: str = ""
    """The shape of the request; empty for a transcript."""

    def place(self, at: int) -> Place:
        """Return the place of a message."""
        return Place(f"{self.list_name}[{at}]", self.number)


class Fault(NamedTuple):
    """What is wrong with a message. Equal faults of several requests are one finding."""

    at: int
    call: str
    """What it concerns: a call, or empty."""
    what: str


def rows(talk: Talk) -> Iterator[Row]:
    """Yield the messages of a transcript, or of each request that holds the beginning of its conversation."""
    if not talk.requests:
        yield Row(talk.messages, talk.own_readings)
    for request in talk.requests:
        if not request.begins_elsewhere:
            yield Row(
                messages=request.messages,
                readings=talk.readings(request),
                list_name=request.list_name,
                number=request.number,
                shape=request.shape,
            )


def each(faults: Callable[[Row], Iterator[Fault]]) -> Callable[[Talk, Costs], Iterator[Found]]:
    """Return a check that reports a fault once, however many requests repeat it."""

    def check(talk: Talk, _: Costs) -> Iterator[Found]:
        found: dict[tuple[str, str], tuple[Place, int]] = {}
        for row in rows(talk):
            for fault in faults(row):
                place, count = found.get((fault.call, fault.what), (row.place(fault.at), 0))
                found[fault.call, fault.what] = (place, count + 1)
        for (_call, what), (place, count) in found.items():
            yield Found(place, what, count=count, severity="error" if talk.requests else "warning")

    return check


def odd_results(row: Row) -> dict[tuple[int, str], Literal["second", "late"]]:
    """Return the results that cannot follow their call, by the index of their message and the id of the call.

    Second ones, and those that came after the model answered something else. Outputs of the Responses API may be late.
    """
    found: dict[tuple[int, str], Literal["second", "late"]] = {}
    made: dict[str, int] = {}
    done: set[str] = set()
    for at, reading in enumerate(row.readings):
        for answered, _ in reading.results:
            if answered in done:
                found[at, answered] = "second"
            elif answered in made and not is_item(row.messages[at]) and _went_on(row, made[answered], at):
                found[at, answered] = "late"
            if answered in made:
                done.add(answered)
        made.update(dict.fromkeys(reading.calls, at))
        done.difference_update(reading.calls)
    return found


def _went_on(row: Row, call: int, result: int) -> bool:
    """Return whether the user spoke and the model answered without a call in between."""
    spoke = False
    for reading in row.readings[call + 1 : result]:
        spoke = spoke or reading.is_user_turn
        if spoke and reading.role in ("assistant", "model"):
            return True
    return False
