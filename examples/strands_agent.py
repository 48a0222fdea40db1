"""A Strands agent over Backscroll: a real agent, a real tool over this tree, and a scripted model without a key.

    python examples/strands_agent.py [--window 12000]
    python examples/strands_agent.py --model openai:gpt-4o-mini     the same agent with a provider of Strands

The model reads files of the package one by one, in a window that holds a few of them, and is then asked for a line of
the first, for which it has a tool. Needs the extra `strands`; a provider needs its own package and a key.
"""

import argparse
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from strands import Agent, tool
from strands.models import Model

from backscroll.integrations.strands import ContextManagerPlugin, estimate_input_tokens

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


class ScriptedModel(Model):
    """Follows orders by rule instead of thinking: reads what it is told to, and looks up what it is asked."""

    def __init__(self, window: int) -> None:
        self.config = {"model_id": "scripted", "context_window_limit": window}
        self.requests: list[Any] = []

    def update_config(self, **config: Any) -> None:
        """As Strands asks for it."""
        self.config.update(config)

    def get_config(self) -> dict[str, Any]:
        """As Strands asks for it."""
        return self.config

    async def structured_output(self, *_: Any, **__: Any) -> AsyncIterator[Any]:  # type: ignore[override]  # not asked for
        """Not asked for here."""
        yield {}

    async def stream(
        self, messages: Any, tool_specs: Any = None, system_prompt: Any = None, **_: Any
    ) -> AsyncIterator[Any]:
        """One answer."""
        tokens = estimate_input_tokens(messages, system_prompt, tool_specs)
        self.requests.append((messages, tokens))
        for event in self._answer(messages):
            yield event
        yield {
            "metadata": {
                "usage": {"inputTokens": tokens, "outputTokens": 20, "totalTokens": tokens + 20},
                "metrics": {"latencyMs": 1},
            }
        }

    def _answer(self, messages: Any) -> Iterator[Any]:
        newest = messages[-1]["content"]
        results = [block["toolResult"] for block in newest if "toolResult" in block]
        said = "".join(block.get("text", "") for block in newest)
        if results:
            found = [
                line for part in results[0]["content"] for line in part.get("text", "").splitlines() if LINE in line
            ]
            yield from _text(f"It says: {found[0].strip()}" if found else "I have read it.")
        elif said.startswith("Read "):
            yield from _call("read_file", {"path": said.removeprefix("Read ")}, len(self.requests))
        else:
            yield from _call(
                "retrieve_offloaded_content", {"reference": "2", "pattern": f"^{LINE}"}, len(self.requests)
            )


def _text(text: str) -> Iterator[Any]:
    yield {"messageStart": {"role": "assistant"}}
    yield {"contentBlockStart": {"start": {}}}
    yield {"contentBlockDelta": {"delta": {"text": text}}}
    yield {"contentBlockStop": {}}
    yield {"messageStop": {"stopReason": "end_turn"}}


def _call(name: str, arguments: dict[str, Any], number: int) -> Iterator[Any]:
    yield {"messageStart": {"role": "assistant"}}
    yield {"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": f"call-{number}"}}}}
    yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(arguments)}}}}
    yield {"contentBlockStop": {}}
    yield {"messageStop": {"stopReason": "tool_use"}}


def provider(name: str) -> Model:
    """A model of Strands by name: `openai:...`, `anthropic:...` or `bedrock:...`."""
    kind, _, model_id = name.partition(":")
    if kind == "openai":
        from strands.models.openai import OpenAIModel

        return OpenAIModel(model_id=model_id)
    if kind == "anthropic":
        from strands.models.anthropic import AnthropicModel

        return AnthropicModel(model_id=model_id, max_tokens=2_000)
    from strands.models import BedrockModel

    return BedrockModel(model_id=model_id)


def main() -> None:
    """Has the agent read, and asks it for what it read first."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--window", type=int, default=12_000, help="tokens of the scripted model's window")
    parser.add_argument("--model", help="a provider and its model instead, such as openai:gpt-4o-mini")
    given = parser.parse_args()
    model = provider(given.model) if given.model else ScriptedModel(given.window)

    context = ContextManagerPlugin("auto")
    agent = Agent(model=model, tools=[read_file], plugins=[context], context_manager=False, callback_handler=None)
    for path in [FIRST, *FILES]:
        agent(f"Read {path.relative_to(ROOT).as_posix()}")
    before = json.dumps(agent.messages, default=str)
    answer = agent(QUESTION)

    usage = context.usage(agent)
    print(f"messages kept          {len(agent.messages):,}")
    print(f"messages in a request  {usage.messages:,}")
    print(f"tokens in a request    {usage.used.tokens:,} of {usage.window:,}")
    print(f"compactions            {usage.compactions:,}")
    if isinstance(model, ScriptedModel):
        everything = estimate_input_tokens(agent.messages)
        print(f"longest request        {max(tokens for _, tokens in model.requests):,}")
        print(f"without compaction     {everything:,}")
    print(
        f"messages untouched     {'yes' if json.dumps(agent.messages, default=str).startswith(before[:-1]) else 'no'}"
    )
    print(answer)


if __name__ == "__main__":
    main()
