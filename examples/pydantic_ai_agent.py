"""A Pydantic AI agent over Backscroll: a real agent, a real tool over this tree, and a scripted model without a key.

    python examples/pydantic_ai_agent.py [--window 12000]
    python examples/pydantic_ai_agent.py --model openai:gpt-4o-mini     the same agent with a model of Pydantic AI

The model reads files of the package one by one, in a window that holds a few of them, and is then asked for a line of
the first, for which it has a tool. Needs the extra `pydantic-ai`; a provider needs its own package and a key.
"""

import argparse
from pathlib import Path
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from backscroll.integrations.pydantic_ai import Backscroll

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / "src" / "backscroll").glob("*/*.py"))[:20]
LINE = "def test_an_output_without_a_window"
FIRST = ROOT / "tests" / "tokens" / "test_budget.py"
QUESTION = "In the first file that you read, which test is about an output without a window? Look it up if you must."


def read_file(path: str) -> str:
    """Read a file of this project.

    Args:
        path: Its path, from the root of the project.
    """
    return (ROOT / path).read_text(encoding="utf-8")[:8_000]


class ScriptedModel(FunctionModel):
    """Follows orders by rule instead of thinking: reads what it is asked to read, and looks up what it is asked."""

    def __init__(self, window: int) -> None:
        super().__init__(self._answer, model_name="scripted", profile={"context_window": window})
        self.requests = 0

    def _answer(self, messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        self.requests += 1
        newest: Any = messages[-1].parts[-1]
        if newest.part_kind == "tool-return":
            found = [line for line in newest.model_response_str().splitlines() if LINE in line]
            text = f"It says: {found[0].strip()}" if found and newest.tool_name == "recall" else "I have read it."
            return ModelResponse(parts=[TextPart(text)])
        if newest.content.startswith("Read "):
            return ModelResponse(parts=[ToolCallPart("read_file", {"path": newest.content.removeprefix("Read ")})])
        return ModelResponse(parts=[ToolCallPart("recall", {"ref": "2", "pattern": f"^{LINE}"})])


def main() -> None:
    """Has the agent read, and asks it for what it read first."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--window", type=int, default=12_000, help="tokens of the scripted model's window")
    parser.add_argument("--model", help="a model of Pydantic AI instead, such as openai:gpt-4o-mini")
    given = parser.parse_args()
    model = given.model or ScriptedModel(given.window)

    context = Backscroll()
    agent = Agent(model, name="reader", tools=[read_file], capabilities=[context])
    history: list[ModelMessage] = []
    untouched = True
    for order in [*(f"Read {path.relative_to(ROOT).as_posix()}" for path in [FIRST, *FILES]), QUESTION]:
        before = ModelMessagesTypeAdapter.dump_json(history)
        result = agent.run_sync(order, message_history=history)
        untouched = untouched and ModelMessagesTypeAdapter.dump_json(result.all_messages()[: len(history)]) == before
        history = result.all_messages()

    lane = given.model.replace(":", "/") if given.model else "function/scripted"
    usage = context.conversation(result.conversation_id, "reader").usage(lane)
    print(f"messages kept          {len(history):,}")
    print(f"messages in a request  {usage.messages:,}")
    print(f"tokens in a request    {usage.used.tokens:,} of {usage.window:,}")
    print(f"compactions            {usage.compactions:,}")
    print(f"messages untouched     {'yes' if untouched else 'no'}")
    print(result.output)


if __name__ == "__main__":
    main()
