"""What a provider takes, and what of a history a view may show. Written from the providers' rules; knows no line of the
library.

A message is looked at as its *bits*: texts, calls, results, media. The rules of the wire are those of the request alone
(`taken`); the rules of what is shown hold a view against the history as it is now (`shown`).
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from itertools import pairwise
from typing import Any, NamedTuple

from tests.views import said_in

Message = dict[str, Any]
History = Sequence[tuple[int, Message]]
"""The messages of the present branch, each with its number."""
CLOSED = "[no result recorded] Still waiting: the result may come later, or the process ended before this was recorded."
_FRAME = re.compile(
    r"(Later result of|Result of an unknown call) ([^\n]*) \[ref:(\d+)\]:\n<result>\n(.*)\n</result>", re.DOTALL
)
"""A result that can no longer follow its call, as text of the user where it came."""
_REFERENCE = re.compile(r"\[ref:(\d+)(?:-(\d+))?(?:\.\d+)?\]")
_CUT = re.compile(r"\[\.\.\. [\d,]+ characters left out, recall \[ref:(\d+)(?:\.\d+)?\] \.\.\.\]")
_STUB = re.compile(r"\[[^\n]*recall \[ref:(\d+)(?:\.\d+)?\]\]")
_QUOTED = 24  # characters of its beginning by which a quote is known
_ITEMS = ("message", "reasoning", "function_call", "function_call_output")
_BY_KEY = ("text", "toolUse", "toolResult", "image", "functionCall", "functionResponse", "inlineData")
"""Keys that tell blocks of Bedrock and parts of Gemini apart."""


_IN_BLOCKS = ("anthropic", "bedrock", "gemini", "interactions")


class Bit(NamedTuple):
    """One thing that a message says or brings."""

    role: str
    kind: str
    """`text`, `call`, `result`, `media`, `reasoning`."""
    id: str
    """Of a call and of what answers it."""
    body: str
    """The text, or the JSON of arguments and media."""


def bits(message: Message) -> list[Bit]:
    """Everything in a message, in order."""
    if message.get("type") in _ITEMS:
        return _item(message)
    held = message.get("content")
    if held and isinstance(held, list) and held[0].get("type") in _ITEMS and not _is_step(held[0]):
        return [bit for item in held for bit in _item(item)]
    role, content = str(message["role"]), message.get("content", message.get("parts"))
    role = "assistant" if role == "model" else role
    if role == "tool":
        return [Bit("user", "result", message["tool_call_id"], str(content))]
    listed = [_listed(call) for call in message.get("tool_calls") or ()]
    known = {call.id for call in listed}
    if isinstance(content, str):
        said = [Bit(role, "text", "", content)] if content else []
    else:
        said = [
            bit for block in said_in(content or []) if (bit := _bit(role, block)).kind != "call" or bit.id not in known
        ]
    return said + listed


def _is_step(block: Message) -> bool:
    """Whether a call is one of Gemini's Interactions, whose id has another name."""
    return block.get("type") == "function_call" and "call_id" not in block


def _item(item: Message) -> list[Bit]:
    """What an item of the Responses API says or brings."""
    if item["type"] == "message":
        content = item["content"]
        parts = [{"text": content}] if isinstance(content, str) else content
        return [Bit(item["role"], "text", "", part["text"]) for part in parts]
    if item["type"] == "function_call":
        return [Bit("assistant", "call", item["call_id"], item["arguments"])]
    if item["type"] == "reasoning":
        return [Bit("assistant", "reasoning", item["id"], _json(item))]
    return [Bit("user", "result", item["call_id"], item["output"])]


def _listed(call: Message) -> Bit:
    arguments = call["function"]["arguments"] if "function" in call else call["arguments"]
    return Bit("assistant", "call", call["id"], arguments if isinstance(arguments, str) else _json(arguments))


def _bit(role: str, block: Message) -> Bit:
    kind = block.get("type") or next(key for key in _BY_KEY if key in block)
    if kind in ("text", "input_text"):
        return Bit(role, "text", "", block["text"])
    if kind in ("tool_use", "tool_call"):
        return Bit(role, "call", block["id"], _json(block["input"]))
    if kind == "toolUse":
        return Bit(role, "call", block["toolUse"]["toolUseId"], _json(block["toolUse"]["input"]))
    if kind == "tool_result":
        return Bit(role, "result", block["tool_use_id"], block["content"])
    if kind == "function_call":
        return Bit(role, "call", block["id"], _json(block["arguments"]))
    if kind == "function_result":
        return Bit(role, "result", block["call_id"], block["result"])
    if kind == "thought":
        return Bit(role, "reasoning", block["signature"], "")
    if kind == "toolResult":
        (inner,) = block["toolResult"]["content"]
        return Bit(role, "result", block["toolResult"]["toolUseId"], inner["text"])
    if kind == "functionCall":
        return Bit(role, "call", block[kind]["id"], _json(block[kind]["args"]))
    if kind == "functionResponse":
        (text,) = block[kind]["response"].values()
        return Bit(role, "result", block[kind]["id"], text)
    return Bit(role, "media", "", _json(block))


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


# -- what a provider takes --


def taken(view: Sequence[Message], dialect: str) -> list[str]:
    """What a provider would refuse in these messages."""
    found = [*_empty(view), *_unreadable(view)]
    if dialect == "responses":
        return found + list(_rounds_of_items(view))
    if dialect == "bedrock":
        found += _in_a_row(view)
    return found + list(_rounds_in_blocks(view) if dialect in _IN_BLOCKS else _rounds(view))


def _empty(view: Sequence[Message]) -> Iterator[str]:
    for at, message in enumerate(view):
        said = bits(message)
        if not said:
            yield f"view[{at}] is empty"
        if any(bit.kind == "text" and not bit.body.strip() for bit in said):
            yield f"view[{at}] has an empty text"


def _unreadable(view: Sequence[Message]) -> Iterator[str]:
    """Half a character, which no client can encode."""
    for at, message in enumerate(view):
        try:
            json.dumps(message, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            yield f"view[{at}] holds half a character"


def _in_a_row(view: Sequence[Message]) -> Iterator[str]:
    """Bedrock: the user and the model take turns."""
    said = [(at, message["role"]) for at, message in enumerate(view) if message["role"] != "system"]
    for (_, role), (at, other) in pairwise(said):
        if role == other:
            yield f"view[{at}] has the role of the one before it, {role}"


def _rounds(view: Sequence[Message]) -> Iterator[str]:
    """OpenAI, and Amplifier: behind calls stands one message of the role `tool` for each."""
    at = 0
    while at < len(view):
        calls = Counter(bit.id for bit in bits(view[at]) if bit.kind == "call")
        start = at = at + 1
        if view[start - 1]["role"] == "tool":
            yield f"view[{start - 1}] answers {view[start - 1]['tool_call_id']!r}, which was not called directly before"
        while calls and at < len(view) and view[at]["role"] == "tool":
            at += 1
        answered = Counter(message["tool_call_id"] for message in view[start:at])
        yield from _unequal(calls, answered, start - 1)


def _rounds_in_blocks(view: Sequence[Message]) -> Iterator[str]:
    """Anthropic, Bedrock and Gemini: behind calls stands one message of the user that begins with all their results."""
    calls: Counter[str] = Counter()
    for at, message in enumerate(view):
        said = bits(message)
        results = [bit for bit in said if bit.kind == "result"]
        if results != said[: len(results)]:
            yield f"view[{at}] has something before its results"
        yield from _unequal(calls, Counter(bit.id for bit in results), at - 1)
        calls = Counter(bit.id for bit in said if bit.kind == "call")
        if calls and results:
            yield f"view[{at}] calls and answers"
    yield from _unequal(calls, Counter(), len(view) - 1)


def _rounds_of_items(view: Sequence[Message]) -> Iterator[str]:
    """OpenAI's Responses API: each call has its output behind it, before anybody else speaks, and reasoning comes
    before something that the model made.
    """
    calls: Counter[str] = Counter()
    for at, item in enumerate(view):
        kind = item.get("type")
        after = view[at + 1].get("type") if at + 1 < len(view) else None
        if kind == "reasoning" and after not in ("message", "function_call"):
            yield f"view[{at}] is reasoning without what followed it"
        if kind == "function_call_output":
            if not calls[item["call_id"]]:
                yield f"view[{at}] answers {item['call_id']!r}, which was not called before"
            calls[item["call_id"]] -= 1
        elif (kind is None or _role(item) == "user") and +calls:
            yield f"before view[{at}] the calls {sorted(+calls)} have no result"
            calls = Counter()
        elif kind == "function_call":
            calls[item["call_id"]] += 1
    if missing := +calls:
        yield f"the calls {sorted(missing)} have no result at the end"


def _unequal(calls: Counter[str], answered: Counter[str], at: int) -> Iterator[str]:
    if missing := calls - answered:
        yield f"view[{at}] makes the calls {sorted(missing)}, which have no result"
    if more := answered - calls:
        yield f"behind view[{at}] stand results for {sorted(more)}, which it did not call"


# -- what a view may show --


class Shown(NamedTuple):
    """What is to be in a view beside the history."""

    pinned: frozenset[int] = frozenset()
    """Numbers of messages that stay word for word."""
    passing: Sequence[Message] = ()
    """Ephemeral messages, which may be shown anywhere."""
    prompt: str | None = None
    """The system prompt that stands in place of the system messages."""
    quotes: bool = False
    """A hand-over may quote the user's first and last message, or name it where new messages take all room."""


def shown(view: Sequence[Message], history: History, beside: Shown) -> list[str]:
    """What of `view` is not in the history, what of the history must be in it and is not, and what is out of order."""
    return list(_shown(list(view), history, beside))


def _shown(view: list[Message], history: History, beside: Shown) -> Iterator[str]:
    if beside.prompt is not None:
        if view[:1] != [{"role": "system", "content": beside.prompt}]:
            yield "the system prompt is not first"
        view = view[1:]
        history = [(seq, message) for seq, message in history if message["role"] != "system"]
    there = {(seq, place): _encodable(bit) for seq, message in history for place, bit in enumerate(bits(message))}
    asked = {bit.id for bit in there.values() if bit.kind == "call"}
    passing = [_encodable(bit) for message in beside.passing for bit in bits(message)]
    exact: dict[Bit, list[tuple[int, int]]] = {}
    for where, bit in there.items():
        exact.setdefault(bit, []).append(where)
    places: dict[tuple[int, int], bool] = {}
    last = (-1, -1)
    for at, message in enumerate(view):
        for bit in bits(message):
            key = _framed(bit, there) or _place(bit, exact, there, last)
            if key is None:
                if not (bit in passing or _synthetic(bit, asked)):
                    yield f"view[{at}] shows {bit!r:.120}, which is nobody's"
                continue
            places[key] = bit == there[key] or _said_in(bit) == there[key].body
            if bit.kind != "result" and not any(each.kind == "result" for each in bits(message)):
                if key < last:
                    yield f"view[{at}] shows message {key[0]} behind {last[0]}"
                last = key
    texts = [bit.body for message in view for bit in bits(message) if bit.kind == "text"]
    yield from _missing(history, there, places, beside, [text for text in texts if "<summary>" in text])
    first = next((role for message in view if (role := _role(message)) != "system"), None)
    begun = next((there[key].role for key in there if there[key].role != "system"), None)
    if begun == "user" and first != "user":
        yield f"the dialogue begins with the role {first}"
    yield from _neighbours(view, history)


def _encodable(bit: Bit) -> Bit:
    """The bit as a client can send it."""
    return bit._replace(body=bit.body.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _said_in(bit: Bit) -> str | None:
    """The result that a text of the user holds in its frame, without what keeps it from imitating the library."""
    found = _FRAME.fullmatch(bit.body) if (bit.role, bit.kind) == ("user", "text") else None
    return None if found is None else found[4].replace("&lt;", "<").replace("(ref:", "[ref:")


def _framed(bit: Bit, there: Mapping[tuple[int, int], Bit]) -> tuple[int, int] | None:
    """Where a result in a frame stands in the history: in the message, and with the id, that the frame names."""
    body = _said_in(bit)
    if body is None:
        return None
    found = _FRAME.fullmatch(bit.body)
    assert found is not None
    for (seq, place), original in there.items():
        if seq != int(found[3]) or original.kind != "result" or original.id not in found[2]:
            continue
        if body == original.body or derived(body, original.body):
            return seq, place
    return None


def _place(
    bit: Bit, exact: Mapping[Bit, list[tuple[int, int]]], there: Mapping[tuple[int, int], Bit], last: tuple[int, int]
) -> tuple[int, int] | None:
    """Where in the history a bit stands, word for word or as what is left of it; None where it is in none."""
    known = exact.get(bit)
    if known:
        return next((key for key in known if key > last), known[-1])
    for found in _REFERENCE.finditer(bit.body):
        for place in range(8):
            original = there.get((int(found[1]), place))
            if original is not None and _is_left_of(bit, original):
                return int(found[1]), place
    return None


def _is_left_of(bit: Bit, original: Bit) -> bool:
    if bit.role != original.role or bit.id != original.id:
        return False
    if original.kind == "media":
        return bit.kind == "text" and _STUB.fullmatch(bit.body) is not None
    if bit.kind != original.kind:
        return False
    return _arguments(bit.body, original.body) if bit.kind == "call" else derived(bit.body, original.body)


def _arguments(cut: str, whole: str) -> bool:
    try:
        left, before = json.loads(cut), json.loads(whole)
    except ValueError:
        return False
    return _left(left, before) or (list(left) == ["left_out"] and bool(_REFERENCE.search(left["left_out"])))


def _left(left: Any, before: Any) -> bool:
    if isinstance(left, str) and isinstance(before, str):
        return left == before or derived(left, before)
    if isinstance(left, dict) and isinstance(before, dict):
        return left.keys() == before.keys() and all(_left(left[key], before[key]) for key in left)
    return bool(left == before)


def derived(cut: str, whole: str) -> bool:
    """Whether a text is what a reference left of another: a stub, or stretches of it in order, its ends included."""
    if _STUB.fullmatch(cut):
        return True
    found = _CUT.search(cut)
    if found is None or len(cut) >= len(whole) + 200:
        return False
    head, rest = cut[: found.start()].removesuffix("\n"), cut[found.end() :].removeprefix("\n")
    stretches = rest.split("\n[...]\n")
    if not whole.startswith(head) or not whole.endswith(stretches[-1]):
        return False
    at = len(head)
    for stretch in stretches:
        at = whole.find(stretch, at)
        if at < 0:
            return False
    return True


def _synthetic(bit: Bit, asked: set[str]) -> bool:
    """What a view may say by itself: tagged texts, and that a call has no result so far."""
    if bit.kind == "result":
        return bit.body == CLOSED and bit.id in asked
    inner = bit.body.removeprefix("<summary>").removesuffix("</summary>")
    return bit.kind == "text" and len(bit.body) - len(inner) == 19 and "<summary>" not in inner


def _missing(
    history: History,
    there: Mapping[tuple[int, int], Bit],
    places: Mapping[tuple[int, int], bool],
    beside: Shown,
    summaries: Sequence[str],
) -> Iterator[str]:
    """What no view may leave out."""
    seen = {seq for seq, _ in places}
    for seq, message in history:
        if message["role"] != "system":
            break
        if not places.get((seq, 0)):
            yield f"the system message {seq} is not there word for word"
    users = [seq for seq, message in history if _is_users(message)]
    for which, seq in (("first", users[0]), ("last", users[-1])) if users else ():
        quoted = beside.quotes and _is_quoted(seq, dict(history)[seq], summaries)
        if seq not in seen and not quoted:
            yield f"the {which} user message, {seq}, is not there"
    for key, bit in there.items():
        if key[0] in beside.pinned and bit.kind != "reasoning" and not places.get(key):
            yield f"the pinned message {key[0]} is not there word for word"
    newest = next((seq for seq, _ in reversed(history) if any(key[0] == seq for key in there)), None)
    if newest is not None and newest not in seen:
        yield f"the newest message, {newest}, is not there"
    for key, bit in there.items():
        if bit.kind == "result" and key[0] in seen and key not in places:
            yield f"the result of {bit.id!r} in message {key[0]} is not there"
    said = {seq for (seq, _), bit in there.items() if bit.kind != "reasoning"}  # which its provider may refuse
    if (left_out := said - seen) and not summaries:
        yield f"the messages {sorted(left_out)} are left out, and nothing says so"


def _is_users(message: Message) -> bool:
    flags = message.get("metadata", {})
    return (
        message["role"] == "user"
        and not flags.get("ephemeral")
        and flags.get("source") != "hook"
        and any(bit.kind in ("text", "media") for bit in bits(message))
    )


def _is_quoted(seq: int, message: Message, summaries: Sequence[str]) -> bool:
    """Whether a summary has the beginning of what a message says, apart from the signs that a quote escapes, or names
    it among what is left out.
    """
    held = bits(message)
    said = _plain("".join(bit.body for bit in held)[:_QUOTED])
    for summary in summaries:
        named = _REFERENCE.findall(summary.rpartition("\nLeft out: ")[2]) if "\nLeft out: " in summary else []
        if said in _plain(summary) or any(int(first) <= seq <= int(last or first) for first, last in named):
            return all(bit.kind == "text" for bit in held)
    return False


def _plain(text: str) -> str:
    return "".join(filter(str.isalnum, unescape(text)))


def _neighbours(view: Sequence[Message], history: History) -> Iterator[str]:
    """Two messages of one role in a row, where between them the other one spoke."""
    spoke = [
        (_role(piece), json.dumps(piece, sort_keys=True))
        for _, message in history
        for piece in _pieces(message)
        if _role(piece) in ("user", "assistant") and any(bit.kind != "result" for bit in bits(piece))
    ]
    where = {text: at for at, (_, text) in enumerate(spoke)}
    doubled = {text for text, times in Counter(text for _, text in spoke).items() if times > 1}
    before: str | None = None
    for at, message in enumerate(view):
        text = json.dumps(message, sort_keys=True)
        same = before is not None and text in where and _role(view[at - 1]) == _role(message)
        if before is not None and same and not doubled & {text, before}:
            between = spoke[where[before] + 1 : where[text]]
            if any(role != _role(message) for role, _ in between):
                yield f"view[{at}] has the role of the one before it, {_role(message)}, and another spoke between them"
        before = text if text in where else None


def _role(message: Message) -> str:
    if "role" in message:
        return "assistant" if message["role"] == "model" else str(message["role"])
    return "tool" if message["type"] == "function_call_output" else "assistant"


def _pieces(message: Message) -> list[Message]:
    """The items of a message, or itself."""
    held = message.get("content")
    return held if isinstance(held, list) and held and held[0].get("type") in _ITEMS else [message]


def weight(view: Sequence[Message]) -> int:
    """The least that a view can take, where four letters are a token."""
    return sum(len(bit.body) // 4 for message in view for bit in bits(message) if bit.kind != "media")
