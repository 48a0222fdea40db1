"""A session of twice the length costs twice as much: texts are counted once, and the transcript is never rewritten.

No clocks: what is counted are the characters that a tokenizer is given, and the bytes that reach the file.
"""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from backscroll.integrations.amplifier.context import AmplifierContext
from backscroll.integrations.amplifier.hooks import Signals
from backscroll.integrations.amplifier.settings import read_settings
from backscroll.integrations.amplifier.transcript import TranscriptFile
from tests.fakes import CountingTokenizer
from tests.long_run import usually

Message = dict[str, Any]
BUDGET = 8_000


class Counted(TranscriptFile):
    """Remembers how many bytes each message had written. An append adds to the file, a replacement writes all of it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.written: list[int] = []

    def _size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def append(self, messages: Iterable[Message]) -> None:
        before = self._size()
        super().append(messages)
        self.written.append(self._size() - before)

    def replace(self, messages: Iterable[Message]) -> None:
        super().replace(messages)
        self.written.append(self._size())


def exchange(number: int) -> list[Message]:
    """A call and its result as loops write them; every tenth time a user speaks first."""
    call = {"id": f"call_{number}", "tool": "read_file", "arguments": {"path": f"src/part_{number}.py"}}
    block = {"type": "tool_call", "id": call["id"], "name": call["tool"], "input": call["arguments"]}
    text = "\n".join(f"{line:>4}  part_{number}.value_{line} = window({line * number})" for line in range(30))
    said = [{"role": "user", "content": f"Now part {number}."}]
    return [
        *(said if number % 10 == 0 else []),
        {"role": "assistant", "content": [block], "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "name": "read_file", "content": text},
    ]


def play(messages: int, transcript: TranscriptFile | None = None) -> CountingTokenizer:
    """So many messages, a view after each."""
    counting = CountingTokenizer()
    options = {**read_settings({}).options, "tokenizer": counting}

    async def session() -> None:
        context = AmplifierContext(Signals(None), options, transcript)
        stream = (message for number in range(messages) for message in exchange(number))
        for _ in range(messages):
            await context.add_message(next(stream))
            await context.get_messages_for_request(token_budget=BUDGET)
        assert len(await context.get_messages()) == messages
        assert context.usage("main").compactions > messages // 60
        await context.aclose()

    asyncio.run(session())
    return counting


@pytest.mark.long
def test_twice_the_messages_are_twice_the_characters_to_count():
    """Once the hand-over fills its room, which it does after some 1,500 of these messages."""
    once, twice = play(2_000).characters, play(4_000).characters
    assert twice <= 2.2 * once


@pytest.mark.parametrize("messages", usually([300, 600], 1))
def test_message_costs_the_transcript_only_its_own_bytes(tmp_path, messages):
    """A message writes itself to the transcript and nothing more however long that is."""
    file = Counted(tmp_path / "transcript.jsonl")
    play(messages, file)
    assert len(file.written) == messages
    assert sum(file.written) == file.path.stat().st_size
    assert sum(file.written[-messages // 3 :]) <= 1.05 * sum(file.written[messages // 3 : 2 * messages // 3])
