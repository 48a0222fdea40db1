"""What the oracle knows of odd parts of messages: half characters, empty blocks, server tools, results sent as text.

It reads no more than one block or text at a time, and shares no code with the library.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

Block = dict[str, Any]

_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_LONE = re.compile("[\ud800-\udfff]")
_FRAME = re.compile(r"(?:Later result of|Result of an unknown call) (.*?) ?\[ref:(\d+)(?:\.[\d.]+)?\]:", re.DOTALL)
_RANGE = re.compile(r"\[ref:(\d+)(?:\.[\d.]+)?(?:-(\d+))?[\].,]")
_PLACEHOLDERS = ("[no result recorded", "[not run:")
_REASONING = ("thinking", "redacted_thinking", "reasoning")
_NOT_SAID = frozenset(("type", "id", "call_id", "tool_use_id", "tool_call_id", "toolUseId", "name", "status", "role"))


_SERVER_TOOLS = (
    "code_execution", "file_search", "google_maps", "google_search", "mcp_server_tool", "processing", "retrieval",
    "tool_search", "url_context",
)  # fmt: skip  # one thought
_SPOKEN = ("user_input", "model_output")
_STEP_CALLS = frozenset(f"{tool}_call" for tool in _SERVER_TOOLS)
_STEP_RESULTS = frozenset(f"{tool}_result" for tool in _SERVER_TOOLS)
_STEPS = frozenset((*_SPOKEN, "thought", "function_call", "function_result")) | _STEP_CALLS | _STEP_RESULTS
_OF_ITEMS = frozenset(("queries", "execution", "status"))
"""Keys of items of the Responses API whose types steps have as well."""


def is_step(block: Any) -> bool:
    """Return whether a block is a step of Gemini's Interactions. A call of the Responses API has a `call_id`."""
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str) or kind not in _STEPS:
        return False
    return not kind.endswith("_call") or not ("call_id" in block or _OF_ITEMS & block.keys())


def said_steps(content: list[Any]) -> list[Any]:
    """Return blocks, and those that a step of a user or the model says in place of the step."""
    if not any(isinstance(block, dict) and block.get("type") in _SPOKEN for block in content):
        return content
    found: list[Any] = []
    for block in content:
        is_said = isinstance(block, dict) and block.get("type") in _SPOKEN
        found += (block.get("content") or ()) if is_said else [block]
    return found


def whole_characters(value: Any) -> Any:
    """Return a JSON value as a provider can read it: two halves of a character become it, a lone one U+FFFD."""
    if isinstance(value, str):
        if value.isascii() or not _LONE.search(value):
            return value
        joined = _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), value)
        return _LONE.sub("�", joined)
    if isinstance(value, dict):
        return {whole_characters(key): whole_characters(item) for key, item in value.items()}
    return [whole_characters(item) for item in value] if isinstance(value, list) else value


def has_halves(value: Any) -> bool:
    """Return whether any text of a JSON value holds half a character."""
    return any(not text.isascii() and _LONE.search(text) is not None for text in _texts(value, frozenset(), keys=True))


def is_empty(block: Any) -> bool:
    """Return whether a content block says nothing: a blank text without a signature, or reasoning without one."""
    if isinstance(block, str):
        return not block.strip()
    if not isinstance(block, dict) or block.get("thoughtSignature") or block.get("thought_signature"):
        return False
    kind = block.get("type")
    if kind == "thinking":  # hosts keep the reasoning of other providers in blocks with more fields
        return not block.get("signature") and not {"content", "visibility"} & block.keys()
    is_text = kind in (None, "text", "input_text", "output_text")
    return is_text and isinstance(block.get("text"), str) and not block["text"].strip()


def is_reasoning(block: Any) -> bool:
    """Return whether a content block is a model's reasoning."""
    return isinstance(block, dict) and (block.get("type") in _REASONING or "reasoningContent" in block)


def server_call(block: Block) -> str | None:
    """Return the id of a call that the provider runs itself; `None` for other blocks."""
    if block.get("type") in ("server_tool_use", "mcp_tool_use"):
        return str(block.get("id"))
    if block.get("type") in _STEP_CALLS and is_step(block):
        return str(block.get("id"))
    for key in ("toolCall", "tool_call", "toolUse"):
        held = block.get(key)
        if isinstance(held, dict) and (key != "toolUse" or held.get("type") == "server_tool_use"):
            return str(held.get("id", held.get("toolUseId")))
    return None


def server_result(block: Block) -> str | None:
    """Return the id of the server's call whose result a block is; `None` for other blocks."""
    if block.get("type") in _STEP_RESULTS:
        return str(block.get("call_id"))
    if str(block.get("type")).endswith("_tool_result"):
        return str(block.get("tool_use_id"))
    for key in ("toolResponse", "tool_response", "toolResult"):
        held = block.get(key)
        if isinstance(held, dict) and (key != "toolResult" or held.get("type") is not None):
            return str(held.get("id", held.get("toolUseId")))
    return None


class Frame(NamedTuple):
    """A result that is shown as text of the user, because it cannot follow its call."""

    named: str
    """The tool and the id of the call, as the text names them."""
    place: int
    """The `seq` of the message that holds it."""
    text: str


def frame_of(text: Any) -> Frame | None:
    """Return the framed result that a text of the user is; `None` for other texts."""
    found = _FRAME.match(text) if isinstance(text, str) else None
    return Frame(found[1], int(found[2]), text[found.end() :]) if found else None


def is_placeholder(text: str) -> bool:
    """Return whether a result says that none was recorded."""
    return text.startswith(_PLACEHOLDERS)


def references(text: str) -> Iterator[tuple[int, int]]:
    """Yield the first and last `seq` of each reference in a text."""
    for found in _RANGE.finditer(text):
        yield int(found[1]), int(found[2] or found[1])


def said_in(value: Any) -> list[str]:
    """Return the texts of a result, without names and ids."""
    return list(_texts(value, _NOT_SAID))


def all_texts(value: Any) -> list[str]:
    """Return every text of a JSON value."""
    return list(_texts(value, frozenset()))


def _texts(value: Any, without: frozenset[str], *, keys: bool = False) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in without:
                if keys:
                    yield str(key)
                yield from _texts(item, without, keys=keys)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, without, keys=keys)


def shares(shown: str, original: str) -> bool:
    """Return whether a text shows another one: its beginning or its end, also where it is escaped."""
    whole, cut = plain(original), plain(shown)
    return not whole or whole[:_ENOUGH] in cut or whole[-_ENOUGH:] in cut


_ENOUGH = 12  # letters at one end that identify a text
_ESCAPES = re.compile(r"&(?:lt|gt|amp);|\\[nrtu]")
_OTHERS = re.compile(r"[\W_]+")


def plain(text: str) -> str:
    """Return the letters and digits of a text, by which it is known again after escapes and line breaks."""
    return _OTHERS.sub("", _ESCAPES.sub(" ", text))
