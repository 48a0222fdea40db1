"""Sessions that are the same in every run, with everything that moves a view. No tests live here."""

import json
import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from backscroll import BudgetError, ContextManager, Protection, ToolResultPreview
from backscroll.stores.memory import MemoryStore
from tests.builders import MessageFactory
from tests.frozen.renames import formerly

BUDGETS = (1_500, 6_000, 24_000)
SEEDS = range(20)
ROUNDS = 36
VARIANTS: tuple[dict[str, Any], ...] = (
    {},
    {"tool_result_preview": ToolResultPreview(threshold_tokens=300, preview_tokens=120)},
    {"max_messages": 24, "protect": Protection(results=2)},
    {"strategies": ["deduplicate", "clear", "importance"], "protect": Protection(first=2)},
    {"strategies": ["excerpt", "truncate"], "protect": Protection(last=3)},
)


def count(text: str) -> int:
    """Tokens of a text, by no vocabulary: a quarter of its characters."""
    return -(-len(text) // 4)


@dataclass
class Frozen:
    """What a session showed, said and stored."""

    views: list[Any] = field(default_factory=list)
    events: list[Any] = field(default_factory=list)
    stored: list[Any] = field(default_factory=list)

    def hashes(self) -> dict[str, str]:
        """A hash of each, with the names of before the renames; what is stored was renamed nowhere."""
        return {
            "views": _hash(formerly(self.views)),
            "events": _hash(formerly(self.events)),
            "stored": _hash(self.stored),
        }


def _hash(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True, default=repr).encode()).hexdigest()[:16]


def frozen(dialect: str, seed: int, budget: int) -> Frozen:
    """Works through a session and keeps what came of it."""
    chance, found, store = random.Random(f"{dialect}/{seed}"), Frozen(), MemoryStore()
    manager = ContextManager(
        session="frozen",
        store=store,
        tokenizer=count,
        budget=budget,
        clear_at_least_tokens=budget // 8,
        on_event=lambda name, payload: found.events.append([name, payload]),
        **VARIANTS[seed % len(VARIANTS)],
    )
    work = Work(MessageFactory(dialect), chance)
    manager.append(work.talk.say("system", "You are brief."), work.talk.say("user", "Never edit prod.yaml. Begin."))
    for number in range(ROUNDS):
        manager.append(*work.messages(number))
        with suppress(BudgetError):
            steer(manager, number, chance)
        lane = "small" if number % 11 == 7 else "main"
        try:
            view = manager.get_messages_for_request(lane=lane)
        except BudgetError:
            view = ["too small"]  # type: ignore[list-item]  # not a view: it stands for one
        else:
            if seed % 3 == 0:
                tokens = round(150 + 1.1 * sum(count(json.dumps(message)) for message in view))
                manager.observe_usage(input_tokens=tokens, lane=lane)
        found.views.append(view)
    found.views += [manager.history(at=20), manager.view(at=20), [line.state for line in manager.explain()]]
    found.views += [str(manager.recall(query=query)) for query in ("value_7", "m3.py", "Traceback")]
    manager.close()
    for each in store.read("frozen"):
        record = each.record
        found.stored.append([record.kind, record.seq, record.body.decode(), record.format, record.key])
    return found


def steer(manager: ContextManager, number: int, chance: random.Random) -> None:
    """Does now and then what a user does between requests."""
    newest = manager.append()
    match number % 18:
        case 3:
            manager.pin(chance.randrange(newest))
        case 8:
            manager.rewind(newest - 4)
        case 11:
            manager.compact()
        case 13:
            manager.trim(keep_last=12, fraction=0.5)
        case 14:
            manager.undo_compaction()
        case 16:
            manager.set_system_prompt_factory(lambda: f"It is round {number}.")


class Work:
    """The messages of an agent at work, round by round."""

    def __init__(self, talk: MessageFactory, chance: random.Random) -> None:
        self.talk, self._chance = talk, chance
        self._late: list[tuple[str, str]] = []

    def messages(self, number: int) -> list[dict[str, Any]]:
        """Those of one round."""
        talk, chance = self.talk, self._chance
        late, self._late = talk.results(self._late) if self._late else [], []
        kind = chance.choice(["call", "call", "call", "call", "say", "picture", "rule", "note"])
        if kind == "call":
            return [*late, *self._calls(number)]
        said = talk.say("assistant", f"Round {number}. " + "It is done. " * chance.randrange(1, 40))
        asked = {
            "say": talk.say("user", f"And value_{number}? " + "Look there. " * chance.randrange(1, 60)),
            "picture": talk.picture(f"See picture {number}."),
            "rule": talk.say("user", f"Always keep m{number}.py as it is."),
            "note": talk.say("user", f"It is {number} o'clock.", {"ephemeral": True}),
        }
        return [*late, said, asked[kind]]

    def _calls(self, number: int) -> list[dict[str, Any]]:
        chance = self._chance
        ids = [f"c{number}_{place}" for place in range(chance.choice([1, 1, 2, 3]))]
        path = f"src/m{chance.randrange(6)}.py"
        answered = [(name, "\n".join(self._lines(number))) for name in ids]
        if chance.random() < 0.15:
            self._late = [answered.pop()]
        return [
            self.talk.call(ids, f"I read {path}.", {"path": path}),
            *(self.talk.results(answered) if answered else []),
        ]

    def _lines(self, number: int) -> Iterator[str]:
        chance = self._chance
        for line in range(chance.choice([3, 10, 40, 150])):
            yield chance.choice(
                [
                    f"value_{number} = {chance.randrange(10**5)}",
                    f"def step_{line}(path, value_{chance.randrange(number + 1)}):",
                    f'{{"id": "job-{chance.randrange(99)}", "state": "{chance.choice(["ok", "failed"])}"}}',
                    f"2026-01-{line % 28 + 1:02} 10:00:00 INFO worker {chance.randrange(9)} took {line} ms",
                    "Traceback (most recent call last):",
                    f"src/m{chance.randrange(6)}.py:{line}: error: no such name",
                    "",
                ]
            )
