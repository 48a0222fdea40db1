"""An agent of Microsoft's Agent Framework over Backscroll: a real agent and tool, and a scripted model without a key.

    python examples/agent_framework_agent.py [--window 12000]

The model reads files of the package one by one, in a window that holds a few of them, and is then asked for a line of
the first, for which it has the tool `recall`. Needs the extra `agent-framework`.
"""

import argparse
import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
)

from backscroll.integrations.agent_framework import BackscrollProvider

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / "src" / "backscroll").glob("*/*.py"))[:20]
LINE = "def test_an_output_without_a_window"
FIRST = ROOT / "tests" / "tokens" / "test_budget.py"
QUESTION = "In the first file that you read, which test is about an output without a window? Look it up if you must."


def read_file(path: str) -> str:
    """Read a file of this project."""
    return (ROOT / path).read_text(encoding="utf-8")[:8_000]


class ScriptedClient(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """Follows orders by rule instead of thinking: reads what it is told to, and recalls what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.model = "scripted"
        self.requests: list[int] = []
        """The tokens of each request, about four characters each."""

    def _inner_get_response(self, *, messages: Sequence[Message], stream: bool, **_: Any) -> Any:
        self.requests.append(tokens_of(messages))
        contents = [self._answer(messages)]
        return self._build_response_stream(_streamed(contents)) if stream else _whole(contents)

    def _answer(self, messages: Sequence[Message]) -> Content:
        newest = messages[-1]
        if newest.role == "tool":
            lines = str(newest.contents[0].result).splitlines()
            found = [line.strip() for line in lines if LINE in line]
            return Content.from_text(f"It says: {found[0]}" if found else "I have read it.")
        name, given = "recall", {"ref": "2", "pattern": f"^{LINE}"}
        if newest.text.startswith("Read "):
            name, given = "read_file", {"path": newest.text.removeprefix("Read ")}
        return Content.from_function_call(f"call-{len(self.requests)}", name, arguments=json.dumps(given))


async def _whole(contents: list[Content]) -> ChatResponse:
    return ChatResponse(messages=[Message("assistant", contents)])


async def _streamed(contents: list[Content]) -> AsyncIterator[ChatResponseUpdate]:
    yield ChatResponseUpdate(role="assistant", contents=contents)


def tokens_of(messages: Sequence[Message]) -> int:
    """About four characters each."""
    contents = [content for message in messages for content in message.contents]
    return sum(len(str(content.text or content.result or content.arguments or "")) for content in contents) // 4


async def run(window: int) -> None:
    """Have the agent read, and ask it for what it read first."""
    client, provider = ScriptedClient(), BackscrollProvider(budget=window)
    agent = Agent(client, "Be brief.", name="reader", tools=[read_file], context_providers=[provider])
    session = agent.create_session()
    for path in [FIRST, *FILES]:
        await agent.run(f"Read {path.relative_to(ROOT).as_posix()}", session=session)
    history = session.state["in_memory"]["messages"]
    before = [message.to_json() for message in history]
    answer = await agent.run(QUESTION, session=session)

    conversation = provider.conversation(session, agent)
    usage, kept = conversation.usage("scripted"), session.state["in_memory"]["messages"]
    print(f"messages kept          {len(kept):,}")
    print(f"messages in a request  {usage.messages:,}")
    print(f"tokens in a request    {usage.used.tokens:,} of {usage.window:,}")
    print(f"compactions            {usage.compactions:,}")
    print(f"longest request        {max(client.requests):,}")
    print(f"without compaction     {tokens_of(kept):,}")
    same = [message.to_json() for message in kept[: len(before)]] == before
    print(f"messages untouched     {'yes' if same else 'no'}")
    print(answer.text)
    provider.close()


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--window", type=int, default=12_000, help="tokens of the scripted model's window")
    asyncio.run(run(parser.parse_args().window))


if __name__ == "__main__":
    main()
