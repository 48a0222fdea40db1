"""No result is lost, none is shown as what it is not, and the newest message of the history is the view's newest."""

from collections.abc import Iterator

from backscroll.evaluation.authors import is_injected
from backscroll.evaluation.dialects import Shape
from backscroll.evaluation.odd_parts import Frame, is_placeholder, said_in, shares
from backscroll.evaluation.validity_rules.case import Case, Rule
from backscroll.evaluation.validity_rules.presence import represents


def _lost(case: Case) -> Iterator[str]:
    """Check that each result is shown, or named by a reference under which it can be recalled.

    Managers that leave out messages without a reference may leave out a late result with its neighbors.
    """
    missing = {
        known
        for message in case.view
        for known, content in message.answers
        if case.calls[known] == 1 and is_placeholder("\n".join(said_in(content)))
    }
    for at, message in enumerate(case.history):
        for number, (known, _) in enumerate(message.answers):
            is_late = _is_late(case, at, number)
            is_due = case.has_references or _has_neighbor(case, at) if is_late else known in missing
            if is_due and not case.is_referenced(message.place):
                yield f"the result of {known!r}, history[{message.place}], is not in the view and has no reference"


def _has_neighbor(case: Case, at: int) -> bool:
    """Return whether the view shows a message next to one of the history."""
    shown = {case.timeline[place].at for place in case.places if place is not None}
    return not shown.isdisjoint((at - 1, at + 1))


def _moved(case: Case) -> Iterator[str]:
    """Check that a result which came late, or second, is not shown behind its call."""
    for at, message in enumerate(case.history):
        for number, (known, _) in enumerate(message.answers):
            if case.calls[known] != 1 or not _is_late(case, at, number):
                continue
            texts = _texts(message, number)
            first = _first_result(case, known)
            for place, shown in enumerate(case.view):
                for answered, content in shown.answers:
                    said = "\n".join(said_in(content))
                    is_own = answered == known and texts and not is_placeholder(said)
                    if is_own and shares(said, texts[0]) and not (first and shares(said, first)):
                        yield f"view[{place}]: a later result of {known!r}, history[{message.place}], at its call"


def _frames(case: Case) -> Iterator[str]:
    """Check that each result shown as text of the user is in the message that it names, and names its call."""
    by_place: dict[int, list[Shape]] = {}
    for message in case.history:
        by_place.setdefault(message.place, []).append(message)
    for at, message in enumerate(case.view):
        for frame in message.frames:
            own = [(each, number) for each in by_place.get(frame.place, ()) for number in range(len(each.answers))]
            if not any(_is_framed(frame, each, number) for each, number in own):
                yield f"view[{at}]: the text of a later result is in no message of the history"


def _is_framed(frame: Frame, message: Shape, number: int) -> bool:
    known = message.answers[number][0].removeprefix("function:").removesuffix("()")
    is_named = shares(frame.named, known) or not frame.named
    texts = _texts(message, number)
    return is_named and (not texts or "[ref:" in frame.text or shares(frame.text, texts[0]))


def _newest(case: Case) -> Iterator[str]:
    """Check that the newest message is last. A result may stay with its call if only the user spoke between."""
    others = (each for each in reversed(case.view) if not (each.is_system or each.is_reasoning))
    last = next((each for each in others if not _is_filler(case, each)), None)
    allowed = list(_newest_of(case))
    if allowed and last is not None and not any(_shows(last, case.history[at]) for at in allowed):
        yield f"the newest message, history[{case.history[allowed[0]].place}], is not the newest of the view"


def _newest_of(case: Case) -> Iterator[int]:
    """Yield the messages that may be last: the newest, and what is before it where it moves up or was injected."""
    call: int | None = None  # behind it everything may be last: its results move up
    for at in reversed(range(len(case.history))):
        message = case.history[at]
        if call is not None and at <= call:
            return
        if not _is_shown(message):
            continue
        yield at
        if message.results and message.rest is None and not _is_late(case, at, 0):
            call = min(call or at, case.rounds.call_of[at, 0])
        elif call is None and not is_injected(message.held):
            return


def _is_shown(message: Shape) -> bool:
    return not (message.is_system or message.is_nothing or message.is_reasoning or message.held.get("ephemeral"))


def _is_filler(case: Case, message: Shape) -> bool:
    """Return whether a message holds only results that the history has not, or a line that says what is left out."""
    if not message.results or message.rest is not None or message.calls:
        return message.is_summary
    return all(
        known not in case.answered or is_placeholder("\n".join(said_in(content))) for known, content in message.answers
    )


def _shows(shown: Shape, original: Shape) -> bool:
    if original.calls:
        return bool({call.id for call in shown.calls} & {call.id for call in original.calls})
    if original.results and original.rest is None:
        return bool(set(shown.results) & set(original.results)) or _frames_of(shown, original)
    if original.is_item and original.role == "assistant":
        return shown.is_item or shown.role == "assistant"
    if shown.rest is not None and original.rest == shown.rest:
        return True
    return represents(shown, original) or any(f"[ref:{original.place}{end}" in shown.text for end in ".]")


def _frames_of(shown: Shape, original: Shape) -> bool:
    return any(frame.place == original.place for frame in shown.frames)


def _is_late(case: Case, at: int, number: int) -> bool:
    """Return whether a result cannot follow its call: it is the second one, came late, or has no call."""
    return (at, number) not in case.timely


def _texts(message: Shape, number: int) -> list[str]:
    return [text for text in said_in(message.answers[number][1]) if text.strip()]


def _first_result(case: Case, known: str) -> str | None:
    for at, message in enumerate(case.history):
        for number, (answered, _) in enumerate(message.answers):
            if answered == known and not _is_late(case, at, number):
                return next(iter(_texts(message, number)), None)
    return None


RULES = (
    Rule("lost", _lost, ("second_result", "late_result", "unknown_call"), is_kept=False),
    Rule("moved", _moved, ("second_result", "late_result")),
    Rule("frames", _frames, ("second_result", "late_result", "unknown_call")),
    Rule("newest", _newest, ("late_result", "second_result")),
)
