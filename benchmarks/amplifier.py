"""CPU of whole Amplifier sessions of growing length, beside a context that recounts its history. Prints a table.

    python benchmarks/amplifier.py [--transcripts FOLDER] [--messages 1250,2500,5000] [--budget 32000] [--patience 20]

Messages are added one by one, and after each the view is asked for, through the context that `mount()` put into a
coordinator of the kernel; `once` is the same with a single view at the end, as after a resume. A session of twice the
length must take twice the time. The comparison does what a context
does that remembers no count: for each request it walks the history anew, four characters to a token, and drops the
oldest messages. It gets the same messages, and is given up where it has used its `--patience`, in seconds. Messages
come from the same place as those of `sessions.py`, in Amplifier's shape.
"""

import argparse
import asyncio
import gc
import json
import time
from itertools import islice
from pathlib import Path
from typing import Any

from amplifier_core.testing import MockCoordinator
from sessions import endless, source

from amplifier_module_context_backscroll import mount

Message = dict[str, Any]


class Recounting:
    """Keeps the list of messages and nothing else; every request starts from it."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    async def add_message(self, message: Message) -> None:
        """At the end of the list."""
        self.messages.append(message)

    async def get_messages_for_request(self, token_budget: int) -> list[Message]:
        """The newest messages that fit, calls with their results."""
        sizes = [len(str(message)) // 4 for message in self.messages]
        used, first = sum(sizes), 0
        while used > token_budget or (first < len(sizes) and self.messages[first]["role"] == "tool"):
            used, first = used - sizes[first], first + 1
        return [dict(message) for message in self.messages[first:]]


def amplifier(message: Message) -> Message:
    """The message as Amplifier's loops write it."""
    if message["role"] != "assistant":
        return message
    text = [{"type": "text", "text": message["content"]}] if message["content"] else []
    calls = [
        {"id": call["id"], "tool": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"])}
        for call in message.get("tool_calls", ())
    ]
    blocks = [{"type": "tool_call", "id": c["id"], "name": c["tool"], "input": c["arguments"]} for c in calls]
    return {"role": "assistant", "content": text + blocks} | ({"tool_calls": calls} if calls else {})


async def run(
    context: Any, messages: list[Message], budget: int, patience: float = float("inf"), *, once: bool = False
) -> tuple[float, int]:
    """CPU seconds of a session, and how many messages it got to; with a view after each message, or `once`."""
    gc.collect()
    start, done, spent = time.process_time(), 0, 0.0
    while done < len(messages) and spent < patience:
        await context.add_message(messages[done])
        done += 1
        if not once or done == len(messages):
            await context.get_messages_for_request(token_budget=budget)
        spent = time.process_time() - start
    return spent, done


async def ours(messages: list[Message], budget: int, *, once: bool = False) -> float:
    """CPU seconds of Backscroll, mounted by the kernel's means."""
    coordinator = MockCoordinator()
    cleanup = await mount(coordinator, {})
    spent, _ = await run(coordinator.get("context"), messages, budget, once=once)
    await cleanup()
    return spent


def main() -> None:
    """Prints one row for each length."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--transcripts", type=Path)
    arguments.add_argument("--messages", default="1250,2500,5000")
    arguments.add_argument("--budget", type=int, default=32_000)
    arguments.add_argument("--patience", type=float, default=20.0)
    given = arguments.parse_args()
    stream, first = source(given.transcripts), 0.0
    head = f"{'messages':>9} {'once s':>7} {'CPU s':>7} {'to first':>9} {'recounting s':>13} {'ratio':>7}"
    print(f"{head}   (budget {given.budget:,})")
    for length in map(int, given.messages.split(",")):
        messages = [amplifier(message) for message in islice(endless(stream), length)]
        once = asyncio.run(ours(messages, given.budget, once=True))
        spent = asyncio.run(ours(messages, given.budget))
        theirs, done = asyncio.run(run(Recounting(), messages, given.budget, given.patience))
        first = first or spent
        more, at = ("> ", f"   given up at {done:,}") if done < length else ("", "")
        shown = f"{more}{theirs:.2f}", f"{more}{theirs / spent:.1f}"
        print(f"{length:>9,} {once:>7.2f} {spent:>7.2f} {spent / first:>9.2f} {shown[0]:>13} {shown[1]:>7}{at}")


if __name__ == "__main__":
    main()
