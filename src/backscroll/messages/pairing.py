"""Which result answers which call, where a result may name the function alone, as responses of Gemini do."""

from collections.abc import Iterable, Sequence

from backscroll.messages.parsed_message import ParsedMessage
from backscroll.messages.parts import CallId


def matched(answers: Sequence[CallId], waiting: Iterable[tuple[tuple[int, int], CallId]]) -> list[CallId]:
    """Return for each result the id of the call that it answers; its own where no call fits.

    Args:
        answers: The ids of the results of one message.
        waiting: Calls without a result, each with its place: the lowest is answered first.
    """
    rest = sorted(waiting)
    found = list(answers)
    for number in sorted(range(len(found)), key=lambda number: found[number].names_function):  # those with an id first
        at = next((at for at, (_, call) in enumerate(rest) if found[number].may_mean(call)), None)
        found[number] = found[number] if at is None else rest.pop(at)[1]
    return found


def paired(readings: Sequence[ParsedMessage]) -> Sequence[ParsedMessage]:
    """Return the readings of a group in order, each result with the id of its call."""
    if not any(reading.by_name for reading in readings):
        return readings
    found: list[ParsedMessage] = []
    waiting: list[tuple[tuple[int, int], CallId]] = []
    for at, given in enumerate(readings):
        reading = given
        if given.by_name:
            reading = given.answering(matched([name for name, _ in given.results], waiting))
        for name, _ in reading.results:
            nearest = next((each for each in sorted(waiting) if each[1] == name), None)
            waiting = [each for each in waiting if each is not nearest]
        waiting += [((-at, number), call) for number, call in enumerate(reading.calls)]
        found.append(reading)
    return found
