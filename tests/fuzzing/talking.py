"""A history as a plain list: what random rounds add to it, and which numbers its messages have. No judging here."""

import json
import random
from collections.abc import Callable
from typing import Any

from tests.builders import MessageFactory
from tests.fuzzing.judge import Message

WORDS = ("fix the bug", "src/app.py", "错误处理", "x = 1\n", "def f():\n    return 1\n", "\ud83d", "🙂 ok", "<summary>")
SIZES = (1, 4, 30, 300, 1_500)


class Story:
    """What a session should hold."""

    def __init__(self, dialect: str, chance: random.Random) -> None:
        self.talk = MessageFactory(dialect)
        self.chance = chance
        self.kept: list[tuple[int, Message]] = []
        """The present branch, with the number of each message."""
        self.pins: dict[int, bool | None] = {}
        """What was pinned and unpinned; None where nobody can tell."""
        self.passing: list[Message] = []
        """Ephemeral messages since the last time that all of them went."""
        self.open: list[str] = []
        """Calls whose results may still come."""
        self.next = self.names = 0

    @property
    def messages(self) -> list[Message]:
        """The messages alone."""
        return [message for _, message in self.kept]

    @property
    def seqs(self) -> list[int]:
        """Their numbers."""
        return [seq for seq, _ in self.kept]

    @property
    def pinned(self) -> frozenset[int]:
        """The messages that stay word for word."""
        flags = {seq: message.get("metadata", {}) for seq, message in self.kept}
        return frozenset(
            seq for seq, said in flags.items() if said.get("critical") or self.pins.get(seq, bool(said.get("pinned")))
        )

    def took(self, messages: list[Message], last: int) -> None:
        """The messages were appended, and the last of them got this number."""
        assert last == self.next + len(messages) - 1, f"number {last}, and not {self.next + len(messages) - 1}"
        self.kept += zip(range(self.next, last + 1), messages, strict=True)
        self.next = last + 1

    def ends(self, behind: int) -> None:
        """The branch ends behind so many messages."""
        del self.kept[behind:]

    def becomes(self, messages: list[Message]) -> None:
        """The branch is these messages: those that it begins with keep their numbers."""
        same = 0
        for message, before in zip(messages, self.messages, strict=False):
            if json.dumps(message) != json.dumps(before):
                break
            same += 1
        self.ends(same)
        if rest := messages[same:]:
            self.took(rest, self.next + len(rest) - 1)

    # -- what is said --

    def name(self) -> str:
        """A name that nothing had before."""
        self.names += 1
        return f"n{self.names}"

    def text(self, sizes: tuple[int, ...] = SIZES) -> str:
        """Some words, or very many."""
        return f"{self.name()} " + (self.chance.choice(WORDS) + " ") * self.chance.choice(sizes)

    def round(self) -> list[Message]:
        """Calls, and some or all of their results; now and then something is said in between."""
        chance = self.chance
        prefix = "same" if chance.random() < 0.1 else self.name()
        ids = [f"{prefix}-{place}" for place in range(chance.choice((1, 1, 2, 3)))]
        call = self.talk.call(ids, self.text((1, 4, 60)), {"path": self.text(), "n": None})
        answered = [(one, self.text()) for one in chance.sample(ids, len(ids))]
        if chance.random() < 0.3:
            del answered[chance.randrange(len(answered)) :]
            self.open += [one for one in ids if one not in {name for name, _ in answered}]
        said = [call]
        if chance.random() < 0.1:
            said.append(self.talk.say("user", f"{self.name()} in between", {"source": "hook"}))
        if len(answered) > 1 and chance.random() < 0.2:
            said += self.talk.results(answered[:1])
            del answered[:1]
        return said + (self.talk.results(answered) if answered else [])

    def late(self) -> list[Message]:
        """A result that was awaited, or that nobody asked for; maybe with words of the user behind it."""
        known = self.open.pop(self.chance.randrange(len(self.open))) if self.open else f"nobody-{self.name()}"
        (message,) = self.talk.results([(known, self.text())])
        if message["role"] == "user" and self.chance.random() < 0.3:
            key = "parts" if "parts" in message else "content"
            message[key] += self.talk.say("user", self.text((1, 4)))[key]
        return [message]

    def said(self) -> list[Message]:
        """Words of one or both."""
        both = [self.talk.say("assistant", self.text()), self.talk.say("user", self.text())]
        return self.chance.choice((both, both, both[:1], both[1:]))

    def flagged(self) -> list[Message]:
        """Words that are to be treated in some way."""
        flags = self.chance.choice(
            ({"pinned": True}, {"critical": True}, {"source": "hook"}, {"ephemeral": True, "persisted": True})
        )
        return [self.talk.say(self.chance.choice(("user", "user", "assistant")), self.text((1, 4, 30)), flags)]

    def odd(self) -> list[Message]:
        """A picture, or a word of the system in the middle."""
        return [self.chance.choice((self.talk.picture(self.text((1, 4))), self.talk.say("system", self.text((1, 4)))))]

    def something(self) -> list[Message]:
        """What comes next."""
        kinds: tuple[Callable[[], list[Message]], ...] = (self.round, self.late, self.said, self.flagged, self.odd)
        return self.chance.choices(kinds, (6, 2, 3, 1, 1))[0]()


def replaced(value: Any, text: str) -> Any:
    """The message with this text in the place of each that it says or brings."""
    if isinstance(value, list):
        return [replaced(item, text) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: text if key in ("text", "content", "output") and isinstance(item, str) else replaced(item, text)
        for key, item in value.items()
    }
