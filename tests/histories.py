"""Random conversations in all four dialects, for the promise tests. Only strategies that make messages may live
here."""

import json
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

PNG = "iVBORw0KGgoAAAANSUhEUgAABAAAAAMACAIAAAA12IJaAAAACXBIWXMAAA7EAAAOxAGVKw4bAAAA"  # a header of 1,024 x 768 px
DIALECTS = ("openai", "amplifier", "anthropic", "bedrock")

words = st.sampled_from(
    ["fix the bug", "src/app.py", "错误处理", "x = 1\n", "def f():\n    return 1\n", "\ud83d", "🙂 ok", "<summary>"]
)
texts = st.builds(lambda word, times: (word + " ") * times, words, st.one_of(st.integers(1, 8), st.integers(200, 900)))


@dataclass(frozen=True)
class Talk:
    """Builds messages of one dialect."""

    dialect: str

    def say(self, role: str, text: str, metadata: dict[str, Any] | None = None) -> dict[str, Any]:
        """A message of one text."""
        blocks = {"anthropic": [{"type": "text", "text": text}], "bedrock": [{"text": text}]}
        content: Any = blocks.get(self.dialect, text) if role != "system" else text
        message = {"role": role, "content": content}
        return {**message, "metadata": metadata} if metadata else message

    def picture(self, text: str) -> dict[str, Any]:
        """A user's message with an image."""
        image: dict[str, Any] = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
        if self.dialect == "openai":
            image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
        if self.dialect == "bedrock":
            return {"role": "user", "content": [{"text": text}, {"image": {"format": "png", "source": {"bytes": PNG}}}]}
        return {"role": "user", "content": [{"type": "text", "text": text}, image]}

    def call(self, ids: list[str], text: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """An assistant's message with one call for each id."""
        if self.dialect == "openai":
            function = {"name": "run", "arguments": json.dumps(arguments)}
            calls: list[Any] = [{"id": name, "type": "function", "function": function} for name in ids]
            return {"role": "assistant", "content": text or None, "tool_calls": calls}
        if self.dialect == "amplifier":
            calls = [{"id": name, "tool": "run", "arguments": arguments} for name in ids]
            blocks: list[Any] = [{"type": "tool_call", "id": name, "name": "run", "input": arguments} for name in ids]
            return {"role": "assistant", "content": [{"type": "text", "text": text}, *blocks], "tool_calls": calls}
        if self.dialect == "anthropic":
            blocks = [{"type": "tool_use", "id": name, "name": "run", "input": arguments} for name in ids]
            return {"role": "assistant", "content": [{"type": "text", "text": text}, *blocks]}
        blocks = [{"toolUse": {"toolUseId": name, "name": "run", "input": arguments}} for name in ids]
        return {"role": "assistant", "content": [{"text": text}, *blocks]}

    def results(self, answered: list[tuple[str, str]]) -> list[dict[str, Any]]:
        """The results of these calls: one message each, or one for all where the dialect wants that."""
        if self.dialect in ("openai", "amplifier"):
            return [{"role": "tool", "tool_call_id": name, "content": text} for name, text in answered]
        if self.dialect == "anthropic":
            blocks: list[Any] = [
                {"type": "tool_result", "tool_use_id": name, "content": text} for name, text in answered
            ]
        else:
            blocks = [{"toolResult": {"toolUseId": name, "content": [{"text": text}]}} for name, text in answered]
        return [{"role": "user", "content": blocks}]


@st.composite
def conversations(draw: st.DrawFn, strange: bool = True, most: int = 14) -> list[dict[str, Any]]:
    """A conversation of some rounds. `strange`: with pending calls, late and orphan results, re-used ids."""
    talk = Talk(draw(st.sampled_from(DIALECTS)))
    messages = [talk.say("system", draw(texts)[:400])] if draw(st.booleans()) else []
    messages.append(talk.say("user", draw(texts)))
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
            messages += [talk.say("assistant", f"{number} {draw(texts)}"), talk.say("user", f"{number} {draw(texts)}")]
        elif kind == "picture":
            messages.append(talk.picture(f"{number} {draw(texts)}"))
        elif kind == "hook":
            messages.append(talk.say("user", f"reminder {number}", {"source": "hook"}))
        elif kind == "pinned":
            messages.append(talk.say("user", f"keep {number}", {"pinned": True}))
        else:
            messages += talk.results([(f"nobody-{number}", "lost")])
        if late and draw(st.booleans()):
            messages += talk.results([late.pop()])
    return messages


@st.composite
def _round(
    draw: st.DrawFn, talk: Talk, number: int, late: list[tuple[str, str]], strange: bool
) -> list[dict[str, Any]]:
    prefix = "same" if strange and draw(st.integers(0, 4)) == 0 else f"call-{number}"
    ids = [f"{prefix}-{place}" for place in range(draw(st.integers(1, 3)))]
    call = talk.call(ids, draw(texts)[:600], {"path": draw(texts)[:2_000]})
    answered = [(name, draw(texts)) for name in draw(st.permutations(ids))]
    if strange and draw(st.integers(0, 3)) == 0:
        late.append(answered.pop())
        if draw(st.booleans()):
            late.pop()
    results = talk.results(answered) if answered else []
    if strange and results and draw(st.integers(0, 4)) == 0:
        return [call, talk.say("user", f"reminder {number} in between", {"source": "hook"}), *results]
    return [call, *results]
