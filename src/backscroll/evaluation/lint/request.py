"""A request as it was sent, in any provider's shape."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from backscroll.evaluation.lint.same import MARK, bare, blocks_of, key
from backscroll.evaluation.transcript import Message, bad
from backscroll.messages.parts import kind_of
from backscroll.tokens.known_models import vendor_of

Shape = Literal["anthropic", "chat", "responses", "gemini", "bedrock"]
LISTS: dict[str, str] = {"input": "responses", "contents": "gemini", "messages": "chat"}
"""Keys under which a body holds its messages."""
_OF_BODIES = frozenset(
    (
        "system", "tools", "max_tokens", "max_completion_tokens", "max_output_tokens", "instructions", "stream",
        "temperature", "top_p", "top_k", "seed", "stop", "stop_sequences", "response_format", "reasoning",
        "reasoning_effort", "parallel_tool_calls", "tool_choice", "stream_options", "service_tier", "prompt_cache_key",
        "thinking", "betas", "output_config", "context_management", "cache_control", "generationConfig",
        "systemInstruction", "system_instruction", "inferenceConfig", "toolConfig", "input", "contents",
    )
)  # fmt: skip  # one thought
"""Keys that a request has and a saved conversation hardly ever."""
_ADDRESSED = frozenset(("model", "modelId", "anthropic_version", "inferenceConfig", "toolConfig", "input", "contents"))
"""Keys of which a request has one: examples for training hold messages and tools as well."""
_ON_THE_SERVER = ("previous_response_id", "conversation", "thread", "cachedContent")
"""Keys of requests whose beginning the provider keeps, so that their messages alone say nothing about it."""


@dataclass(frozen=True)
class Request:
    """One request. Nothing of it is changed."""

    number: int
    """Its place in the order sent, from 1."""
    shape: Shape
    model: str | None
    system: list[Any]
    """The system prompt outside the messages, as blocks."""
    tools: list[dict[str, Any]]
    messages: list[Message]
    body: Mapping[str, Any] = field(default_factory=dict)
    """The whole body; empty for a request of a store, whose tools are not recorded."""
    list_name: str = "messages"
    """The key of the messages in the body."""

    @property
    def known(self) -> bool:
        """Whether its body is known, with tools and system prompt."""
        return bool(self.body)

    @property
    def begins_elsewhere(self) -> bool:
        """Whether the provider has its beginning."""
        return any(self.body.get(name) for name in _ON_THE_SERVER)

    @property
    def vendor(self) -> str | None:
        """Whose model it is for. `None`: unknown, as other vendors offer APIs of these shapes as well."""
        of_shape = {"anthropic": "anthropic", "gemini": "google", "responses": "openai"}
        return vendor_of(self.model) if self.model else of_shape.get(self.shape)

    @property
    def takes_marks(self) -> bool:
        """Whether only marks make a cache: on Anthropic's own API."""
        return self.known and self.shape == "anthropic" and self.vendor == "anthropic"

    @cached_property
    def system_key(self) -> str:
        """Equal for equal system prompts."""
        return key([block for block in self.system if bare(block)])

    @cached_property
    def shown_tools(self) -> list[tuple[int, dict[str, Any]]]:
        """The definitions in the prompt, with their indexes in the body: those that are not deferred."""
        return [(at, tool) for at, tool in enumerate(self.tools) if not tool.get("defer_loading")]

    @cached_property
    def tool_keys(self) -> list[str]:
        """A text for each of `shown_tools`, equal for equal definitions."""
        return [key(tool) for _, tool in self.shown_tools]

    @cached_property
    def message_keys(self) -> list[str]:
        """Equal for equal messages; a text equals one block of it."""
        return [message_key(message) for message in self.messages]

    @cached_property
    def marks(self) -> list[tuple[str, Mapping[str, Any]]]:
        """The places and values of Anthropic's marks, in the order tools, system, messages, with the automatic one
        last.
        """
        found: list[tuple[str, Mapping[str, Any]]] = []
        for at, tool in enumerate(self.tools):
            _add_marks(tool, f"tools[{at}]", found)
        for at, block in enumerate(self.system):
            _add_marks(block, f"system[{at}]", found)
        for at, message in enumerate(self.messages):
            _add_marks(message, f"{self.list_name}[{at}]", found)
        own = self.body.get(MARK)
        return [*found, ("cache_control", own)] if isinstance(own, dict) else found


def message_key(message: Message) -> str:
    """Return a text that is equal for equal messages."""
    content = message.get("content")
    return key({**message, "content": blocks_of(content)} if isinstance(content, str) else message)


def _add_marks(value: Any, where: str, found: list[tuple[str, Mapping[str, Any]]]) -> None:
    if not isinstance(value, dict):
        return
    content = value.get("content")
    for at, block in enumerate(content if isinstance(content, list) else ()):
        _add_marks(block, f"{where}.content[{at}]", found)
    if isinstance(value.get(MARK), dict):
        found.append((where, value[MARK]))


def is_body(value: Any) -> bool:
    """Return whether a JSON value is the body of a request, as opposed to a saved conversation or a message."""
    if not isinstance(value, dict) or "role" in value:
        return False
    if not any(isinstance(value.get(name), list) for name in LISTS) and not isinstance(value.get("input"), str):
        return False
    if value.keys() == {"model", "messages"}:
        return True
    return bool(_OF_BODIES & value.keys()) and bool(_ADDRESSED & value.keys())


def read_body(body: Mapping[str, Any], number: int, name: str) -> Request:
    """Read a body.

    Args:
        body: It, with a list under `messages`, `input` or `contents`.
        number: Its place in the order sent, from 1.
        name: The file, for errors.

    Raises:
        TranscriptError: A message of it has no role.
    """
    list_name = next((each for each in LISTS if isinstance(body.get(each), list | str)), None)
    if list_name is None:
        raise bad(name, f"request {number}: expected a list under {', '.join(map(repr, LISTS))}")
    held = body[list_name]
    messages = [{"role": "user", "content": held}] if isinstance(held, str) else held
    for at, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role", message.get("type")), str):
            if isinstance(message, dict) and list_name == "contents" and "role" not in message:
                continue
            raise bad(name, f"request {number}, {list_name}[{at}]: expected a message with a role")
    if list_name == "contents":
        messages = [{"role": "user", **message} for message in messages]
    model = body.get("model", body.get("modelId"))
    model = model if isinstance(model, str) else None
    shape = _shape(body, list_name, messages, model)
    return Request(
        number=number,
        shape=shape,
        model=model,
        system=_system(body),
        tools=_tools(body),
        messages=messages,
        body=body,
        list_name=list_name,
    )


def _system(body: Mapping[str, Any]) -> list[Any]:
    given = body.get("system") or body.get("instructions")
    gemini = body.get("systemInstruction") or body.get("system_instruction")
    if isinstance(gemini, dict):
        given = gemini.get("parts")
    return blocks_of(given if given is not None else gemini)


def _tools(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one definition a tool: Gemini and Bedrock hold them in lists of their own."""
    config = body.get("toolConfig")
    given = body.get("tools") or (config.get("tools") if isinstance(config, dict) else None)
    found: list[dict[str, Any]] = []
    for tool in given if isinstance(given, list) else ():
        inner = tool.get("functionDeclarations", tool.get("function_declarations")) if isinstance(tool, dict) else None
        found += [each for each in (inner if isinstance(inner, list) else [tool]) if isinstance(each, dict)]
    return found


def _shape(body: Mapping[str, Any], list_name: str, messages: list[Message], model: str | None) -> Shape:
    if list_name == "input":
        return "responses"
    if list_name == "contents":
        return "gemini"
    if not {"inferenceConfig", "toolConfig", "modelId"}.isdisjoint(body):
        return "bedrock"
    for message in messages:
        if message.get("role") == "tool" or message.get("tool_calls"):
            return "chat"
    if "system" in body or "anthropic_version" in body or "anthropic_beta" in body or "thinking" in body:
        return "anthropic"
    if any("input_schema" in tool for tool in _tools(body)):
        return "anthropic"
    kinds = {kind_of(block) for m in messages for block in blocks_of(m.get("content"))}
    if {"tool_use", "tool_result", "thinking"} & kinds:
        return "anthropic"
    system = any(message.get("role") == "system" for message in messages[:1])
    return "anthropic" if vendor_of(model) == "anthropic" and not system else "chat"


def name_of(tool: Mapping[str, Any]) -> str:
    """Return the name of a tool; empty for one without."""
    for holder in (tool, tool.get("function"), tool.get("toolSpec")):
        if isinstance(holder, dict) and isinstance(holder.get("name"), str):
            return str(holder["name"])
    return str(tool.get("type") or "")
