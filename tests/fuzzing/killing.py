"""Sessions whose processes are killed again and again: `python -m tests.fuzzing.killing FOLDER SESSIONS SEED`.

The vocabulary is loaded before the first fork, so that a life of a few milliseconds counts and writes as a long one.
What a session says follows from its name and the number of the round.
"""

import json
import os
import random
import shutil
import signal
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

from backscroll import BudgetError, ContextManager, StorageOptions
from backscroll.stores.addresses import open_store
from tests.builders import DIALECTS
from tests.fuzzing.judge import Message, Shown, shown, taken
from tests.fuzzing.talking import Story

LEAST = 500
"""Messages that must have been acknowledged in a session before it is left alone."""
BUDGET = 2_000
Round = list[Message]


class Session:
    """One session, and what it is to hold."""

    def __init__(self, folder: Path, number: int, seed: int) -> None:
        self.name = f"{seed} {number}"
        self.chance = random.Random(self.name)
        self.dialect = self.chance.choice(DIALECTS)
        kind, durability = self.chance.choice(("sqlite", "sqlite", "jsonl")), self.chance.choice(("full", "normal"))
        self.place = place = folder / f"{number}"
        place.mkdir()
        self.address = f"{kind}:///{place / 'a.db'}?durability={durability}"
        self.more: dict[str, Any] = self.chance.choice(
            (
                {},
                {},
                {"storage": StorageOptions(blob_store=place / "blobs", blob_threshold_bytes=400)},
                {"storage": StorageOptions(encryption_key=bytes(32))},
            )
        )

        self.rounds = self._rounds()

    def _rounds(self) -> list[Round]:
        """Everything that it will ever say, in pieces that are stored whole or not at all."""
        story = Story(self.dialect, random.Random(self.name))
        said = [[story.talk.say("user", "begin")]]
        while sum(map(len, said)) < LEAST + 60:
            said.append(story.something())
        return said

    def opened(self) -> ContextManager:
        return ContextManager(session="s", store=self.address, budget=BUDGET, clear_at_least_tokens=150, **self.more)

    def live(self, pipe: int) -> None:
        """Goes on where the store stands, for as long as it lives; tells of each message that was acknowledged."""
        warnings.simplefilter("ignore")  # what a small digest has no room for is no matter here
        context, done = self.opened(), 0
        there = len(context.get_messages())
        for number, messages in enumerate(self.rounds):
            done += len(messages)
            if done <= there:
                continue
            context.append(*messages, idempotency_key=f"round {number}")
            os.write(pipe, f"{done}\n".encode())
            if number % 3 == 0:
                with suppress(BudgetError):  # where what is pinned has no room any more
                    context.get_messages_for_request(token_budget=(BUDGET, 1_200)[number % 2])
        context.close()

    def killed(self, acknowledged: int, seconds: float) -> int:
        """Messages that a life had acknowledged when it was killed: so long after so many, or at its end."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                self.live(writing)
            except BaseException as error:
                sys.stderr.write(f"{type(error).__name__}: {error}\n")
                sys.stderr.flush()
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            lines = [line for _, line in zip(range(acknowledged), pipe, strict=False)]
            time.sleep(seconds)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            lines += pipe.readlines()
        return max((int(line) for line in lines if line.endswith(b"\n")), default=0)

    def wrong(self, acknowledged: int) -> list[str]:
        """What is not as it should be after a kill."""
        said = self.rounds
        ends = {sum(map(len, said[:number])) for number in range(len(said) + 1)}
        everything = [message for messages in said for message in messages]
        context = self.opened()
        kept = context.get_messages()
        found = [] if len(kept) >= acknowledged else [f"{acknowledged - len(kept)} messages are lost"]
        if kept != everything[: len(kept)]:
            found.append("a message is not as it was")
        if len(kept) not in ends:
            found.append(f"a round is there by half: {len(kept)} messages")
        if kept:
            story = Story(self.dialect, random.Random(0))
            story.took(kept, len(kept) - 1)
            view = context.get_messages_for_request(token_budget=BUDGET * 50)
            found += taken(view, self.dialect) + shown(view, story.kept, Shown(story.pinned))
        context.close()
        store: Any = open_store(self.address)
        found += [str(problem) for problem in store.verify() if not problem.harmless]
        store.close()
        return found


def lives(session: Session) -> tuple[int, int, list[str]]:
    """How often a session was killed, what it had acknowledged, and what was wrong."""
    kills = acknowledged = 0
    chance = session.chance
    while acknowledged < LEAST:
        many = chance.choice((0, 20, 600, 600))
        acknowledged = max(acknowledged, session.killed(chance.randint(0, many), chance.random() * 0.03))
        kills += 1
        if found := session.wrong(acknowledged):
            return kills, acknowledged, [f"session {session.name}, kill {kills}: {each}" for each in found]
    return kills, acknowledged, []


def main(folder: str, sessions: str, seed: str) -> None:
    warnings.simplefilter("ignore")
    ContextManager().append({"role": "user", "content": "the vocabulary is loaded by this"})
    told: dict[str, Any] = {"sessions": 0, "kills": 0, "acknowledged": 0, "wrong": []}
    for number in range(int(sessions)):
        session = Session(Path(folder), number, int(seed))
        kills, acknowledged, wrong = lives(session)
        if not wrong:
            shutil.rmtree(session.place)
        told["sessions"] += 1
        told["kills"] += kills
        told["acknowledged"] += acknowledged
        told["wrong"] += wrong
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
