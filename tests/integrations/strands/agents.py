"""Tools and agents for the tests of the Strands adapter: real tools, a scripted model."""

import struct
import warnings
import zlib
from contextlib import contextmanager
from typing import Any

from strands import Agent, tool
from strands.models import Model

from backscroll.integrations.strands import ContextManagerPlugin

CHINESE = "数据库连接在第三次重试之后仍然失败，请检查服务器的防火墙设置。"  # noqa: RUF001


def png(width: int = 64, height: int = 64) -> bytes:
    """A grey picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\x00" + b"\x80" * width for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


@tool
def read(path: str, lines: int = 40) -> str:
    """Read a file.

    Args:
        path: Its path.
        lines: How many of its lines.
    """
    return "\n".join(f"{path}: line {number}, value {number * 7919 % 1000}" for number in range(lines))


@tool
def fail(reason: str) -> str:
    """Fail.

    Args:
        reason: Why.
    """
    raise RuntimeError(f"{reason} " * 60)


@tool
def look() -> dict[str, Any]:
    """Take a screenshot."""
    return {
        "status": "success",
        "content": [{"image": {"format": "png", "source": {"bytes": png()}}}, {"text": "seen"}],
    }


@tool
def chinese(lines: int = 20) -> str:
    """Read a log in Chinese.

    Args:
        lines: How many lines.
    """
    return "\n".join(f"{number}: {CHINESE}" for number in range(lines))


@tool
def save(path: str, text: str) -> str:
    """Write a file.

    Args:
        path: Its path.
        text: What to write.
    """
    return f"wrote {len(text)} characters to {path}"


TOOLS = [read, fail, look, chinese, save]


def agent_of(model: Model, *plugins: Any, **options: Any) -> Agent:
    """An agent without output, with our plugin on auto where none is given."""
    given = list(plugins) or [ContextManagerPlugin("auto")]
    settings: dict[str, Any] = {"tools": TOOLS, "context_manager": False, "callback_handler": None, **options}
    return Agent(model=model, plugins=given, **settings)


@contextmanager
def refusals_expected() -> Any:
    """For a block in which the provider may refuse a request: each is told by a warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the provider refused a request", RuntimeWarning)
        yield


def text_of(messages: Any) -> str:
    """Every text of some messages."""
    found = []
    for message in messages:
        for block in message["content"]:
            inner = block.get("toolResult", {}).get("content", ()) if "toolResult" in block else (block,)
            found += [part["text"] for part in inner if "text" in part]
    return "\n".join(found)
