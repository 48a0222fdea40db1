"""An agent of the OpenAI Agents SDK over Backscroll: a real agent, a real tool over this tree, and a scripted model.

    python examples/openai_agents_agent.py [--budget 12000]
    python examples/openai_agents_agent.py --model gpt-5.6      the same agent with a model of OpenAI

The model reads files of the package one by one, in a budget that holds a few of them, and is then asked for a line of
the first, for which it has a tool. Needs the extra `openai-agents`; a model of OpenAI needs a key.
"""

import argparse
import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agents import Agent, Runner, SQLiteSession, function_tool, set_tracing_disabled
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call

from backscroll.integrations.openai_agents import managed

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / "src" / "backscroll").glob("*/*.py"))[:20]
LINE = "def test_an_output_without_a_window"
FIRST = ROOT / "tests" / "tokens" / "test_budget.py"
QUESTION = "In the first file that you read, which test is about an output without a window? Look it up if you must."


@function_tool
def read_file(path: str) -> str:
    """Read a file of this project.

    Args:
        path: Its path, from the root of the project.
    """
    return (ROOT / path).read_text(encoding="utf-8")[:8_000]


def answer(call: ModelCall) -> Sequence[Any]:
    """Follow orders by rule instead of thinking: read what the user names, and look up what the user asks."""
    newest = call.input[-1]
    number = f"call_{len(call.input)}_{len(json.dumps(call.input))}"
    if newest.get("type") == "function_call_output":
        found = [line for line in newest["output"].splitlines() if LINE in line]
        return [assistant_message(f"It says: {found[0].strip()}" if found else "I have read it.")]
    if newest["content"].startswith("Read "):
        return [function_call("read_file", {"path": newest["content"].removeprefix("Read ")}, call_id=number)]
    return [function_call("recall", {"ref": "2", "pattern": f"^{LINE}"}, call_id=number)]


async def main(budget: int, name: str | None) -> None:
    """Have the agent read, and ask it for what it read first."""
    set_tracing_disabled(disabled=True)
    scripted = ScriptedModel([ModelStep.respond(answer) for _ in range(2 * len(FILES) + 4)])
    model = managed(name or scripted, budget=budget)
    agent = Agent(name="reader", model=model, tools=[read_file, model.recall_tool])
    session = SQLiteSession("reader")  # in memory; it keeps every item, whatever a view shows
    for path in [FIRST, *FILES]:
        await Runner.run(agent, f"Read {path.relative_to(ROOT).as_posix()}", session=session)
    result = await Runner.run(agent, QUESTION, session=session)

    kept = await session.get_items()
    usage = model.conversation.usage(model.model if name else "main")
    print(f"items kept             {len(kept):,}")
    print(f"messages in a request  {usage.messages:,}")
    print(f"tokens in a request    {usage.used.tokens:,} of {usage.window:,}")
    print(f"compactions            {usage.compactions:,}")
    if not name:
        sizes = [len(json.dumps(call.input)) for call in scripted.calls]
        print(f"longest request        {max(sizes):,} characters")
        print(f"without compaction     {len(json.dumps(kept)):,} characters")
    print(result.final_output)
    await model.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--budget", type=int, default=12_000, help="input tokens of a request")
    parser.add_argument("--model", help="a model of OpenAI instead, such as gpt-5.6")
    given = parser.parse_args()
    asyncio.run(main(given.budget, given.model))
