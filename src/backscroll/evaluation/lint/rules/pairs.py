"""`orphan-call`, `orphan-result`, `misordered` and `duplicate-id`: calls of tools and their results.

Sources: the error texts of Anthropic ("`tool_use` ids were found without `tool_result` blocks immediately after",
"`tool_use` ids must be unique"), of OpenAI ("No tool output found for function call", "No tool call found for function
call output", "must be followed by tool messages responding to each 'tool_call_id'"), and "Function calling" of Gemini.
"""

from collections.abc import Iterator
from typing import Any

from backscroll.evaluation.lint.finding import Rule
from backscroll.evaluation.lint.rows import Fault, Row, each, odd_results
from backscroll.evaluation.lint.same import blocks_of
from backscroll.evaluation.transcript import Message, is_answer
from backscroll.messages.dialects.response_items import is_item
from backscroll.messages.parts import kind_of


def _orphan_calls(row: Row) -> Iterator[Fault]:
    answered: set[str] = set()
    for reading in row.readings:
        answered.update(known for known, _ in reading.results)
    pending = len(row.readings) if row.number is not None else _pending(row)
    for at, (message, reading) in enumerate(zip(row.messages, row.readings, strict=True)):
        for part in reading.call_parts if at < pending else ():
            if part.id and part.id not in answered and not _answers_itself(message):
                yield Fault(at, part.id, f"the call {_short(part.id)} of {part.name or 'a tool'} has no result")


def _pending(row: Row) -> int:
    """Return the index of the last message with calls, which may still run; all messages if an answer follows it."""
    for at in range(len(row.readings) - 1, -1, -1):
        if row.readings[at].calls:
            return at
        if row.messages[at].get("role") and is_answer(row.messages[at]):
            break
    return len(row.readings)


def _answers_itself(message: Message) -> bool:
    """Return whether a call's answer may be in items that the client need not send, such as a server's tools."""
    content: Any = message.get("content")
    blocks = content if isinstance(content, list) else [message]
    return any(is_item(block) and block["type"] not in _BOTH_SENT for block in blocks if isinstance(block, dict))


_BOTH_SENT = frozenset(("message", "reasoning", "function_call", "custom_tool_call"))
"""Items that another item answers, and what may be next to them."""


def _orphan_results(row: Row) -> Iterator[Fault]:
    known: set[str] = set()
    later = {call for reading in row.readings for call in reading.calls}
    for at, reading in enumerate(row.readings):
        own = {part.id for part in reading.parts if part.kind == "call"}
        for answered, _ in reading.results:
            if answered not in known and answered not in own and answered not in later:
                named = f"names the call {_short(answered)}, which nothing made" if answered else "names no call"
                yield Fault(at, answered, f"the result {named}")
        known.update(reading.calls)


def _misordered(row: Row) -> Iterator[Fault]:
    """Check that results directly follow their calls. Items of the Responses API may be apart, but not before them."""
    made: dict[str, int] = {}
    later = {call for reading in row.readings for call in reading.calls}
    odd = odd_results(row)
    for at, reading in enumerate(row.readings):
        for answered, path in reading.results:
            if (at, answered) in odd:
                continue  # `second-result` or `late-result`
            if answered in made:
                between = _between(row, made[answered], at)
                if between is not None:
                    yield Fault(
                        at, answered, f"{_named(row, between)} comes between the call {_short(answered)} and its result"
                    )
                elif _late_block(row, at, path):
                    yield Fault(at, answered, f"other content comes before the result of {_short(answered)}")
            elif answered and answered in later:
                yield Fault(at, answered, f"the result of {_short(answered)} comes before the call")
        made.update(dict.fromkeys(reading.calls, at))


def _between(row: Row, call: int, result: int) -> int | None:
    """Return the first message between a call and its result that may not be there."""
    if is_item(row.messages[result]) or _holds_items(row.messages[call]):
        return None
    for at in range(call + 1, result):
        reading = row.readings[at]
        if reading.results and not any(part.kind == "text" and part.id is None for part in reading.parts):
            continue
        if reading.role == row.readings[call].role and _in_blocks(row.messages[call]) and reading.role != "user":
            continue  # the provider merges them into one turn
        return at
    return None


def _late_block(row: Row, at: int, path: tuple[str | int, ...]) -> bool:
    """Return whether text precedes a result in the content of one message, which Anthropic refuses."""
    content: Any = row.messages[at].get("content")
    if len(path) < 2 or not isinstance(content, list) or not isinstance(path[1], int):
        return False
    if not isinstance(content[path[1]], dict) or content[path[1]].get("type") != "tool_result":
        return False
    if at and row.messages[at - 1].get("role") == row.messages[at].get("role"):
        return False
    return any(isinstance(block, dict) and block.get("type") == "text" for block in content[: path[1]])


def _holds_items(message: Message) -> bool:
    content = message.get("content")
    return is_item(message) or (isinstance(content, list) and any(map(is_item, content)))


def _in_blocks(message: Message) -> bool:
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return any(kind_of(block) == "tool_use" or (isinstance(block, dict) and "toolUse" in block) for block in blocks)


def _named(row: Row, at: int) -> str:
    return f"{row.list_name}[{at}] ({row.readings[at].role})"


def _duplicates(row: Row) -> Iterator[Fault]:
    """Check that calls in Anthropic's shape have ids of their own, and calls of one message in any shape."""
    made: dict[str, int] = {}
    for at, (message, reading) in enumerate(zip(row.messages, row.readings, strict=True)):
        blocks = any(kind_of(block) == "tool_use" for block in blocks_of(message.get("content")))
        own: set[str] = set()
        for call in reading.calls:
            if call and (call in own or (blocks and call in made)) and not reading.by_name:
                where = "twice in one message" if call in own else f"in {row.list_name}[{made[call]}] as well"
                yield Fault(at, call, f"the call id {_short(call)} is used {where}")
            own.add(call)
        if blocks:
            made.update(dict.fromkeys(own, at))


def _short(known: str) -> str:
    known = known.removeprefix("function:").strip()
    return known if len(known) <= 30 else known[:12] + "…" + known[-8:]


RULES = (
    Rule(
        "orphan-call",
        "error",
        "Send a result for every call, even if it only says that the tool failed.",
        each(_orphan_calls),
        ("open_call",),
    ),
    Rule(
        "orphan-result",
        "error",
        "Keep a call and its results together when something is left out.",
        each(_orphan_results),
        ("unknown_call",),
    ),
    Rule("misordered", "error", "Put results directly behind their calls and before other content.", each(_misordered)),
    Rule("duplicate-id", "error", "Give each call an id of its own.", each(_duplicates)),
)
