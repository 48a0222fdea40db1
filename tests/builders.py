"""What builds messages, conversations and sessions for tests, and random conversations in all seven dialects."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from hypothesis import strategies as st

from backscroll import ContextManager
from backscroll.history.groups import MessageGroup
from backscroll.history.history import Entry
from backscroll.manager.driver import run_unlocked
from backscroll.messages import ParsedMessage, read_message, validated
from backscroll.session.store_sync import fetch_one
from backscroll.tokens.counts import Count
from tests.fakes import RecordingSession, count_quarter

PNG = "iVBORw0KGgoAAAANSUhEUgAABAAAAAMACAIAAAA12IJaAAAACXBIWXMAAA7EAAAOxAGVKw4bAAAA"  # a header of 1,024 x 768 px
PIXEL = "iVBORw0KGgo="
DIALECTS = ("openai", "amplifier", "anthropic", "bedrock", "responses", "gemini", "interactions")

LONG = "line of a file that was read\n" * 300
FETCH = {"id": "c1", "type": "function", "function": {"name": "fetch", "arguments": '{"url": "https://x.org"}'}}
"""A call in OpenAI's dialect."""
ASKED = {"role": "assistant", "content": None, "tool_calls": [FETCH]}
BUDGETS = st.integers(300, 6_000)
"""Budgets of requests, in tokens."""
ASK = st.integers(1, 2**24)
"""After which messages `feed` asks for a view, as bits."""

_words = st.sampled_from(
    ["fix the bug", "src/app.py", "错误处理", "x = 1\n", "def f():\n    return 1\n", "🙂 ok", "<summary>"]
)
_texts = st.builds(
    lambda word, times: (word + " ") * times, _words, st.one_of(st.integers(1, 8), st.integers(200, 900))
)


@dataclass(frozen=True)
class MessageFactory:
    """Builds messages of one dialect."""

    dialect: str

    def say(self, role: str, text: str, metadata: dict[str, Any] | None = None) -> dict[str, Any]:
        """A message of one text."""
        if self.dialect == "gemini" and role != "system":
            message: dict[str, Any] = {"role": "model" if role == "assistant" else role, "parts": [{"text": text}]}
            return {**message, "metadata": metadata} if metadata else message
        if self.dialect == "responses" and role == "assistant":
            message = {"role": role, "content": [*_thought(text), _spoken(text)]}
            return {**message, "metadata": metadata} if metadata else message
        if self.dialect == "interactions" and role != "system":
            steps = [_step(role, text)] if role == "user" else [*_thought_step(text), _step(role, text)]
            message = {"role": role, "content": steps}
            return {**message, "metadata": metadata} if metadata else message
        blocks = {
            "anthropic": [{"type": "text", "text": text}],
            "bedrock": [{"text": text}],
            "responses": [{"type": "input_text", "text": text}],
        }
        content: Any = blocks.get(self.dialect, text) if role != "system" else text
        message = {"role": role, "content": content}
        return {**message, "metadata": metadata} if metadata else message

    def picture(self, text: str) -> dict[str, Any]:
        """A user's message with an image."""
        if self.dialect == "gemini":
            return {"role": "user", "parts": [{"text": text}, {"inlineData": {"mimeType": "image/png", "data": PNG}}]}
        if self.dialect == "interactions":
            step = _step("user", text)
            step["content"].append({"type": "image", "data": PNG, "mime_type": "image/png"})
            return {"role": "user", "content": [step]}
        image: dict[str, Any] = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
        if self.dialect == "openai":
            image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
        if self.dialect == "responses":
            image = {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{PNG}"}
            return {"role": "user", "content": [{"type": "input_text", "text": text}, image]}
        if self.dialect == "bedrock":
            return {"role": "user", "content": [{"text": text}, {"image": {"format": "png", "source": {"bytes": PNG}}}]}
        return {"role": "user", "content": [{"type": "text", "text": text}, image]}

    def call(self, ids: list[str], text: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """An assistant's message with one call for each id."""
        if self.dialect == "gemini":
            parts = [{"functionCall": {"id": name, "name": "run", "args": arguments}} for name in ids]
            said: list[Any] = [{"text": text}] if text else []
            return {"role": "model", "parts": [*said, *_signed(f"{ids} {text}", parts)]}
        if self.dialect == "openai":
            function = {"name": "run", "arguments": json.dumps(arguments)}
            calls: list[Any] = [{"id": name, "type": "function", "function": function} for name in ids]
            return {"role": "assistant", "content": text or None, "tool_calls": calls}
        if self.dialect == "amplifier":
            calls = [{"id": name, "tool": "run", "arguments": arguments} for name in ids]
            blocks: list[Any] = [{"type": "tool_call", "id": name, "name": "run", "input": arguments} for name in ids]
            said = [{"type": "text", "text": text}] if text else []
            return {"role": "assistant", "content": [*said, *blocks], "tool_calls": calls}
        if self.dialect == "anthropic":
            blocks = [{"type": "tool_use", "id": name, "name": "run", "input": arguments} for name in ids]
            said = [{"type": "text", "text": text}] if text else []
            return {"role": "assistant", "content": [*said, *blocks]}
        if self.dialect == "responses":
            said = [_spoken(text)] if text else []
            asked = {"type": "function_call", "name": "run", "arguments": json.dumps(arguments)}
            blocks = [{**asked, "id": f"fc_{name}", "call_id": name} for name in ids]
            return {"role": "assistant", "content": [*_thought(f"{ids} {text}"), *said, *blocks]}
        if self.dialect == "interactions":
            said = [_step("assistant", text)] if text else []
            blocks = [{"type": "function_call", "id": name, "name": "run", "arguments": arguments} for name in ids]
            return {"role": "assistant", "content": [*_thought_step(f"{ids} {text}"), *said, *blocks]}
        blocks = [{"toolUse": {"toolUseId": name, "name": "run", "input": arguments}} for name in ids]
        said = [{"text": text}] if text else []
        return {"role": "assistant", "content": [*said, *blocks]}

    def results(self, answered: list[tuple[str, str]]) -> list[dict[str, Any]]:
        """The results of these calls: one message each, or one for all where the dialect wants that."""
        if self.dialect == "gemini":
            response = {"name": "run"}
            found = [
                {"functionResponse": {**response, "id": name, "response": {"output": text}}} for name, text in answered
            ]
            return [{"role": "user", "parts": found}]
        if self.dialect in ("openai", "amplifier"):
            return [{"role": "tool", "tool_call_id": name, "content": text} for name, text in answered]
        if self.dialect == "responses":
            output = {"type": "function_call_output"}
            return [
                {"role": "tool", "content": [{**output, "call_id": name, "output": text}]} for name, text in answered
            ]
        if self.dialect == "interactions":
            step = {"type": "function_result", "name": "run"}
            return [{"role": "user", "content": [{**step, "call_id": name, "result": text} for name, text in answered]}]
        if self.dialect == "anthropic":
            blocks: list[Any] = [
                {"type": "tool_result", "tool_use_id": name, "content": text} for name, text in answered
            ]
        else:
            blocks = [{"toolResult": {"toolUseId": name, "content": [{"text": text}]}} for name, text in answered]
        return [{"role": "user", "content": blocks}]


def _thought(of: str) -> list[dict[str, Any]]:
    """Reasoning before every other answer: the message that holds it stays whole."""
    name = sha256(of.encode(errors="surrogatepass")).hexdigest()[:8]
    reasoning = {"type": "reasoning", "id": f"rs_{name}", "summary": [], "encrypted_content": f"{name} " * 6}
    return [reasoning] if int(name, 16) % 2 else []


def _signed(of: str, parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A signature on the first call of every other message, as Gemini gives it."""
    name = sha256(of.encode(errors="surrogatepass")).hexdigest()[:8]
    return [{**parts[0], "thoughtSignature": name}, *parts[1:]] if int(name, 16) % 2 else parts


def _step(role: str, text: str) -> dict[str, Any]:
    kind = "user_input" if role == "user" else "model_output"
    return {"type": kind, "content": [{"type": "text", "text": text}]}


def _thought_step(of: str) -> list[dict[str, Any]]:
    """A signed thought before every other answer of the Interactions API."""
    name = sha256(of.encode(errors="surrogatepass")).hexdigest()[:8]
    return [{"type": "thought", "signature": name}] if int(name, 16) % 2 else []


def _spoken(text: str) -> dict[str, Any]:
    name = sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]
    said = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": f"msg_{name}", "role": "assistant", "status": "completed", "content": said}


@st.composite
def conversations(
    draw: st.DrawFn, strange: bool = True, most: int = 14, dialects: Sequence[str] = DIALECTS
) -> list[dict[str, Any]]:
    """A conversation of some rounds. `strange`: with pending calls, late and orphan results, re-used ids."""
    talk = MessageFactory(draw(st.sampled_from(dialects)))
    messages = [talk.say("system", draw(_texts)[:400])] if draw(st.booleans()) else []
    messages.append(talk.say("user", draw(_texts)))
    late: list[tuple[str, str]] = []
    for number in range(draw(st.integers(1, most))):
        kind = draw(
            st.sampled_from(
                ["call", "call", "call", "say", "picture", "hook", "pinned", "orphan" if strange else "say"]
            )
        )
        if kind == "call":
            messages += draw(_round(talk, number, late, strange))
        elif kind == "say":
            messages += [
                talk.say("assistant", f"{number} {draw(_texts)}"),
                talk.say("user", f"{number} {draw(_texts)}"),
            ]
        elif kind == "picture":
            messages.append(talk.picture(f"{number} {draw(_texts)}"))
        elif kind == "hook":
            messages.append(talk.say("user", f"reminder {number}", {"source": "hook"}))
        elif kind == "pinned":
            messages.append(talk.say("user", f"keep {number}", {"pinned": True}))
        else:
            messages += talk.results([(f"nobody-{number}", "lost")])
        if bool(late) and draw(st.booleans()):
            messages += talk.results([late.pop()])
    return messages


@st.composite
def _round(
    draw: st.DrawFn, talk: MessageFactory, number: int, late: list[tuple[str, str]], strange: bool
) -> list[dict[str, Any]]:
    prefix = "same" if strange and draw(st.integers(0, 4)) == 0 else f"call-{number}"
    ids = [f"{prefix}-{place}" for place in range(draw(st.integers(1, 3)))]
    call = talk.call(ids, draw(_texts)[:600], {"path": draw(_texts)[:2_000]})
    answered = [(name, draw(_texts)) for name in draw(st.permutations(ids))]
    if strange and draw(st.integers(0, 3)) == 0:
        late.append(answered.pop())
        if draw(st.booleans()):
            late.pop()
    results = talk.results(answered) if answered else []
    if strange and results and draw(st.integers(0, 4)) == 0:
        return [call, talk.say("user", f"reminder {number} in between", {"source": "hook"}), *results]
    return [call, *results]


# -- messages of one line --


def assistant(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def user(*blocks: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks), **more}


def tool(content: Any, call: str = "c1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call, "content": content}


def read(message: dict[str, Any]) -> ParsedMessage:
    """Reads what was accepted, and shows that reading changes nothing."""
    accepted = validated(message)
    reading = read_message(accepted)
    assert accepted == message
    return reading


def parts(message: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Kind, text and place of every part; of calls and results also what they belong to."""
    found = []
    for part in read(message).parts:
        path = ".".join(map(str, part.path))
        names = [value for value in (part.id, part.name) if value is not None]
        found.append((part.kind, path, part.media or part.text, *names))
    return found


def words(tokens: int, name: str = "word") -> str:
    """A text of about so many tokens as `count_quarter` counts them."""
    return (name + " ") * (4 * tokens // (len(name) + 1))


def lines_of(size: int) -> str:
    """A text of about so many characters, in lines that name files."""
    return "\n".join(f"line_{number} of src/mod_{number % 97}.py says value={number}" for number in range(size // 40))


# -- entries and groups of a history --


def entry(seq: int, message: dict[str, Any]) -> Entry:
    """A message as the history keeps it."""
    reading = read_message(validated(message))
    return Entry(
        seq, message, reading, tuple(Count(len(part.text)) for part in reading.parts), MessageGroup(seq, [seq])
    )


def said(seq: int, text: str, role: str = "user") -> list[Entry]:
    """A group of one message."""
    return [entry(seq, {"role": role, "content": text})]


def turn(
    seq: int, name: str, arguments: dict[str, Any], result: str | None = None, text: str | None = None
) -> list[Entry]:
    """A group of one tool call and its result."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": f"c{seq}", "type": "function", "function": function}
    group = [entry(seq, {"role": "assistant", "content": text, "tool_calls": [call]})]
    if result is not None:
        group.append(entry(seq + 1, {"role": "tool", "tool_call_id": f"c{seq}", "content": result}))
    return group


# -- sessions --


def session_after(rounds: int = 30, **options: Any) -> ContextManager:
    """A manager after some rounds of tool use."""
    manager = ContextManager(**{"tokenizer": count_quarter, **options})
    talk = MessageFactory("openai")
    manager.append(talk.say("system", "be brief"), talk.say("user", "read every file"))
    for number in range(rounds):
        manager.append(talk.call([f"c{number}"], "", {"path": f"file{number}.py"}))
        manager.append(*talk.results([(f"c{number}", f"{number} {LONG}")]))
    return manager


def mode_of(ask: int) -> str:
    """The mode in which a promise is tried: one half of the examples with each of two."""
    return "standard" if ask.bit_count() % 2 else "facts"


def session_with_both_triggers(**options: Any) -> RecordingSession:
    """A session that is small enough for both triggers of a compaction."""
    return RecordingSession(**{"clear_at_least_tokens": 200, **options})


def add_round(session: RecordingSession, number: int, text: str) -> None:
    """Append a tool call with this text as its result, in OpenAI's dialect."""
    talk = MessageFactory("openai")
    session.manager.append(talk.call([f"c{number}"], "", {}), *talk.results([(f"c{number}", text)]))


def feed(messages: list[Any], ask: int, step: Callable[[list[Any]], object], session: Any) -> None:
    """Append messages one by one; after some of them (`ASK`), call `step` with all messages so far."""
    for number, message in enumerate(messages):
        session.manager.append(message)
        if ask >> (number % 25) & 1 or number == len(messages) - 1:
            step(messages[: number + 1])


def checkpointing(manager: Any, every: int) -> Any:
    """The manager, whose session writes a checkpoint every so many records; unchanged where nothing is stored."""
    if manager._session.journal is not None:
        manager._session.journal.checkpoint_every = every
    return manager


def entry_of(manager: Any, seq: int) -> Any:
    """The entry of a message, also of one that is evicted."""
    return run_unlocked(fetch_one(manager._session, seq))
