"""The messages of the demo's agent: made by running its tools, or taken from an earlier run that was interrupted."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from backscroll.cli.demo.tools import Tools

Message = dict[str, Any]


def _nothing(*_messages: Message) -> None:
    """Keep nothing, for a session that lives in memory only."""


@dataclass
class Recording:
    """The messages so far, as OpenAI chat. `keep` gets each step: one message, or all results of a call."""

    tools: Tools
    keep: Callable[..., object] = _nothing
    stored: Sequence[Message] = ()
    """Messages of an earlier run: a step that is among them is neither run nor kept again. An answer without its
    results is: its tools run now.
    """
    messages: list[Message] = field(default_factory=list)
    characters: int = 0
    calls: int = 0

    def say(self, role: str, text: str) -> None:
        """Add one plain message."""
        self._step(1, lambda: [{"role": role, "content": text}])

    def call(self, text: str, *calls: tuple[str, dict[str, Any]]) -> list[str]:
        """Add one assistant message that calls tools, in parallel if several; return their results."""
        made = []
        for name, arguments in calls:
            self.calls += 1
            function = {"name": name, "arguments": json.dumps(arguments)}
            made.append({"id": f"call_{self.calls:04}", "type": "function", "function": function})

        def run() -> list[Message]:
            results = [self.tools.run(name, arguments) for name, arguments in calls]
            return [
                {"role": "tool", "tool_call_id": call["id"], "content": result}
                for call, result in zip(made, results, strict=True)
            ]

        self._step(1, lambda: [{"role": "assistant", "content": text or None, "tool_calls": made}])
        return [message["content"] for message in self._step(len(calls), run)]

    def _step(self, number: int, make: Callable[[], list[Message]]) -> Sequence[Message]:
        at = len(self.messages)
        step = self.stored[at : at + number]
        if not step:
            step = make()
            self.keep(*step)
        self.messages += step
        self.characters += sum(len(json.dumps(message, ensure_ascii=False)) for message in step)
        return step
