"""A LangChain agent over Backscroll: a real agent, a real tool over this tree, and a scripted model without a key.

    python examples/langchain_agent.py [--window 12000]
    python examples/langchain_agent.py --model openai:gpt-4o-mini     the same agent with a provider of LangChain

The model reads files of the package one by one, in a window that holds a few of them, and is then asked for a line of
the first, for which it has the tool `recall`. Needs the extra `langchain`; a provider needs its own package and a key.
"""

import argparse
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

from backscroll.integrations.langchain import BackscrollMiddleware

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / "src" / "backscroll").glob("*/*.py"))[:20]
LINE = "def test_an_output_without_a_window"
FIRST = ROOT / "tests" / "tokens" / "test_budget.py"
QUESTION = "In the first file that you read, which test is about an output without a window? Look it up if you must."


@tool
def read_file(path: str) -> str:
    """Read a file of this project.

    Args:
        path: Its path, from the root of the project.
    """
    return (ROOT / path).read_text(encoding="utf-8")[:8_000]


class ScriptedModel(BaseChatModel):
    """Follows orders by rule instead of thinking: reads a file, or looks up what it is asked."""

    requests: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        """As LangChain asks for it."""
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.requests.append(messages)
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages[-1]))])

    def _answer(self, newest: BaseMessage) -> AIMessage:
        if isinstance(newest, ToolMessage):
            found = [line for line in str(newest.content).splitlines() if LINE in line]
            return AIMessage(f"It says: {found[0].strip()}" if found else "I have read it.")
        said = str(newest.content)
        name, arguments = "recall", {"ref": "2", "pattern": f"^{LINE}"}
        if said.startswith("Read "):
            name, arguments = "read_file", {"path": said.removeprefix("Read ")}
        return AIMessage("", tool_calls=[{"id": f"call-{len(self.requests)}", "name": name, "args": arguments}])


def main() -> None:
    """Has the agent read, and asks it for what it read first."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--window", type=int, default=12_000, help="tokens of the scripted model's window")
    parser.add_argument("--model", help="a provider and its model instead, such as openai:gpt-4o-mini")
    given = parser.parse_args()
    scripted = ScriptedModel(profile={"max_input_tokens": given.window})
    model = init_chat_model(given.model) if given.model else scripted

    context = BackscrollMiddleware()
    agent: Any = create_agent(model, [read_file], middleware=[context], checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "reader"}}
    for path in [FIRST, *FILES]:
        agent.invoke({"messages": [("user", f"Read {path.relative_to(ROOT).as_posix()}")]}, config)
    before = agent.get_state(config).values["messages"]
    messages = agent.invoke({"messages": [("user", QUESTION)]}, config)["messages"]

    lane = "scriptedmodel" if model is scripted else given.model.replace(":", "/")
    usage = context.conversation("reader").usage(lane)
    print(f"messages kept          {len(messages):,}")
    print(f"messages in a request  {usage.messages:,}")
    print(f"tokens in a request    {usage.used.tokens:,} of {usage.window:,}")
    print(f"compactions            {usage.compactions:,}")
    print(f"state untouched        {'yes' if messages[: len(before)] == before else 'no'}")
    print(messages[-1].content)


if __name__ == "__main__":
    main()
