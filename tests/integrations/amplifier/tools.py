"""Tools in the shape of Amplifier's contract, whose results have any size and depend on their arguments alone."""

import base64
import json
import random
import struct
from collections.abc import Callable
from typing import Any

from amplifier_core import ToolResult

Answer = Callable[[random.Random, dict[str, Any]], ToolResult]

_WORDS = (
    "token",
    "cache",
    "parser",
    "index",
    "retry",
    "window",
    "budget",
    "header",
    "stream",
    "worker",
    "handle",
    "offset",
    "result",
    "config",
    "merge",
)


class Tool:
    """A tool that the kernel accepts. Its result is a matter of the seed, its name and its arguments."""

    def __init__(self, name: str, description: str, answer: Answer, seed: int = 0) -> None:
        self.name, self.description, self._answer, self._seed = name, description, answer, seed

    @property
    def input_schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {"path": {"type": "string"}, "lines": {"type": "integer", "description": "how much"}},
        }

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        return self._answer(random.Random(f"{self._seed} {self.name} {json.dumps(input, sort_keys=True)}"), input)


def _phrase(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(_WORDS, k=words))


def _list_files(chance: random.Random, input: dict[str, Any]) -> ToolResult:
    names = [f"src/{chance.choice(_WORDS)}_{number}.py" for number in range(input.get("lines", 5))]
    return ToolResult(output="\n".join(names))


def _read_file(chance: random.Random, input: dict[str, Any]) -> ToolResult:
    lines = (
        f"{number:>5}  {chance.choice(_WORDS)}_{chance.randrange(99)} = {chance.choice(_WORDS)}({_phrase(chance, 2)!r})"
        for number in range(1, input.get("lines", 40) + 1)
    )
    return ToolResult(output="\n".join(lines))


def _run_tests(chance: random.Random, input: dict[str, Any]) -> ToolResult:
    lines = [
        f"12:{number // 60 % 60:02}:{number % 60:02} INFO {_phrase(chance, 6)} [{chance.randrange(10**6)}]"
        for number in range(input.get("lines", 100))
    ]
    lines += [f"FAILED tests/test_{chance.choice(_WORDS)}.py::test_{chance.randrange(999)}", "1 failed, 81 passed"]
    return ToolResult(success=False, output={"returncode": 1, "stdout": "\n".join(lines), "stderr": ""})


def _query(chance: random.Random, input: dict[str, Any]) -> ToolResult:
    rows = [
        {"id": chance.randrange(10**9), "name": _phrase(chance, 2), "score": chance.random(), "tags": None}
        for _ in range(input.get("lines", 10))
    ]
    return ToolResult(output={"rows": rows, "total": len(rows)})


def _dense(chance: random.Random, input: dict[str, Any]) -> ToolResult:
    """Text of few characters to a token: hexadecimal digits."""
    return ToolResult(output="\n".join(chance.randbytes(40).hex() for _ in range(input.get("lines", 40))))


def _broken(chance: random.Random, input: dict[str, Any]) -> ToolResult:
    return ToolResult(
        success=False, error={"message": f"{input.get('path')}: permission denied ({chance.randrange(99)})"}
    )


def _screenshot(chance: random.Random, input: dict[str, Any]) -> ToolResult:
    data = base64.b64encode(png(640, 480, chance.randbytes(input.get("lines", 30) * 1_000))).decode()
    source = {"type": "base64", "media_type": "image/png", "data": data}
    return ToolResult(
        output="a picture", content=[{"type": "text", "text": "a picture"}, {"type": "image", "source": source}]
    )


def png(width: int, height: int, body: bytes) -> bytes:
    """Bytes that say they are a picture of this size."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", len(header)) + b"IHDR" + header + b"\0\0\0\0" + body


def toolbox(seed: int = 0) -> list[Tool]:
    """All tools. The argument `lines` says how large a result is."""
    return [
        Tool("list_files", "Names of files.", _list_files, seed),
        Tool("read_file", "A file with line numbers.", _read_file, seed),
        Tool("run_tests", "The log of a test run that fails.", _run_tests, seed),
        Tool("query", "Rows of a table, as JSON.", _query, seed),
        Tool("dense", "A hexadecimal dump.", _dense, seed),
        Tool("broken", "Fails.", _broken, seed),
        Tool("screenshot", "A picture.", _screenshot, seed),
    ]
