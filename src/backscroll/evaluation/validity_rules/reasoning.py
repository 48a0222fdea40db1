"""Reasoning in a view: as it was made, and next to what it led to."""

from collections.abc import Iterator

from backscroll.evaluation.dialects import Shape
from backscroll.evaluation.validity_rules.case import Case, Rule
from backscroll.evaluation.validity_rules.timeline import Key, key_of


def _thoughts(case: Case) -> Iterator[str]:
    """Check that reasoning in blocks is shown as it was made, all or none of a message's."""
    known = {message.thoughts for message in case.history}
    for at, message in enumerate(case.view):
        if message.thoughts and message.thoughts not in known:
            yield f"view[{at}]: the reasoning is in no message of the history"


def _alone(case: Case) -> Iterator[str]:
    """Check that reasoning in items or steps precedes what it led to: OpenAI's servers know which items belong
    together, and a signature of Gemini's Interactions holds for the step behind it.
    """
    led: dict[Key, set[Key]] = {}
    history, view = case.history, case.view
    for message, after in zip(history, [*history[1:], None], strict=False):
        if message.is_reasoning:
            led.setdefault(message.sameness, set()).update(_led_to(message, after))
    for at, (message, following) in enumerate(zip(view, [*view[1:], None], strict=False)):
        if message.has_steps and message.held["content"][-1].get("type") == "thought":
            yield f"view[{at}]: a thought without the step that followed it"
        if not message.is_reasoning:
            continue
        if message.sameness not in led:
            yield f"view[{at}]: the reasoning is in no message of the history"
        elif following is None or key_of(following) not in led[message.sameness]:
            yield f"view[{at}]: reasoning without the item that followed it"


def _led_to(message: Shape, after: Shape | None) -> list[Key]:
    """Return the key of what the model made behind its reasoning, in the same response or in the next one."""
    return [key_of(after)] if after is not None and after.is_made and message.is_made else []


def _demanded(case: Case) -> Iterator[str]:
    """Check that an item which a server knows by its id has the reasoning before it that it was made with."""
    demands: dict[str, set[Key | None]] = {}
    before: Key | None = None
    history = case.history
    for at, message in enumerate(history):
        before = before if at and history[at - 1].whole is message.whole else None
        if message.is_reasoning:
            before = message.sameness
        elif message.is_made and message.item_id:
            demands.setdefault(message.item_id, set()).add(before)
    run: set[Key] = set()
    for at, message in enumerate(case.view):
        run = run if message.is_made else set()
        if message.is_reasoning:
            run.add(message.sameness)
        elif message.is_made and message.item_id:
            needed = demands.get(message.item_id, {None})
            if None not in needed and not needed & run:
                yield f"view[{at}]: {message.item_id!r} without its reasoning"


RULES = (
    Rule("thoughts", _thoughts),
    Rule("reasoning-alone", _alone, ("reasoning_alone",), is_kept=False),
    Rule("demanded", _demanded, is_kept=False),
)
