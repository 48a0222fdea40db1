"""Recorded values to messages: one function per format.

Only the recording program's envelope is removed; the content of requests is unchanged, also its dialect.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from backscroll.evaluation.transcript import Message, Transcript, bad


class Record(NamedTuple):
    """A JSON value and its place: `line 3`, `item 2`, or empty for a whole file."""

    place: str
    value: Any


def kind(value: Any) -> str:
    """Return the kind of a JSON value, for errors."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def keys(value: dict[str, Any]) -> str:
    """Return the first keys of an object on one line, for errors."""
    shown = [key if key.isprintable() else ascii(key) for key in sorted(value)[:6]]
    return f"keys: {', '.join(shown) or 'none':.80}"


# Chat: unchanged messages, but that observations of ReAct are marked

_REACT = "Observation: "


def chat(records: list[Record], name: str) -> Transcript:
    """Read one message per record; a first record without a role is the recorder's line about the session."""
    reasons: Counter[str] = Counter()
    if "role" not in records[0].value:
        records = records[1:]
        reasons["line about the session"] += 1
    messages = observed(_checked(records, name), begin=_REACT)
    return Transcript(name, dialect(messages), messages, dict(reasons))


def conversation(record: Record, name: str) -> Transcript:
    """Read an object with `messages`: a saved conversation or a request body; its other keys are not messages."""
    reasons: Counter[str] = Counter()
    if record.value.get("system"):
        # In Anthropic's and Bedrock's request bodies it is separate from the messages, so it counts as overhead.
        reasons["system prompt outside the messages"] += 1
    messages = observed(_checked(_within(record, "messages"), name), begin=_REACT)
    return Transcript(name, dialect(messages), messages, dict(reasons))


def contents(record: Record, name: str) -> Transcript:
    """Read a request body of Gemini, whose system prompt is outside the messages."""
    key = next((key for key in ("systemInstruction", "system_instruction") if record.value.get(key)), None)
    reasons = {} if key is None else {"system prompt outside the messages": 1}
    return Transcript(name, "gemini", _checked(_within(record, "contents"), name), reasons)


def _within(record: Record, key: str) -> list[Record]:
    before = f"{record.place}, " if record.place else ""
    return [Record(f"{before}{key}[{at}]", value) for at, value in enumerate(record.value[key])]


def _checked(records: Iterable[Record], name: str) -> list[Message]:
    messages: list[Message] = []
    for place, value in records:
        if not isinstance(value, dict):
            raise bad(name, f"{place}: expected a message, found {kind(value)}")
        role = value.get("role")
        if not isinstance(role, str) or not role:
            raise bad(name, f"{place}: expected a message with a role, found {keys(value)}")
        messages.append(value)
    return messages


def dialect(messages: list[Message]) -> str:
    """Return the dialect of calls and results of these messages; `openai` if it cannot be detected."""
    for message in messages:
        calls, content = message.get("tool_calls"), message.get("content")
        if content is None and isinstance(message.get("parts"), list):
            return "gemini"
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict) and "tool" in call and "function" not in call:
                return "amplifier"
        for block in content if isinstance(content, list) else ():
            found = _dialect_of_block(block) if isinstance(block, dict) else None
            if found:
                return found
    return "openai"


def _dialect_of_block(block: dict[str, Any]) -> str | None:
    if block.get("type") in ("tool_use", "tool_result"):
        return "anthropic"
    if block.get("type") == "tool_call":
        return "amplifier"
    if block.get("type") in ("function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"):
        return "responses"
    return "bedrock" if "type" not in block and not {"toolUse", "toolResult", "text"}.isdisjoint(block) else None


# Claude Code: a session file, one record per line


def is_session_line(value: Any) -> bool:
    """Return whether this is a message line of a Claude Code session."""
    if not isinstance(value, dict) or not isinstance(value.get("message"), dict):
        return False
    return value.get("type") in ("user", "assistant")


def claude_code(records: list[Record], name: str) -> list[Transcript]:
    """Return the session, and each of its sidechains (sub-agents) as its own transcript.

    Assistant lines with one `message.id` are one message that was written in pieces, while its first tools already ran.
    Their blocks are joined at the place of the first piece, so that results follow the whole message.
    """
    reasons: Counter[str] = Counter()
    chains: dict[str, _Chain] = {"": _Chain()}
    roots: dict[str, str] = {}
    seen: set[str] = set()
    for number, (place, line) in enumerate(records):
        reason = _left_out(line, seen)
        if reason:
            reasons[reason] += 1
            if "uuid" in line and reason != _REPEATED:
                roots[str(line["uuid"])] = roots.get(str(line.get("parentUuid")), "")
            continue
        message = line["message"]
        if not isinstance(message.get("role"), str):
            raise bad(name, f"{place}: the message has no role")
        chains.setdefault(_chain_of(line, roots), _Chain()).add(message, number)
    main = chains.pop("")
    found: list[Transcript] = []
    if main.messages or not chains:
        found.append(
            Transcript(name=name, format="claude-code", messages=main.messages, reasons=dict(reasons), began=main.began)
        )
    for number, chain in enumerate(chains.values(), 1):
        own = f"{name}#side-{number}" if found or len(chains) > 1 else name
        found.append(
            Transcript(
                name=own,
                format="claude-code",
                messages=chain.messages,
                reasons={} if found else dict(reasons),
                began=chain.began,
            )
        )
    return found


_REPEATED = "line repeated with the same uuid"


def _left_out(line: dict[str, Any], seen: set[str]) -> str | None:
    if not is_session_line(line):
        return f"{line.get('type', 'untyped')!s:.40} line"
    if line.get("isCompactSummary"):
        return "compact summary, written by the client and not by the user"
    if line.get("isApiErrorMessage"):
        return "error notice of the client, never sent"
    uuid = line.get("uuid")
    if isinstance(uuid, str):
        if uuid in seen:
            return _REPEATED
        seen.add(uuid)
    return None


def _chain_of(line: dict[str, Any], roots: dict[str, str]) -> str:
    """Return the sidechain of a line: its agent, else its first ancestor there; "" is the session itself."""
    uuid = str(line.get("uuid"))
    if not line.get("isSidechain"):
        roots[uuid] = ""
        return ""
    agent = line.get("agentId")
    root = f"agent:{agent}" if agent else roots.get(str(line.get("parentUuid"))) or f"root:{uuid}"
    roots[uuid] = root
    return root


class _Chain:
    """Messages in the order of their first pieces."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.began: list[int] = []
        self._started: dict[str, Message] = {}

    def add(self, recorded: dict[str, Any], number: int) -> None:
        message = {"role": recorded["role"], "content": recorded.get("content")}
        known = recorded.get("id")
        if message["role"] != "assistant" or not isinstance(known, str):
            self._begin(message, number)
        elif known not in self._started:
            self._started[known] = message
            self._begin(message, number)
        else:
            first = self._started[known]
            first["content"] = _joined(_blocks(first["content"]), _blocks(message["content"]))

    def _begin(self, message: Message, number: int) -> None:
        self.messages.append(message)
        self.began.append(number)


def _blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return content if isinstance(content, list) else []


def _joined(first: list[Any], more: list[Any]) -> list[Any]:
    """Return all blocks in order; a call that a piece repeats is kept once."""
    calls = {_call_id(block) for block in first} - {None}
    return first + [block for block in more if _call_id(block) not in calls]


def _call_id(block: Any) -> str | None:
    is_call = isinstance(block, dict) and block.get("type") == "tool_use"
    return str(block.get("id")) if is_call else None


# SWE-agent: .traj files

_REQUEST_KEYS = ("role", "content", "tool_calls", "tool_call_id", "name", "thinking_blocks", "reasoning_content")


def swe_agent(record: Record, name: str) -> Transcript:
    """Read the `history` of a trajectory file, or without one the steps of its `trajectory`."""
    history = record.value.get("history")
    if isinstance(history, list) and history:
        messages = observed([_request_keys(message) for message in _checked(_within(record, "history"), name)])
        return Transcript(name, "swe-agent", messages)
    messages = []
    for place, step in _within(record, "trajectory") if isinstance(record.value.get("trajectory"), list) else ():
        if not isinstance(step, dict):
            raise bad(name, f"{place}: expected a step, found {kind(step)}")
        messages += _step(step, first=not messages)
    return Transcript(name, "swe-agent", messages)


def observation(message: Message) -> Message:
    """Return a message of role `user` as what a tool gave."""
    return {**message, "metadata": {**(message.get("metadata") or {}), "kind": "observation"}}


def observed(messages: list[Message], *, begin: str = "") -> list[Message]:
    """Return messages where those of a user that follow an answer without calls are observations.

    Args:
        messages: The messages.
        begin: How such a message begins; empty if it may begin in any way.
    """
    found: list[Message] = []
    for before, message in zip([{}, *messages], messages, strict=False):
        text = message.get("content")
        answers = before.get("role") == "assistant" and not before.get("tool_calls") and message["role"] == "user"
        is_one = answers and (not begin or (isinstance(text, str) and text.startswith(begin)))
        found.append(observation(message) if is_one else message)
    return found


def _request_keys(message: Message) -> Message:
    kept = {key: message[key] for key in _REQUEST_KEYS if message.get(key) is not None}
    if "content" in message:
        kept["content"] = message["content"]  # OpenAI writes null next to calls
    answered = message.get("tool_call_ids")
    if message["role"] == "tool" and "tool_call_id" not in kept and isinstance(answered, list) and answered:
        kept["tool_call_id"] = answered[0]  # SWE-agent stores a list and sends the first
    return kept


def _step(step: dict[str, Any], first: bool) -> list[Message]:
    query = step.get("query")
    before: list[Message] = []
    if first and isinstance(query, list):  # what the model received before its first response
        before = [_request_keys(message) for message in query if isinstance(message, dict) and message.get("role")]
    said = step.get("response") or "\n".join(str(step[key]) for key in ("thought", "action") if step.get(key))
    observed = str(step.get("observation") or "")
    calls = step.get("tool_calls")
    if isinstance(calls, list) and len(calls) == 1 and isinstance(calls[0], dict):
        result: Message = {"role": "tool", "tool_call_id": calls[0].get("id"), "content": observed}
        return [*before, {"role": "assistant", "content": said, "tool_calls": calls}, result]
    return [*before, {"role": "assistant", "content": said}, observation({"role": "user", "content": observed})]


# tau-bench: a list of runs


def tau_bench(record: Record, name: str) -> Transcript:
    """Read the `traj` of one run; its messages are OpenAI chat."""
    return Transcript(name, "tau-bench", _checked(_within(record, "traj"), name))
