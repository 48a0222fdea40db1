"""Long conversations of odd situations and usual rounds, at a budget that compacts: one walk for all adapters."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Any

from backscroll.integrations.conversation import Conversation, ModelCall
from tests.integrations import odd_histories as odd
from tests.integrations.odd_histories import Called, Returned, Said, Served, Situation, Step, Thought

BUDGET = 3_000
_MARK = re.compile(r"\bw(\d)x")
_LINES = "".join(f"row {number} of the report says nothing new\n" for number in range(40))


def walk(
    conversation: Conversation[Any],
    built: Callable[[Step], Iterable[Any]],
    send: Callable[[list[Any]], str],
    *,
    without: Sequence[str],
    seed: int,
    lane: str,
    turns: int = 36,
) -> None:
    """Let a framework's history grow, and send a view after each turn.

    Args:
        conversation: The conversation.
        built: Builds the framework's messages of a step.
        send: Sends messages to a fake, which raises if it refuses them. Returns the text of the request.
        without: Beginnings of names of situations that the framework cannot hold.
        seed: Chooses the situations.
        lane: The name of the model.
    """
    chance, history = Random(seed), list[Any]()
    for number in range(turns):
        for part, turn in enumerate(_turns(chance, number, without)):
            history += [message for step in turn for message in built(step)]
            before = list(history)
            sent = send(conversation.view_now(history, ModelCall(BUDGET, lane, first=part == 0)))
            assert all(one is other for one, other in zip(history, before, strict=True))
            missing = [word for word in _words(turn) if word not in sent]
            assert missing == [], f"seed {seed}, turn {number}: what is newest was not sent"
            history += built(Said(f"Answer {number}.{part}.", "assistant"))
    assert conversation.usage(lane).compactions > 2


def _turns(chance: Random, number: int, without: Sequence[str]) -> Iterator[list[Step]]:
    """Yield the steps of each run: of a situation, or of a usual round with a long result."""
    if chance.random() < 0.4:
        call = f"r{number}"
        yield [Said(f"w{number}q Read on."), Called((call,)), Returned(call, f"w{number}r\n{_LINES}")]
        return
    situation: Situation = chance.choice(odd.situations(without=without))
    for turn in situation.turns:
        steps = [_renamed(step, number) for step in turn.steps]
        yield [*steps, *([] if turn.prompt is None else [Said(turn.prompt)])]


def _renamed(step: Step, number: int) -> Step:
    """Give a step calls and words that no other turn has."""
    if isinstance(step, Called):
        return step._replace(ids=tuple(f"{known}_{number}" for known in step.ids))
    if isinstance(step, Said):
        return step._replace(words=_marked(step.words, number))
    if isinstance(step, Returned):
        value = _marked(step.value, number) if isinstance(step.value, str) else step.value
        return Returned(f"{step.id}_{number}", value, _marked(step.also, number))
    assert isinstance(step, Thought | Served)
    return step._replace(id=f"{step.id}_{number}")


def _marked(words: str, number: int) -> str:
    return _MARK.sub(rf"w{number}y\1", words)


def _words(turn: Iterable[Step]) -> Iterator[str]:
    """Yield the marks of the newest step."""
    newest = list(turn)[-1]
    text = newest.words if isinstance(newest, Said) else newest.value if isinstance(newest, Returned) else ""
    yield from re.findall(r"\bw\d+[qry]\d?", str(text))
