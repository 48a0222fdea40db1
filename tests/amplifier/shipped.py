"""Small re-statements of context modules that Amplifier users have today, from what their documents say they do.

They hold what decides how a session goes: how they count, when they compact, what they take away and in which order.
They are there to be failed with: `test_shipped.py` shows each failure, in the kernel, by the same measures as for ours.
"""

import json
from pathlib import Path
from typing import Any

from amplifier_core import events

Message = dict[str, Any]

MODULES = {
    "context-simple": "tests.amplifier.shipped:mount_simple",
    "context-persistent": "tests.amplifier.shipped:mount_persistent",
    "context-example": "tests.amplifier.shipped:mount_example",
}


def _window(provider: Any, default: int) -> tuple[int, int]:
    """Context window and output of a provider that tells them."""
    known = provider.get_info().defaults if hasattr(provider, "get_info") else {}
    return known.get("context_window", default), known.get("max_output_tokens", 0)


class Simple:
    """Keeps everything in memory and makes each view anew: truncates old tool results, then removes old messages.

    Tokens are a quarter of the characters of a message's `str`. Nothing of a compaction is remembered.
    """

    recent = 0.30

    def __init__(self, config: dict[str, Any], hooks: Any) -> None:
        self.hooks = hooks
        self.max_tokens = config.get("max_tokens", 200_000)
        self.threshold = config.get("compact_threshold", 0.92)
        self.target = config.get("target_usage", 0.50)
        self.results = config.get("protected_tool_results", 5)
        self.chars = config.get("truncate_chars", 250)
        self.messages: list[Message] = []
        self.estimates = 0
        """Messages that were counted, each time anew."""

    def tokens(self, messages: list[Message]) -> int:
        self.estimates += len(messages)
        return sum(len(str(message)) // 4 for message in messages)

    async def add_message(self, message: Message) -> None:
        self.messages.append(message)
        self.size = self.tokens(self.messages)

    async def get_messages(self) -> list[Message]:
        return list(self.messages)

    async def set_messages(self, messages: list[Message]) -> None:
        self.messages = list(messages)

    async def clear(self) -> None:
        self.messages = []

    async def get_messages_for_request(
        self, token_budget: int | None = None, provider: Any | None = None
    ) -> list[Message]:
        window, output = _window(provider, self.max_tokens)
        budget = token_budget or window - output // 2 - 4_096 - 800
        view = [dict(message) for message in self.messages]
        before = self.tokens(view)
        if before > self.threshold * budget:
            self._truncate(view, int(self.target * budget))
            self._remove(view, int(self.target * budget))
            sizes = {"before_tokens": before, "after_tokens": self.tokens(view), "budget": budget}
            counts = {"before_messages": len(self.messages), "after_messages": len(view)}
            await self.hooks.emit(events.CONTEXT_COMPACTION, {**sizes, **counts})
        return view

    def _truncate(self, view: list[Message], target: int) -> None:
        """Shortens tool results from the oldest on; the newest stay as they are, however large."""
        places = [at for at, message in enumerate(view) if message["role"] == "tool"]
        for at in places[: -self.results]:
            if self.tokens(view) <= target:
                return
            text = str(view[at]["content"])
            view[at] = {**view[at], "content": f"{text[: self.chars]} [{len(text)} characters]", "_truncated": True}

    def _remove(self, view: list[Message], target: int) -> None:
        """Removes old messages, calls with the results behind them; of users' messages a stub remains."""
        users = [message for message in view if message["role"] == "user"]
        spared = [id(message) for message in users[:1] + users[-1:]]
        at, end = 0, int(len(view) * (1 - self.recent))
        while at < end and self.tokens(view) > target:
            message, behind = view[at], self._answered(view, at)
            if behind > end:
                break
            if message["role"] == "system" or id(message) in spared:
                at += 1
            elif message["role"] == "user":
                view[at] = self._stub(message)
                at += 1
            else:
                end -= behind - at
                del view[at:behind]
        if self.tokens(view) > target and len(users) > 1:
            view[view.index(users[0])] = self._stub(users[0])

    @staticmethod
    def _answered(view: list[Message], at: int) -> int:
        """The place behind a message and the results of its calls."""
        calls = {call["id"] for call in view[at].get("tool_calls") or ()}
        behind = at + 1
        while behind < len(view) and view[behind].get("tool_call_id") in calls:
            behind += 1
        return behind

    @staticmethod
    def _stub(message: Message) -> Message:
        return {**message, "content": f"{str(message['content'])[:40]}... [shortened]", "_stubbed": True}


class Persistent(Simple):
    """The same with a file of one JSON line a message, which is read for every view."""

    recent = 0.10

    def __init__(self, config: dict[str, Any], hooks: Any) -> None:
        super().__init__(config, hooks)
        self.path = Path(config.get("transcript_path", "transcript.jsonl"))
        self.reads = 0
        self._load()

    def _load(self) -> None:
        self.reads += 1
        self.messages = []
        for line in self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else ():
            try:
                self.messages.append(json.loads(line))
            except ValueError:
                continue  # half a line, from a crash

    def _save(self) -> None:
        self.path.write_text("".join(json.dumps(message) + "\n" for message in self.messages), encoding="utf-8")

    async def add_message(self, message: Message) -> None:
        await super().add_message(message)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(message) + "\n")

    async def get_messages_for_request(
        self, token_budget: int | None = None, provider: Any | None = None
    ) -> list[Message]:
        self._load()
        return await super().get_messages_for_request(token_budget, provider)

    async def set_messages(self, messages: list[Message]) -> None:
        """The file is the truth if it holds anything: what a host restores is a filtered copy."""
        if not self.messages:
            await super().set_messages(messages)
            self._save()

    async def clear(self) -> None:
        await super().clear()
        self._save()


class Example:
    """As in the contract: system messages stay, of the rest the newest that fit in half of the budget."""

    def __init__(self, config: dict[str, Any], hooks: Any) -> None:
        self.hooks = hooks
        self.max_tokens = config.get("max_tokens", 100_000)
        self.threshold = config.get("compaction_threshold", 0.8)
        self.messages: list[Message] = []

    async def add_message(self, message: Message) -> None:
        self.messages.append(message)

    async def get_messages(self) -> list[Message]:
        return list(self.messages)

    async def set_messages(self, messages: list[Message]) -> None:
        self.messages = list(messages)

    async def clear(self) -> None:
        self.messages = []

    @staticmethod
    def tokens(messages: list[Message]) -> int:
        return sum(len(str(message.get("content", ""))) // 4 for message in messages)

    async def get_messages_for_request(
        self, token_budget: int | None = None, provider: Any | None = None
    ) -> list[Message]:
        window, output = _window(provider, self.max_tokens)
        budget = token_budget or window - output - 1_000
        if self.tokens(self.messages) <= self.threshold * budget:
            return list(self.messages)
        told = {"message_count": len(self.messages), "token_count": self.tokens(self.messages)}
        await self.hooks.emit(events.CONTEXT_PRE_COMPACT, told)
        view = self._newest(budget // 2)
        told = {"message_count": len(view), "token_count": self.tokens(view)}
        await self.hooks.emit(events.CONTEXT_POST_COMPACT, told)
        return view

    def _newest(self, target: int) -> list[Message]:
        system = [message for message in self.messages if message["role"] == "system"]
        rest = [message for message in self.messages if message["role"] != "system"]
        at, used = len(rest), self.tokens(system)
        while at > 0 and used < target:
            at -= 1
            used += self.tokens([rest[at]])
        if at > 0 and rest[at]["role"] == "tool":
            at -= 1  # a result needs the call before it
        return system + rest[at:]


async def mount_simple(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    await coordinator.mount("context", Simple(config or {}, coordinator.hooks))


async def mount_persistent(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    await coordinator.mount("context", Persistent(config or {}, coordinator.hooks))


async def mount_example(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    await coordinator.mount("context", Example(config or {}, coordinator.hooks))
