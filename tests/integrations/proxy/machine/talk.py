"""A client's conversation: its history, each message in the spelling in which it is always sent."""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from tests.integrations.proxy.machine.apis import Api, Message, dumped, unmarked

NAME = re.compile(r"k\d+k")
_SPELLINGS = ((", ", ": "), (",", ":"), (" ,", " : "), (",\n", ":\t"))
MARK = {"cache_control": {"type": "ephemeral"}}


class Turn(NamedTuple):
    """What one side said at once."""

    is_of_user: bool
    messages: tuple[Message, ...]


class Request(NamedTuple):
    """A request as it is sent."""

    head: str
    texts: list[str]
    tail: str
    messages: list[Message]
    system: str

    @property
    def body(self) -> bytes:
        """Its bytes."""
        return f"{self.head}[{', '.join(self.texts)}]{self.tail}".encode()


class Talk:
    """A conversation. Copies share what was said so far.

    Args:
        api: Its API.
        session: The client's own id. `None`: it sends none.
        model: The name of the model.
        marks: Whether the client marks its newest message for a cache.
    """

    def __init__(self, api: Api, session: str | None, model: str, *, marks: bool) -> None:
        self.api, self.session, self.model, self.marks = api, session, model, marks
        self.system = "Be kind and brief, d\u00e9j\u00e0 vu."
        self.tools = 2
        self.thinking: dict[str, Any] = {}
        self.turns: list[Turn] = []

    def branch(self, turns: Sequence[Turn]) -> "Talk":
        """The same client, which goes on in another way."""
        found = Talk(self.api, self.session, self.model, marks=self.marks)
        found.system, found.tools, found.thinking = self.system, self.tools, self.thinking
        found.turns = list(turns)
        return found

    @property
    def history(self) -> list[Message]:
        """All messages but the system prompt."""
        return [message for turn in self.turns for message in turn.messages]

    @property
    def is_users_turn(self) -> bool:
        """Whether the newest turn is the model's."""
        return not self.turns or not self.turns[-1].is_of_user

    def waiting(self) -> list[str]:
        """The calls that wait for their results."""
        return self.api.calls(list(self.turns[-1].messages)) if self.turns and self.is_users_turn else []

    def user(self, messages: Sequence[Message]) -> None:
        """Add what the user or the tools say."""
        self.turns.append(Turn(True, tuple(messages)))

    def model_says(self, messages: Sequence[Message]) -> None:
        """Add what the model says."""
        self.turns.append(Turn(False, tuple(messages)))

    def drop_reasoning(self, since: int = 0) -> None:
        """Send no reasoning of these turns any more, as a client does after an edit."""
        for at in range(since, len(self.turns)):
            left = [self.api.without_reasoning(message) for message in self.turns[at].messages]
            self.turns[at] = Turn(self.turns[at].is_of_user, tuple(message for message in left if message))

    def request(self, **more: Any) -> Request:
        """The request for the next answer."""
        messages = [*self.api.prompt(self.system), *self.history]
        if self.marks:
            messages[-1] = marked(messages[-1])
        fields = {"model": self.model, **self.api.outside(self.system, self.tools), **self.thinking, **more}
        before = json.dumps({key: fields[key] for key in list(fields)[:1]}, separators=(" , ", " : "))
        after = json.dumps({key: fields[key] for key in list(fields)[1:]}, ensure_ascii=False)
        head, tail = f'{before[:-1]}, "{self.api.key}" : ', f", {after[1:]}\n"
        return Request(head, list(map(spelled, messages)), tail, messages, self.system)


def marked(message: Message) -> Message:
    """A message with a mark on its last block."""
    *blocks, last = message["content"]
    return {**message, "content": [*blocks, {**last, **MARK}]}


def spelled(message: Message) -> str:
    """A message as JSON: how depends on what it says, so it is the same each time, with a mark or without."""
    number = sum(dumped(unmarked(message)).encode())
    text = json.dumps(message, separators=_SPELLINGS[number % 4], ensure_ascii=bool(number % 3))
    return text.replace('"role"', '"\\u0072ole"', 1) if number % 5 == 0 else text


def names_in(value: Any) -> set[str]:
    """The names in a text or in messages: each message has one of its own."""
    return set(NAME.findall(value if isinstance(value, str) else json.dumps(value)))
