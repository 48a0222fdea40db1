"""A whole Amplifier session over Backscroll: the real kernel, real tools over this tree, a scripted model, no key.

    python examples/amplifier_session.py [--window 20000]

The mount plan names `context-backscroll`, and the kernel finds it by its entry point as in any session. The model
follows a script instead of thinking, and the loop does the least that the contract asks of one: put yours in their
place. The model reads 54 files of the package one by one, in a window that holds a few of them, and is then asked for a
line of the first. Needs the extra `amplifier`.
"""

import argparse
import asyncio
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amplifier_core import (
    AmplifierSession,
    ChatRequest,
    ChatResponse,
    Message,
    ModelInfo,
    ModuleLoader,
    ProviderInfo,
    TextBlock,
    ToolCall,
    ToolCallBlock,
    ToolResult,
    ToolSpec,
    Usage,
)
from amplifier_core.llm_errors import ContextLengthError

from backscroll.tokens.engines import resolve

ROOT = Path(__file__).resolve().parent.parent
FILES = 54  # that the model reads, in turns of six
MAX_RESULT = 12_000  # characters of a tool's result
LINE = "build-backend ="  # of all files that are read it stands in the first
OUTPUT = 4_000  # tokens of the window that the model keeps for its answer
count = resolve("auto").count

MOUNT_PLAN = {
    "session": {
        "orchestrator": {"module": "loop-short"},
        "context": {"module": "context-backscroll", "config": {"compact_threshold": 0.9}},
    },
}


# The loop: a view before each request, the usage after it, tools in between


class ShortLoop:
    """An orchestrator."""

    async def execute(self, prompt: str, context: Any, providers: Any, tools: Any, hooks: Any, **_: Any) -> str:
        """Runs one turn and returns the model's answer."""
        provider = next(iter(providers.values()))
        specs = [ToolSpec(name=t.name, description=t.description, parameters=t.input_schema) for t in tools.values()]
        await context.add_message({"role": "user", "content": prompt})
        while True:
            view = await context.get_messages_for_request(provider=provider)
            response = await provider.complete(ChatRequest(messages=[Message(**shown) for shown in view], tools=specs))
            usage = response.usage.model_dump(exclude_none=True)
            await hooks.emit("provider:response", {"provider": provider.name, "usage": usage})
            content = [block.model_dump(exclude_none=True) for block in response.content]
            calls = provider.parse_tool_calls(response)
            beside = [{"id": call.id, "tool": call.name, "arguments": call.arguments} for call in calls]
            if not beside:
                await context.add_message({"role": "assistant", "content": content})
                return "".join(block.text for block in response.content if block.type == "text")
            await context.add_message({"role": "assistant", "content": content, "tool_calls": beside})
            for call in calls:
                result = await tools[call.name].execute(call.arguments)
                text = result.get_serialized_output()
                answer = {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": text}
                await context.add_message(answer)


class Loader(ModuleLoader):  # type: ignore[misc]  # it ships no types
    """Knows a loop that is no installed package, and finds everything else as the kernel does."""

    async def load(self, module_id: str, *arguments: Any, **options: Any) -> Any:
        """What mounts the module."""
        if module_id != "loop-short":
            return await super().load(module_id, *arguments, **options)

        async def mount(coordinator: Any) -> None:
            await coordinator.mount("orchestrator", ShortLoop())

        return mount


# The tools


class FileTool:
    """A tool over the files below `ROOT`."""

    def __init__(self, run: Callable[[Path], str], description: str) -> None:
        self.name, self.description, self._run = run.__name__, description, run
        self.input_schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        """The result, cut where it is very long."""
        path = (ROOT / input["path"]).resolve()
        if not path.is_relative_to(ROOT) or not path.exists():
            return ToolResult(success=False, error={"message": f"no such path: {input['path']}"})
        return ToolResult(output=self._run(path)[:MAX_RESULT])


def list_files(path: Path) -> str:
    """Python files below a folder, with their sizes."""
    found = sorted(path.rglob("*.py"))
    return "\n".join(f"{file.stat().st_size:>8}  {file.relative_to(ROOT).as_posix()}" for file in found)


def read_file(path: Path) -> str:
    """A file with line numbers."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return "\n".join(f"{number:>5}  {line}" for number, line in enumerate(lines, 1))


TOOLS = (FileTool(list_files, "Python files below a folder."), FileTool(read_file, "A file with line numbers."))


# The model


@dataclass(frozen=True)
class Turn:
    """What the user says, the tools that the model calls one after the other, and its answer to the last result."""

    prompt: str
    calls: tuple[tuple[str, dict[str, Any]], ...]
    answer: Callable[[str], str]


class ScriptedModel:
    """A provider with a hard window: it counts every request, refuses what does not fit, and follows a script."""

    name = "scripted"

    def __init__(self, window: int) -> None:
        self.window = window
        self.requests: list[list[dict[str, Any]]] = []
        self.tokens: list[int] = []
        self._numbers = itertools.count(1)

    def play(self, turn: Turn) -> None:
        """What to do in the next turn."""
        self._calls, self._answer = iter(turn.calls), turn.answer

    def get_info(self) -> ProviderInfo:
        """The window: this is where the context learns its budget from."""
        defaults = {"model": "gpt-scripted", "context_window": self.window, "max_output_tokens": OUTPUT}
        return ProviderInfo(id=self.name, display_name="Scripted", defaults=defaults)

    async def list_models(self) -> list[ModelInfo]:
        """The only one."""
        window = {"context_window": self.window, "max_output_tokens": OUTPUT}
        return [ModelInfo(id="gpt-scripted", display_name="Scripted", **window)]

    async def complete(self, request: ChatRequest, **_: Any) -> ChatResponse:
        """The next call of the script, else the answer."""
        messages = [message.model_dump(exclude_none=True) for message in request.messages]
        specs = [spec.model_dump(exclude_none=True) for spec in request.tools or ()]
        tokens = sum(map(cost, messages)) + count(json.dumps(specs))
        if tokens > self.window - OUTPUT:
            raise ContextLengthError(f"prompt is too long: {tokens} tokens > {self.window - OUTPUT} maximum")
        self.requests.append(messages)
        self.tokens.append(tokens)
        usage = Usage(input_tokens=tokens, output_tokens=40, total_tokens=tokens + 40)
        called = next(self._calls, None)
        if called is None:
            text = self._answer(str(messages[-1]["content"]))
            return ChatResponse(content=[TextBlock(text=text)], usage=usage)
        name, arguments = called
        call = ToolCall(id=f"call_{next(self._numbers)}", name=name, arguments=arguments)
        block = ToolCallBlock(id=call.id, name=name, input=arguments)
        return ChatResponse(content=[block], tool_calls=[call], usage=usage)

    def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
        """The calls of an answer."""
        return list(response.tool_calls or ())


def cost(message: dict[str, Any]) -> int:
    """Tokens of a message. Calls stand in its content and beside it, and are sent once."""
    sent = {key: message[key] for key in ("role", "content", "tool_call_id") if key in message}
    return count(json.dumps(sent, ensure_ascii=False))


def script() -> list[Turn]:
    """Reads the package file by file; the last turn asks for a line of the first file that was read."""
    files = ["pyproject.toml", *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "src").rglob("*.py"))]
    turns = [Turn("What is in src? Never change a file.", (("list_files", {"path": "src"}),), _lines)]
    for first in range(0, FILES, 6):
        some = files[first : first + 6]
        prompt = f"Read {', '.join(some)}, and tell me how long they are together."
        turns.append(Turn(prompt, tuple(("read_file", {"path": path}) for path in some), _lines))
    question = "Which build backend did pyproject.toml name? Quote the line."
    turns.append(Turn(question, (("recall", {"query": "build-backend"}),), _quote))
    return turns


def _lines(result: str) -> str:
    return f"Done. The last result has {len(result.splitlines())} lines."


def _quote(result: str) -> str:
    found = [line.strip() for line in result.splitlines() if LINE in line]
    return f"It says: {found[0]}" if found else "I cannot find it."


# The session


async def run(window: int) -> None:
    """Plays the script and prints what came of it."""
    model, compactions = ScriptedModel(window), []

    async def compacted(_: str, payload: dict[str, Any]) -> None:
        compactions.append(payload)

    session = AmplifierSession(MOUNT_PLAN)
    session.coordinator.loader = Loader(session.coordinator)
    async with session:
        coordinator = session.coordinator
        coordinator.hooks.register("context:compaction", compacted)
        await coordinator.mount("providers", model, name=model.name)
        for tool in TOOLS:
            await coordinator.mount("tools", tool, name=tool.name)
        for turn in script():
            model.play(turn)
            answer = await session.execute(turn.prompt)
        history = await coordinator.get("context").get_messages()
    report(model, len(compactions), history, answer)


def report(model: ScriptedModel, compactions: int, history: list[dict[str, Any]], answer: str) -> None:
    """The table. Without compaction, each request would have held the history up to the answer that it got."""
    sums = list(itertools.accumulate(map(cost, history), initial=0))
    whole = sum(sums[at] for at, message in enumerate(history) if message["role"] == "assistant")
    pairs = list(itertools.pairwise(model.requests))
    extending = sum(new[: len(old)] == old for old, new in pairs) / len(pairs)
    held = LINE in str(model.requests[-2])
    recalled = next(message for message in reversed(history) if message.get("name") == "recall")
    rows = {
        "requests": f"{len(model.requests):,}",
        "compactions": f"{compactions:,}",
        "tokens sent": f"{sum(model.tokens):,}",
        "tokens without compaction": f"{whole:,}",
        "longest request, tokens": f"{max(model.tokens):,} of {model.window - OUTPUT:,}",
        "extend the one before": f"{extending:.0%}",
        "messages kept": f"{len(history):,}",
        "line still in the request": "yes" if held else "no",
        "characters recalled": f"{len(recalled['content']):,}",
    }
    for name, value in rows.items():
        print(f"{name:<26}{value:>16}")
    print(f"asked for a line of the first file: {answer}")


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--window", type=int, default=20_000, help="tokens of the model's window, its answer included")
    asyncio.run(run(parser.parse_args().window))


if __name__ == "__main__":
    main()
