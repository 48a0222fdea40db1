"""A request of the Messages API, read once: betas, thinking, blocks by place, and marks."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from backscroll.evaluation.fake_providers.claude_models import ClaudeModel
from backscroll.evaluation.fake_providers.errors import anthropic_error

BINDING = "thinking-binding-controls-2026-08-01"
ON_DEMAND = "compact-2026-09-04"
THRESHOLD = "compact-2026-01-12"
CLEAR_AT = "mid-conversation-system-clear-at-2026-08-21"
OUTPUT_CONFIG = "mid-conversation-output-config-2026-07-01"
CONTEXT_EDITING = "context-management-2025-06-27"
TOOL_CHANGES = frozenset({"mid-conversation-tool-changes-2026-07-01", "inline-tools-2026-09-15"})

THINKING = ("thinking", "redacted_thinking")


class Place(NamedTuple):
    """A block of `messages`."""

    message: int
    block: int
    role: str
    content: Any
    """The block; a text where `content` is a string."""

    @property
    def path(self) -> str:
        """The place as error messages and `input_transformations` write it."""
        return f"messages.{self.message}.content.{self.block}"

    @property
    def kind(self) -> str:
        """The `type` of the block."""
        return kind(self.content)


def kind(block: Any) -> str:
    """Return the `type` of a block; `text` for a string."""
    return str(block.get("type")) if isinstance(block, dict) else "text"


class AnthropicRequest:
    """A request as its caller passed it. It is not changed."""

    def __init__(self, raw: Mapping[str, Any], model: ClaudeModel) -> None:
        messages = raw.get("messages")
        if not isinstance(messages, list) or not messages:
            raise anthropic_error("messages: at least one message is required")
        self.raw = raw
        self.model = model
        self.messages: list[dict[str, Any]] = messages
        self.system: Any = raw.get("system")
        self.tools: list[dict[str, Any]] = list(raw.get("tools") or [])
        self.thinking: Mapping[str, Any] = raw.get("thinking") or {}
        self.betas: frozenset[str] = _betas(raw)
        self.blocks: list[list[Any]] = [_blocks(message, at) for at, message in enumerate(messages)]

    @property
    def setting(self) -> str | None:
        """`prefix_mismatch_behavior`; `None`: unset."""
        binding = self.thinking.get("block_binding") or {}
        found = binding.get("prefix_mismatch_behavior")
        return None if found is None else str(found)

    @property
    def is_compaction(self) -> bool:
        """Whether the request asks for a compaction on demand."""
        return self.raw.get("compaction") is not None

    def role(self, at: int) -> str:
        """Return the role of a message."""
        return str(self.messages[at].get("role"))

    def extras(self, at: int) -> dict[str, Any] | None:
        """Return the fields of a message next to its role and content, if it has any."""
        others = {key: item for key, item in self.messages[at].items() if key not in ("role", "content")}
        return others or None

    def places(self) -> Iterator[Place]:
        """Yield every block of `messages` in order."""
        for at, blocks in enumerate(self.blocks):
            for number, block in enumerate(blocks):
                yield Place(at, number, self.role(at), block)

    def definition(self, block: Any) -> Any:
        """Return the definition that a `tool_addition` refers to by name; `None` for other blocks.

        Raises:
            FakeProviderError: `tools` has no tool of that name.
        """
        if kind(block) != "tool_addition" or kind(block.get("tool")) != "tool_reference":
            return None
        name = block["tool"].get("name")
        found = next((tool for tool in self.tools if tool.get("name") == name), None)
        if found is None:
            raise anthropic_error(f"Tool reference '{name}' not found in available tools")
        return {key: item for key, item in found.items() if key != "defer_loading"}

    def marks(self) -> list[str]:
        """Return the `ttl` of each `cache_control`, in the order tools, system, messages; nested ones included."""
        return [_ttl(mark) for part in (self.tools, self.system, self.blocks) for mark in _marks(part)]

    @property
    def automatic_mark(self) -> str | None:
        """`ttl` of the top-level `cache_control`, which marks the last block that can bear one."""
        mark = self.raw.get("cache_control")
        return None if mark is None else _ttl(mark)


def _betas(raw: Mapping[str, Any]) -> frozenset[str]:
    """Return the beta values of the parameter `betas` and of the header `anthropic-beta`."""
    found = set(raw.get("betas") or ())
    for headers in (raw.get("headers"), raw.get("extra_headers")):
        for key, value in (headers or {}).items():
            if key.lower() == "anthropic-beta":
                found |= {beta.strip() for beta in value.split(",")}
    return frozenset(found)


def _blocks(message: Any, at: int) -> list[Any]:
    content = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(content, str):
        return [content] if content else []
    if not isinstance(content, list):
        raise anthropic_error(f"messages.{at}.content: Input should be a valid list")
    for number, block in enumerate(content):
        if not isinstance(block, dict):
            raise anthropic_error(f"messages.{at}.content.{number}: Input should be an object")
    return content


def _marks(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the marks of tools or blocks, and of the blocks inside them."""
    if isinstance(value, list):
        for item in value:
            yield from _marks(item)
    elif isinstance(value, dict):
        yield from _marks(value.get("content"))
        if value.get("cache_control") is not None:
            yield value["cache_control"]


def last_mark(block: Any) -> str | None:
    """Return the `ttl` of the last mark on or inside a block."""
    found = list(_marks(block))
    return _ttl(found[-1]) if found else None


def _ttl(mark: Mapping[str, Any]) -> str:
    return str(mark.get("ttl") or "5m")
