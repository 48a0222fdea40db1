"""An agent of Google ADK over Backscroll: a real agent, a real tool, and a scripted model without a key.

    python examples/adk_agent.py [--window 12000]
    python examples/adk_agent.py --model gemini-3.8-flash     the same agent with a model of Gemini

The model reads files of the package one by one, in a window that holds a few of them, and is then asked for a line of
the first, for which it has the tool `recall`. Needs the extra `adk`; Gemini needs a key.
"""

import argparse
import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

from backscroll.integrations.adk import BackscrollPlugin

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / "src" / "backscroll").glob("*/*.py"))[:20]
LINE = "def test_an_output_without_a_window"
FIRST = ROOT / "tests" / "tokens" / "test_budget.py"
QUESTION = "In the first file that you read, which test is about an output without a window? Look it up if you must."
APP, USER = "files", "reader"


def read_file(path: str) -> str:
    """Read a file of this project."""
    return (ROOT / path).read_text(encoding="utf-8")[:8_000]


class ScriptedModel(BaseLlm):
    """Follows orders by rule instead of thinking: reads what it is asked to read, and recalls what it is asked."""

    longest: int = 0
    """The tokens of the longest request."""

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: ARG002  the framework's signature
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer a request."""
        tokens = tokens_of(llm_request.contents)
        self.longest = max(self.longest, tokens)
        counted = types.GenerateContentResponseUsageMetadata(prompt_token_count=tokens + 250, candidates_token_count=20)
        content = types.Content(role="model", parts=[self._answer(llm_request.contents[-1])])
        yield LlmResponse(content=content, usage_metadata=counted)

    def _answer(self, newest: types.Content) -> types.Part:
        said = (newest.parts or [types.Part()])[0]
        if said.function_response is not None:
            lines = str((said.function_response.response or {}).get("result")).splitlines()
            found = [line.strip() for line in lines if LINE in line]
            return types.Part(text=f"It says: {found[0]}" if found else "I have read it.")
        text = said.text or ""
        if text.startswith("Read "):
            return types.Part.from_function_call(name="read_file", args={"path": text.removeprefix("Read ")})
        return types.Part.from_function_call(name="recall", args={"ref": "2", "pattern": f"^{LINE}"})


def tokens_of(contents: Sequence[types.Content]) -> int:
    """About four characters each."""
    parts = [part for content in contents for part in content.parts or ()]
    return sum(len(str(part.text or part.function_response or part.function_call or "")) for part in parts) // 4


async def run(window: int, name: str | None) -> None:
    """Have the agent read, and ask it for what it read first."""
    scripted, plugin = ScriptedModel(model="scripted"), BackscrollPlugin(budget=window)
    agent = LlmAgent(name="reader", model=plugin.model(name or scripted), instruction="Be brief.", tools=[read_file])
    runner = InMemoryRunner(app=App(name=APP, root_agent=agent, plugins=[plugin]))
    service = runner.session_service
    session = await service.create_session(app_name=APP, user_id=USER)

    async def say(text: str) -> str:
        last, said = "", types.Content(role="user", parts=[types.Part(text=text)])
        async for event in runner.run_async(user_id=USER, session_id=session.id, new_message=said):
            parts = (event.content.parts if event.content else None) or [types.Part()]
            last = parts[-1].text or last
        return last

    async def events() -> list[str]:
        found = await service.get_session(app_name=APP, user_id=USER, session_id=session.id)
        assert found is not None
        return [event.model_dump_json() for event in found.events]

    for path in [FIRST, *FILES]:
        await say(f"Read {path.relative_to(ROOT).as_posix()}")
    before = await events()
    answer = await say(QUESTION)
    after = await events()

    conversation = plugin.conversation(session, agent)
    usage, kept = conversation.usage(name or "scripted"), await conversation.get_messages()
    print(f"events kept            {len(after):,}")
    print(f"contents kept          {len(kept):,}")
    print(f"contents in a request  {usage.messages:,}")
    print(f"tokens in a request    {usage.used.tokens:,} of {usage.window:,}")
    print(f"compactions            {usage.compactions:,}")
    print(f"longest request        {scripted.longest:,}")
    print(f"without compaction     {tokens_of([types.Content.model_validate(each) for each in kept]):,}")
    print(f"events untouched       {'yes' if after[: len(before)] == before else 'no'}")
    print(answer)
    await runner.close()


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--window", type=int, default=12_000, help="tokens of a request")
    parser.add_argument("--model", help="a model of the framework, instead of the scripted one")
    given = parser.parse_args()
    asyncio.run(run(given.window, given.model))


if __name__ == "__main__":
    main()
