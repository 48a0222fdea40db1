"""An agent on LiteLLM over Backscroll: real calls of LiteLLM, a real tool over this tree, a scripted model without key.

    python examples/litellm_agent.py [--window 12000]
    python examples/litellm_agent.py --model openai/gpt-4o-mini     the same agent with a provider of LiteLLM

The model reads files of the package one by one, in a window that holds a few of them, and is then asked for a line of
the first, for which it has the tool `recall`. Needs the extra `litellm`; a provider needs a key.
"""

import argparse
import json
import os
from pathlib import Path
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # no network: its import would fetch prices

import litellm
from litellm import CustomLLM, ModelResponse

from backscroll.integrations.litellm import BackscrollHandler

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / "src" / "backscroll").glob("*/*.py"))[:20]
LINE = "def test_an_output_without_a_window"
FIRST = ROOT / "tests" / "tokens" / "test_budget.py"
QUESTION = "In the first file that you read, which test is about an output without a window? Look it up if you must."
SESSION = "reading"
READ_FILE = {
    "type": "function",
    "function": {
        "name": "read_file",
        "description": "Read a file of this project.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
}


class ScriptedModel(CustomLLM):  # type: ignore[misc]  # it ships no types
    """Follows orders by rule instead of thinking: reads what it is told to, and looks up what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[int] = []
        """Tokens of each request."""

    def completion(self, model: str, messages: list[Any], optional_params: dict[str, Any], **_: Any) -> ModelResponse:
        """One answer."""
        tokens = litellm.token_counter("gpt-4o", messages=messages, tools=optional_params["tools"])
        self.requests.append(tokens)
        message = {"role": "assistant", **self._answer(messages[-1])}
        return ModelResponse(
            model=model,
            choices=[{"message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}],
            usage={"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20},
        )

    def _answer(self, newest: dict[str, Any]) -> dict[str, Any]:
        said = newest["content"]
        if newest["role"] == "tool":
            found = [line for line in said.splitlines() if line.startswith(LINE)]
            return {"content": f"It says: {found[0]}" if found else "I have read it."}
        if said.startswith("Read "):
            return self._call("read_file", {"path": said.removeprefix("Read ")})
        return self._call("recall", {"ref": "3", "pattern": f"^{LINE}"})

    def _call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        function = {"name": name, "arguments": json.dumps(arguments)}
        return {"content": None, "tool_calls": [{"id": f"call-{len(self.requests)}", "function": function}]}


class Agent:
    """The usual loop: call the model, run its tools, until it answers."""

    def __init__(self, handler: BackscrollHandler, model: str) -> None:
        self.handler, self.model = handler, model
        self.messages: list[Any] = [{"role": "system", "content": "You answer questions about a Python project."}]

    def ask(self, question: str) -> str:
        """Ask and return the answer."""
        self.messages.append({"role": "user", "content": question})
        while True:
            response = self.handler.completion(
                model=self.model,
                messages=self.messages,
                litellm_session_id=SESSION,
                tools=[READ_FILE, self.handler.recall_tool],
            )
            message = response.choices[0].message
            self.messages.append(message)
            if not message.tool_calls:
                return str(message.content)
            self.messages += map(self._result, message.tool_calls)

    def _result(self, call: Any) -> dict[str, Any]:
        if call.function.name == "recall":
            return self.handler.answer_recall_now(call, SESSION)
        path = json.loads(call.function.arguments)["path"]
        text = (ROOT / path).read_text(encoding="utf-8")[:8_000]
        return {"role": "tool", "tool_call_id": call.id, "content": text}


def main() -> None:
    """Has the agent read, and asks it for what it read first."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--window", type=int, default=12_000, help="tokens of the scripted model's window")
    parser.add_argument("--model", help="a provider and its model instead, such as openai/gpt-4o-mini")
    given = parser.parse_args()
    scripted = ScriptedModel()
    litellm.custom_provider_map = [{"provider": "scripted", "custom_handler": scripted}]
    handler = BackscrollHandler() if given.model else BackscrollHandler(budget=given.window)
    model = given.model or "scripted/reader"

    agent = Agent(handler, model)
    for path in [FIRST, *FILES]:
        agent.ask(f"Read {path.relative_to(ROOT).as_posix()}")
    before = str(agent.messages)
    answer = agent.ask(QUESTION)

    usage = handler.conversation(SESSION).usage(model)
    print(f"messages kept          {len(agent.messages):,}")
    print(f"messages in a request  {usage.messages:,}")
    print(f"tokens in a request    {usage.used.tokens:,} of {usage.window:,}")
    print(f"compactions            {usage.compactions:,}")
    if not given.model:
        everything = litellm.token_counter("gpt-4o", messages=agent.messages)
        print(f"longest request        {max(scripted.requests):,}")
        print(f"without compaction     {everything:,}")
    print(f"messages untouched     {'yes' if str(agent.messages).startswith(before[:-1]) else 'no'}")
    print(answer)


if __name__ == "__main__":
    main()
