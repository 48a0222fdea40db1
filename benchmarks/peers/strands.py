"""Strands Agents: its managers on a real Agent, by the events of its hooks; and its session in files."""

import re
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from strands import Agent
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.hooks.events import BeforeModelCallEvent, MessageAddedEvent
from strands.models.model import Model
from strands.session.file_session_manager import FileSessionManager

from peers.base import SUMMARY, Keeper, Message, Peer, arguments_of, assistant, call, calls_of, plain, result
from peers.exact import of_message
from peers.stand_in import first_lines, nearest, summary

_REFERENCES = re.compile(r"\[refs?: ([^\]]+)\]")


class Scripted(Model):
    """Answers every request with the same text, or with what is made of the request's own. Counts as Strands does for a
    model that cannot count.
    """

    def __init__(self, budget: int, answer: Callable[[str], str] = lambda _: SUMMARY) -> None:
        self.answer = answer
        self.config = {"model_id": "scripted", "context_window_limit": budget}

    def update_config(self, **given: Any) -> None:
        """As the interface has it."""
        self.config.update(given)

    def get_config(self) -> Any:
        """As the interface has it."""
        return self.config

    async def structured_output(self, *given: Any, **named: Any) -> AsyncIterator[Any]:  # type: ignore[override]  # not asked for
        """Is never asked for."""
        raise AssertionError("no structured output in a benchmark")
        yield

    async def stream(self, messages: Any, *given: Any, **named: Any) -> AsyncIterator[Any]:
        """The text, in the events of one message."""
        asked = "\n".join(block.get("text", "") for message in messages for block in message["content"])
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": self.answer(asked)}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def read(message: Message) -> Any:
    """One message of Strands."""
    text = plain(message.get("content"))
    if message["role"] == "tool":
        block = {"toolUseId": message["tool_call_id"], "status": "success", "content": [{"text": text or " "}]}
        return {"role": "user", "content": [{"toolResult": block}]}
    blocks: list[dict[str, Any]] = [{"text": text}] if text else []
    for known, name, arguments in calls_of(message):
        blocks.append({"toolUse": {"toolUseId": known, "name": name, "input": arguments_of(arguments)}})
    return {"role": message["role"], "content": blocks}


def written(message: Any) -> list[Message]:
    """A message of Strands in OpenAI chat; results of one message are messages there."""
    text = "\n".join(block["text"] for block in message["content"] if "text" in block)
    if message["role"] == "assistant":
        uses = [block["toolUse"] for block in message["content"] if "toolUse" in block]
        return [assistant(text, [call(use["toolUseId"], use["name"], use["input"]) for use in uses])]
    found = [block["toolResult"] for block in message["content"] if "toolResult" in block]
    answers = [result(one["toolUseId"], plain(one["content"])) for one in found]
    return answers + ([{"role": message["role"], "content": text}] if text else [])


class _Strands(Peer):
    package = "strands-agents"
    agent: Any

    def __init__(self, budget: int, folder: Path) -> None:
        self.system: list[Message] = []

    def read(self, message: Message) -> Any:
        return message if message["role"] == "system" else read(message)

    async def add(self, native: Any) -> None:
        if native["role"] == "system":
            self.system.append(native)
            return
        messages = self.agent.messages
        if messages and messages[-1]["role"] == native["role"]:
            messages[-1]["content"] += native["content"]  # its loop puts the results of a turn into one message
        else:
            messages.append(native)
        await self.agent.hooks.invoke_callbacks_async(MessageAddedEvent(agent=self.agent, message=messages[-1]))

    def written(self, view: Sequence[Any]) -> list[Message]:
        return self.system + [one for message in view for one in written(message)]


class SlidingWindow(_Strands):
    """The default of an Agent."""

    name = "Strands, sliding window"
    about = "SlidingWindowConversationManager(), window of 40 messages"
    keeps, where = "its view", "memory"
    budgeted = False

    def __init__(self, budget: int, folder: Path) -> None:
        super().__init__(budget, folder)
        self.window = SlidingWindowConversationManager()
        self.agent = Agent(model=Scripted(budget), conversation_manager=self.window, callback_handler=None)

    async def view(self) -> Sequence[Any]:
        self.window.apply_management(self.agent)
        return list(self.agent.messages)


class Auto(_Strands):
    """The facade."""

    name = 'Strands, context_manager="auto"'
    about = 'Agent(context_manager="auto"), stash in memory, its estimate of tokens, a scripted summary'
    keeps, where = "a stash", "memory"

    def __init__(self, budget: int, folder: Path) -> None:
        super().__init__(budget, folder)
        self.agent = Agent(model=Scripted(budget), context_manager="auto", callback_handler=None)

    async def view(self) -> Sequence[Any]:
        await self.agent.hooks.invoke_callbacks_async(BeforeModelCallEvent(agent=self.agent, invocation_state={}))
        return list(self.agent.messages)

    async def recall(self, query: str) -> tuple[str, dict[str, Any], str] | None:
        shown = [plain(message["content"]) for message in self.written(self.agent.messages)]
        referring = [text for text in shown if _REFERENCES.search(text)]
        if not referring:
            return None
        reference = _REFERENCES.findall(nearest(query, referring))[-1].split(", ")[0]
        found = self.agent.tool.retrieve_context(reference=reference, record_direct_tool_call=False)
        return "retrieve_context", {"reference": reference}, plain(found["content"])


class Counting(Scripted):
    """Counts exactly, as providers that have a counter do, and makes summaries of what it is given."""

    async def count_tokens(self, messages: Any, *given: Any, **named: Any) -> int:
        """Exact tokens of messages of Strands."""
        return sum(of_message(one) for message in messages for one in written(message))


class AutoExactly(Auto):
    """The facade with an exact counter; the scripted model makes summaries of what it is given."""

    about = 'Agent(context_manager="auto"), an exact counter, summaries extracted from what they are made of'

    answer = staticmethod(summary)

    def __init__(self, budget: int, folder: Path) -> None:
        _Strands.__init__(self, budget, folder)
        self.agent = Agent(model=Counting(budget, self.answer), context_manager="auto", callback_handler=None)


class AutoLines(AutoExactly):
    """The same; its summaries have no list of words."""

    name = 'Strands, context_manager="auto", summaries of lines alone'
    answer = staticmethod(first_lines)


class Files(Keeper):
    """A file for each message."""

    name = "Strands, FileSessionManager"
    package = "strands-agents"
    about = "a file for each message, without fsync"
    synced = False

    def __init__(self, folder: Path) -> None:
        self.sessions = FileSessionManager(session_id="bench", storage_dir=str(folder / "strands"))
        self.agent = Agent(model=Scripted(32_000), session_manager=self.sessions, agent_id="a", callback_handler=None)

    def read(self, message: Message) -> Any:
        return (
            {"role": "user", "content": [{"text": message["content"]}]}
            if message["role"] == "system"
            else read(message)
        )

    async def append(self, native: Any) -> None:
        self.sessions.append_message(native, self.agent)

    async def resume(self, budget: int) -> int:
        return len(self.agent.messages)
