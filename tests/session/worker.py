"""An agent at work on a stored session, with everything that moves a view."""

import json
import random
from hashlib import sha256
from typing import Any

from backscroll import ContextManager
from tests.builders import MessageFactory
from tests.fakes import count_quarter

OPTIONS: dict[str, Any] = {
    "tokenizer": count_quarter,
    "budget": 2_000,
    "clear_at_least_tokens": 150,
    "overhead_tokens": 0,
}


def stored(view: list[dict[str, Any]], hashes: dict[str, Any]) -> list[dict[str, Any]]:
    """A view as it can be known afterwards: what was never stored as its hash."""
    return [
        {"role": message["role"], "ephemeral": hashes[text]} if (text := json.dumps(message)) in hashes else message
        for message in view
    ]


class Worker:
    """Works at a session as an agent does, with everything that moves a view, and notes what was sent."""

    options = OPTIONS

    def __init__(self, dialect: str, store: Any, seed: int = 7) -> None:
        self.talk, self.store, self.chance = MessageFactory(dialect), store, random.Random(seed)
        self.sent, self.passing, self.lasts, self.number, self.pinned = [], {}, [], 0, 1
        self.manager = ContextManager(session="s", store=store, **self.options)
        self.manager.append(self.talk.say("system", "Be brief."), self.talk.say("user", "Never touch prod.yaml."))

    def restart(self) -> None:
        self.manager.close()
        self.manager = ContextManager(session="s", store=self.store, **self.options)

    def add(self) -> None:
        name, talk = f"c{self.number}", self.talk
        call, text = talk.call([name], "I look.", {"path": f"m{name}.py"}), f"{name} = 1\n" * self.chance.randint(5, 60)
        results = talk.results([(name, text)])
        kind = self.number % 12
        if kind == 3:
            self.manager.append(call, talk.say("user", "Stop that."))  # which leaves the call unanswered
        elif kind == 7:
            note = talk.say("user", f"It is {self.number} o'clock.", {"ephemeral": True})
            self.passing[json.dumps(note)] = sha256(json.dumps(note).encode()).hexdigest()
            self.manager.append(call, *results, note)
        elif kind == 9:
            self.manager.append(talk.say("assistant", "Done " * 20), talk.say("user", f"And {self.number}?"))
        else:
            self.manager.append(call, *results)

    def step(self) -> None:
        self.number += 1
        self.add()
        self.lasts.append(self.manager.append())
        if self.number % 50 == 0:
            self.manager.unpin(self.pinned)
            self.pinned = self.lasts[-20]
            self.manager.pin(self.pinned)
        if self.number % 130 == 0:
            self.manager.rewind(self.lasts.pop(-30))
            del self.lasts[-29:]
        if self.number % 90 == 0:
            self.manager.set_system_prompt_factory(lambda day=self.number: f"It is day {day}.")  # type: ignore[misc]  # mypy infers no lambda with defaults
        if self.number % 70 == 0:
            self.restart()
        lane = "other" if self.number % 17 == 0 else "main"
        view = self.manager.get_messages_for_request(lane=lane)
        self.sent.append(stored(view, self.passing))
        self.manager.observe_usage(input_tokens=self.counted(view, lane), lane=lane)

    def counted(self, view: list[dict[str, Any]], lane: str) -> int:
        """What the provider says of a view."""
        return self.manager.usage(lane).used.tokens
