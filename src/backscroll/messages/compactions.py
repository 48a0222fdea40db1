"""Compactions by a provider: opaque blocks and items that represent the beginning of a conversation.

Anthropic signs a block that it makes on demand, and puts one that it makes by threshold first into a reply. OpenAI's
endpoint returns items, of which one is the compaction. Each goes back as it came, but for an `id` that demands
reasoning. Sources: "Compaction on demand" and "Compaction" of Anthropic, "Compaction" of OpenAI, and the types of
anthropic 2.12 and openai 3.54.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from backscroll.errors import MessageError
from backscroll.messages.dialects.response_items import PAIRS, is_item
from backscroll.messages.parts import COMPACTION, Message, is_compaction, kind_of
from backscroll.messages.reasoning import without_demands
from backscroll.messages.validation import validated

_MOST_QUOTED = 200  # characters of an answer that a reason quotes


class NativeAnswer(NamedTuple):
    """What a function that asks a provider for a compaction returned."""

    message: Message | None
    """Holds the block or the items. `None`: there is no compaction."""
    reason: str
    """Why there is none; empty if there is one."""
    keeps: bool = False
    """Whether its provider keeps later reasoning valid: it is signed or encrypted, not only a text."""
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0


def read_answer(answer: Any) -> NativeAnswer:
    """Read what a function returned: a response of either provider, its content, or the block alone.

    Objects of the providers' clients are read by their `model_dump`. Never raises.
    """
    if isinstance(answer, Exception):
        return NativeAnswer(None, f"{type(answer).__name__}: {answer}")
    try:
        return _read(_dumped(answer))
    except Exception as error:  # the answer is the user's: anything may be in it
        return NativeAnswer(None, f"its answer cannot be read: {error!r:.{_MOST_QUOTED}}")


def _dumped(answer: Any) -> Any:
    if isinstance(answer, list | tuple):
        return [_dumped(each) for each in answer]
    dump = getattr(answer, "model_dump", None)
    return dump(mode="json") if callable(dump) and not isinstance(answer, type) else answer


def _read(answer: Any) -> NativeAnswer:
    if kind_of(answer) == COMPACTION:
        return _of_content([answer], {})
    if isinstance(answer, list):
        return _of_content(answer, {})
    if isinstance(answer, Mapping):
        content = answer.get("content", answer.get("output"))
        if isinstance(content, list):
            return _of_content(content, answer)
    return NativeAnswer(None, f"it must return a compaction block or a response with one, not {answer!r:.80}")


def _of_content(content: list[Any], response: Mapping[str, Any]) -> NativeAnswer:
    stop = response.get("stop_reason")
    model, spent = str(response.get("model") or ""), _usage(response.get("usage"))
    found = [block for block in content if kind_of(block) == COMPACTION]
    if len(found) != 1:
        why = f", stop_reason {stop!r}" if stop else ""
        return NativeAnswer(None, f"it returned {len(found)} compactions, not one{why}", False, model, *spent)
    if not is_compaction(found[0]):
        return NativeAnswer(None, "its compaction is empty", False, model, *spent)
    if is_item(_plain(found[0])):
        content = [item for item in content if not _is_synthetic(item)]
        fault = _items_fault(content)
        content = without_demands(content)  # the reasoning is compacted, also where the provider keeps its messages
    else:
        fault = "" if len(content) == 1 else "its answer holds more than the compaction block"
    text = found[0].get("content")
    if not fault and "content" in found[0] and not (isinstance(text, str) or found[0].get("encrypted_content")):
        fault = "the content of its block is no text"
    if fault:
        return NativeAnswer(None, fault, False, model, *spent)
    try:
        message = validated({"role": "assistant", "content": [_plain(block) for block in content]})
    except MessageError as error:
        return NativeAnswer(None, str(error), False, model, *spent)
    keeps = bool(found[0].get("signature")) or is_item(_plain(found[0]))
    return NativeAnswer(message, "", keeps, model, *spent)


def _items_fault(items: list[Any]) -> str:
    """Return why items cannot represent messages: each must be complete by itself."""
    if not all(is_item(item) for item in items):
        return "its answer holds something that is no item of the Responses API"
    odd = next((kind for item in items if (kind := kind_of(item)) in PAIRS or kind == "reasoning"), None)
    return "" if odd is None else f"its answer holds an item of type {odd!r}: return the items of a compaction only"


def _is_synthetic(item: Any) -> bool:
    """Return whether an item repeats a summary or notes of ours: OpenAI keeps what has the user's role."""
    if kind_of(item) != "message" or item.get("role") != "user":
        return False
    content = item.get("content")
    parts = content if type(content) is list else [{"text": content}]
    texts = [part.get("text") for part in parts if type(part) is dict]
    said = "".join(text for text in texts if type(text) is str)
    return said.startswith("<summary>") and said.endswith("</summary>")


def _plain(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return a block without nulls, which only responses have: a request with them is refused."""
    return {key: value for key, value in block.items() if value is not None}


def _usage(usage: Any) -> tuple[int, int]:
    """Return input and output tokens. Anthropic lists those of a compaction in `iterations`, next to zeros."""
    if not isinstance(usage, Mapping):
        return 0, 0
    calls = usage.get("iterations") or [usage]
    sums = [0, 0]
    for call in calls:
        for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"):
            sums[0] += _whole(call.get(name))
        sums[1] += _whole(call.get("output_tokens"))
    return sums[0], sums[1]


def _whole(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0
