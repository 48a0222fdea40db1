"""The oracle's own reader: calls, results and texts of a message in any dialect.

Separate from `backscroll.messages` on purpose: a mistake in the reader that builds views must not also blind their
judge.
"""

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple

from backscroll.evaluation.authors import is_injected, is_observation
from backscroll.evaluation.items import ANSWERS, ASKED, NEEDED, NOTES, OF_HOSTS, id_of, is_item
from backscroll.evaluation.odd_parts import (
    Frame,
    frame_of,
    is_empty,
    is_reasoning,
    is_step,
    said_in,
    said_steps,
    server_call,
    server_result,
)

Message = dict[str, Any]


class Call(NamedTuple):
    """A tool call of an assistant message."""

    id: str
    arguments: Any
    """A JSON text or a structured value, depending on the dialect; `None` for free text that need not be JSON."""
    form: Literal["text", "object", "any"] = "any"
    """What the dialect takes: a JSON text, an object, or either."""


def items(message: Message) -> list[Message]:
    """Return the items that a message holds; none if its content is anything else."""
    found = blocks(message)
    return found if found and all(map(is_item, found)) else []


def is_gemini(message: Message) -> bool:
    """Return whether this is a content of Gemini."""
    return "parts" in message and "content" not in message


def _role_of(message: Message) -> str | None:
    kind = message.get("type")
    if message.get("role") == "model":
        return "assistant"
    if "role" in message or not is_item(message):
        return message.get("role")
    if kind in OF_HOSTS:
        return "developer"
    return "tool" if kind in ANSWERS.values() else "assistant"


def _call_of(item: Message) -> list[Call]:
    known = id_of(item)
    if item.get("type") not in ANSWERS or not known:
        return []
    asked = next((item[key] for key in ASKED if item.get(key) is not None), None)
    return [Call(known, asked, "text" if item["type"] == "function_call" else "any")]


def _result_of(item: Message) -> list[str]:
    return [id_of(item)] if item.get("type") in ANSWERS.values() and id_of(item) else []


def blocks(message: Message) -> list[dict[str, Any]]:
    """Return the content blocks of a message, also those in steps, or the parts of a content of Gemini."""
    content = message.get("parts" if is_gemini(message) else "content")
    return [block for block in said_steps(content) if isinstance(block, dict)] if isinstance(content, list) else []


def calls(message: Message) -> list[Call]:
    """Return the calls next to the content, and those inside it that do not repeat one of them."""
    if is_item(message):
        return _call_of(message)
    if held := items(message):
        return [call for item in held for call in _call_of(item)]
    listed = message.get("tool_calls")
    found = [_listed(call) for call in listed if isinstance(call, dict)] if isinstance(listed, list) else []
    legacy = message.get("function_call")
    if isinstance(legacy, dict):
        found.append(Call(f"function:{legacy.get('name')}", legacy.get("arguments"), "text"))
    known = {call.id for call in found}
    for block in blocks(message):
        if block.get("type") in ("tool_use", "tool_call") and str(block.get("id") or "") not in known:
            found.append(Call(str(block.get("id") or ""), block.get("input"), "object"))
        elif block.get("type") == "function_call" and is_step(block):
            found.append(Call(str(block.get("id") or ""), block.get("arguments"), "object"))
        elif isinstance(use := block.get("toolUse"), dict) and server_call(block) is None:
            found.append(Call(str(use.get("toolUseId") or ""), use.get("input"), "object"))
        elif (call := _of_gemini(block, "functionCall", "function_call")) is not None:
            given = call.get("args")
            found.append(Call(str(call.get("id") or unnamed(call)), given, "any" if given is None else "object"))
    return found


def _of_gemini(part: dict[str, Any], *keys: str) -> dict[str, Any] | None:
    return next((part[key] for key in keys if isinstance(part.get(key), dict)), None)


def unnamed(holder: dict[str, Any]) -> str:
    """Return what a call or a response of Gemini without an id is known by: its function."""
    return f"{holder.get('name')}()"


def responses(message: Message) -> list[dict[str, Any]]:
    """Return the responses in a content of Gemini."""
    found = [_of_gemini(part, "functionResponse", "function_response") for part in blocks(message)]
    return [response for response in found if response is not None]


def _listed(call: dict[str, Any]) -> Call:
    known = str(call.get("id") or "")
    if isinstance(call.get("custom"), dict):
        return Call(known, None)
    function = call.get("function")
    if isinstance(function, dict):
        return Call(known, function.get("arguments"), "text")
    return Call(known, call.get("arguments"))


def in_blocks(message: Message) -> bool:
    """Return whether the calls are in the content, where providers merge adjacent messages of one role."""
    calls_in = ("toolUse", "functionCall", "function_call")
    kinds = ("tool_use", "function_call")
    return any(block.get("type") in kinds or not block.keys().isdisjoint(calls_in) for block in blocks(message))


def results(message: Message) -> list[str]:
    """Return the ids of the calls that a message answers."""
    if is_item(message):
        return _result_of(message)
    if held := items(message):
        return [answered for item in held for answered in _result_of(item)]
    if message.get("role") == "tool":
        return [str(message.get("tool_call_id") or "")]
    if message.get("role") == "function":
        return [f"function:{message.get('name')}"]
    found = []
    for block in blocks(message):
        if block.get("type") == "tool_result":
            found.append(str(block.get("tool_use_id") or block.get("tool_call_id") or ""))
        elif block.get("type") == "function_result":
            found.append(str(block.get("call_id") or ""))
        elif isinstance(block.get("toolResult"), dict) and server_result(block) is None:
            found.append(str(block["toolResult"].get("toolUseId") or ""))
    return found + [str(response.get("id") or unnamed(response)) for response in responses(message)]


def text(message: Message) -> str:
    """Return all text that the author of a message wrote: no calls, no results."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in blocks(message) if isinstance(block.get("text"), str))


def sameness(message: Message) -> tuple[str, str]:
    """Return a key that equal messages share: role and content, without annotations, nulls and reasoning.

    Reasoning may leave a message, because providers bind it to what came before. With it goes what names an output
    message on OpenAI's servers: what is left is its text. Blocks without content leave it as well.
    """
    if is_item(message) and message["type"] != "message":
        said = {key: value for key, value in message.items() if key not in NOTES}
        return str(_role_of(message)), json.dumps(_without_nulls(said), sort_keys=True)
    content = message.get("parts" if is_gemini(message) else "content") or ""
    if isinstance(content, list):
        content = (
            _said(message, [block for block in said_steps(content) if not is_reasoning(block) and not is_empty(block)])
            or ""
        )
    elif isinstance(content, str) and not content.strip():
        content = ""
    # a text is its own key: Python caches its hash, and a judge sees every message many times
    text = content if isinstance(content, str) else json.dumps(_without_nulls(content), sort_keys=True)
    return str(_role_of(message)), text


def _signature_of(part: dict[str, Any]) -> Any:
    return part.get("thoughtSignature") or part.get("thought_signature")


def _said(message: Message, content: list[Any]) -> Any:
    """Return what an output message of the Responses API says as one text; any other content as it is. Answers of
    Anthropic are of the type `message` as well.
    """
    if message.get("type") != "message" or all(block.get("type") == "text" for block in blocks(message)):
        return content
    return "\n".join(str(block.get("text", block.get("refusal", ""))) for block in content if isinstance(block, dict))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


_CARRIES = ("function_call", "refusal", "audio", "reasoning_content", "thinking_block", "tool_calls")
"""Keys that carry what a message without content says."""


def _contents(message: Message) -> list[Any]:
    """Return what each result holds, in the order of `results`."""
    if is_item(message):
        return [_content_of(message)]
    if held := items(message):
        return [_content_of(item) for item in held if _result_of(item)]
    if message.get("role") in ("tool", "function"):
        return [message.get("content")]
    found: list[Any] = []
    for block in blocks(message):
        if block.get("type") == "tool_result":
            found.append(block.get("content", block.get("output")))
        elif block.get("type") == "function_result":
            found.append(block.get("result"))
        elif isinstance(block.get("toolResult"), dict) and server_result(block) is None:
            found.append(block["toolResult"].get("content"))
    return found + [response.get("response") for response in responses(message)]


def _content_of(item: Message) -> Any:
    return next((item[key] for key in ("output", "tools", "result") if key in item), None)


class Shape:
    """A message whose calls and results are read once; everything else is read on first use."""

    def __init__(self, message: Message, whole: "Shape | None" = None) -> None:
        self._message = message
        self.role: str | None = _role_of(message)
        self.calls: list[Call] = calls(message)
        self.results: list[str] = results(message)
        self.is_gemini: bool = is_gemini(message)
        self.is_item: bool = is_item(message)
        """Whether it is an item of the Responses API, of which several are one message of the history."""
        self.whole: Shape = whole or self
        """The message that holds it."""
        self.place = 0
        """Index of `whole` in the history."""

    @cached_property
    def pieces(self) -> list["Shape"]:
        """Its items; itself if it holds none."""
        return [Shape(item, self) for item in items(self._message)] or [self]

    @property
    def is_made(self) -> bool:
        """Whether it is an item that a model made."""
        return self.is_item and self.role == "assistant"

    @property
    def is_reasoning(self) -> bool:
        """Whether it is a reasoning item."""
        return self.is_item and self._message["type"] == "reasoning"

    @cached_property
    def thoughts(self) -> frozenset[str]:
        """The reasoning in its content, each as JSON."""
        found = [block for block in blocks(self._message) if is_reasoning(block) and not is_item(block)]
        found = [block for block in found if not is_empty(block)]
        if self.is_gemini:  # a signature holds for its part as it is
            found = [_without_nulls(part) for part in blocks(self._message) if _signature_of(part)]
        if self.has_steps:  # and that of a thought for the step behind it
            steps = self._message["content"]
            pairs = zip(steps, [*steps[1:], {}], strict=True)
            found = [{"thought": one, "before": other} for one, other in pairs if one.get("type") == "thought"]
        return frozenset(json.dumps(block, sort_keys=True) for block in found)

    @property
    def is_program(self) -> bool:
        """Whether it is a program, which goes on while the calls that it makes are answered."""
        return self.is_item and self._message["type"] == "program"

    @property
    def program(self) -> str | None:
        """The program that makes this call, if one does."""
        caller = self._message.get("caller") if self.is_item and self.calls else None
        return caller.get("caller_id") if isinstance(caller, dict) and caller.get("type") == "program" else None

    @property
    def is_needed(self) -> bool:
        """Whether it is an item that every view must hold."""
        return self.is_item and self._message["type"] in NEEDED

    @cached_property
    def is_compaction(self) -> bool:
        """Whether it is, or holds, what a provider made of earlier messages."""
        held = [self._message] if self.is_item else blocks(self._message)
        return any(
            block.get("type") == "compaction" and (block.get("content") or block.get("encrypted_content"))
            for block in held
        )

    @property
    def is_summary(self) -> bool:
        """Whether its text is synthetic: a summary, or notes next to a compaction."""
        return self.text.startswith("<summary>") and self.text.endswith("</summary>")

    @property
    def item_id(self) -> str | None:
        """The id under which a server knows an item."""
        return self._message.get("id") if self.is_item else None

    @cached_property
    def in_blocks(self) -> bool:
        """Whether the calls are in the content."""
        return in_blocks(self._message)

    @cached_property
    def block_results(self) -> list[bool]:
        """For each content block, whether it is a result; empty unless a user's message has one."""
        answers_in = ("toolResult", "functionResponse", "function_response")
        found = [
            block.get("type") in ("tool_result", "function_result")
            or any(block.get(key) is not None for key in answers_in)
            for block in blocks(self._message)
        ]
        return found if self.role == "user" and True in found else []

    @cached_property
    def is_bedrock(self) -> bool:
        """Whether the results are Bedrock's."""
        return any("toolResult" in block for block in blocks(self._message))

    @cached_property
    def has_steps(self) -> bool:
        """Whether its content are steps of Gemini's Interactions."""
        content = self._message.get("content")
        return isinstance(content, list) and bool(content) and all(map(is_step, content))

    @property
    def is_strict(self) -> bool:
        """Whether all results of a round must be in one message: with Bedrock and Gemini."""
        return self.is_gemini or self.is_bedrock

    def answer_by_name(self, open_calls: Sequence[tuple[str, str]]) -> None:
        """Name the calls that the responses of Gemini without an id answer: each the next open one of its function.

        Args:
            open_calls: Calls without a response, as id and function, the next to be answered first.
        """
        left = list(open_calls)
        self.results = []
        for response in responses(self._message):
            name, known = response.get("name"), response.get("id")
            found = next((call for call in left if call[0] == known or (not known and call[1] == name)), None)
            self.results.append(found[0] if found else str(known or unnamed(response)))
            left = [call for call in left if call is not found]

    @cached_property
    def frames(self) -> list[Frame]:
        """The results that a message of the user shows as text."""
        if self.role != "user":
            return []
        content = self._message.get("content")
        texts = [content] if isinstance(content, str) else [block.get("text") for block in blocks(self._message)]
        return [found for text in texts if (found := frame_of(text)) is not None]

    @cached_property
    def rest(self) -> tuple[str, str] | None:
        """The key of what a message says next to its results; `None` if it says nothing else."""
        if not self.results and not self.frames:
            return self.sameness
        if self.role in ("tool", "function"):
            return None
        left = [
            block
            for block in blocks(self._message)
            if not results({"role": "user", "content": [block]}) and frame_of(block.get("text")) is None
        ]
        found = sameness({**self._message, "parts" if self.is_gemini else "content": left})
        return found if found[1] and not self.is_item else None

    @cached_property
    def parted(self) -> list[tuple[str, str]]:
        """Keys of the message without calls or results of server tools, which may have to leave it."""
        own = blocks(self._message)
        if not any(server_call(block) is not None or server_result(block) is not None for block in own):
            return []
        key = "parts" if self.is_gemini else "content"
        without = [
            [block for block in own if server_call(block) is None],
            [block for block in own if server_result(block) is None],
            [block for block in own if server_call(block) is None and server_result(block) is None],
        ]
        return [sameness({**self._message, key: left}) for left in without]

    @cached_property
    def answers(self) -> list[tuple[str, Any]]:
        """The id and the content of each result."""
        return list(zip(self.results, _contents(self._message), strict=True)) if self.results else []

    @property
    def held(self) -> Message:
        """The message itself. It is not changed."""
        return self._message

    @cached_property
    def is_nothing(self) -> bool:
        """Whether it says nothing at all: no text, no call, no result."""
        if self.calls or self.results or self.is_item or self.is_system:
            return False
        others = any(self._message.get(key) for key in _CARRIES)
        return not others and not self.sameness[1] and not self.thoughts

    @property
    def has_objects(self) -> bool:
        """Whether each response of Gemini holds an object, as it must."""
        return all(isinstance(response.get("response", {}), dict) for response in responses(self._message))

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """What distinguishes the calls of this message from others of the same functions, if they have no ids."""
        if not self.is_gemini or not any(
            call.id == f"{name}()" for call, (_, name) in zip(self.calls, self.functions, strict=True)
        ):
            return ()
        return tuple(sorted(self.thoughts)) or (self.text,)

    @property
    def functions(self) -> list[tuple[str, str]]:
        """The calls of a content of Gemini, as id and function."""
        held = [_of_gemini(part, "functionCall", "function_call") for part in blocks(self._message)]
        return [(str(call.get("id") or unnamed(call)), str(call.get("name"))) for call in held if call is not None]

    @cached_property
    def text(self) -> str:
        """All text that the author wrote."""
        return text(self._message)

    @cached_property
    def sameness(self) -> tuple[str, str]:
        """The key that equal messages share."""
        return sameness(self._message)

    @property
    def said(self) -> str:
        """The texts of all its results, for comparisons."""
        return "\n".join(text for _, content in self.answers for text in said_in(content))

    @cached_property
    def is_system(self) -> bool:
        """Whether it is an instruction of the host."""
        return self.role in ("system", "developer")

    @cached_property
    def is_users(self) -> bool:
        """Whether a user wrote it: no tool results, nothing inserted, no observation."""
        held = self._message
        return held.get("role") == "user" and not (results(held) or is_injected(held) or is_observation(held))


def name_answers(messages: Sequence[Shape]) -> None:
    """Find in order which calls the responses of Gemini without an id answer; the nearest calls come first."""
    waiting: list[tuple[str, str]] = []
    for message in messages:
        if not message.is_gemini:
            continue
        if message.results:
            message.answer_by_name(waiting)
            for known in message.results:
                found = next((call for call in waiting if call[0] == known), None)
                waiting = [call for call in waiting if call is not found]
        if message.calls:
            waiting = [*message.functions, *waiting]
