"""An agent at work whose provider compacts on demand, step by step. No tests live here."""

from typing import Any

from backscroll import NativeCompaction, NativeRequest
from backscroll.evaluation.fake_providers import FakeAnthropic, FakeOpenAIResponses, Reply, reply
from tests.bound_agent import BETAS, BINDING, Message, _sent
from tests.fakes import count_quarter
from tests.native_agent import ON_DEMAND, LateManager

RULE = "Never touch prod.yaml."


class NativeTalk:
    """Work that a fake provider answers, each turn with reasoning and a call.

    Args:
        vendor: `anthropic` or `openai`.
        answer: Returns what the user's function returns, of its request and the provider's response.
        looks: How many looks later a block arrives.
        options: Further options of the manager.
    """

    def __init__(self, vendor: str = "anthropic", *, answer: Any = None, looks: int = 0, **options: Any) -> None:
        self.vendor, self.answer = vendor, answer
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.asked: list[NativeRequest] = []
        self.prompt: str | None = None
        self.number = 0
        self.model = options.get("model", "claude-opus-5-5" if vendor == "anthropic" else "gpt-6.2-sol")
        self.provider: Any = (
            FakeAnthropic(model=self.model, replies=self.reply_to)
            if vendor == "anthropic"
            else FakeOpenAIResponses(model=self.model, replies=self.reply_to, on_mismatch="error")
        )
        native_model = options.pop("native_model", None)
        self.options = {
            "model": self.model, "budget": 6_000, "strategies": ["native", "excerpt", "digest"],
            "tokenizer": count_quarter, "native": NativeCompaction(self.compact, native_model), **options,
        }  # fmt: skip  # one thought
        self.looks = looks
        self.open()
        self.manager.append(
            {"role": "system", "content": "Be brief."}, {"role": "user", "content": f"Go through the notes. {RULE}"}
        )

    def open(self) -> None:
        """Open the manager, perhaps again."""
        self.manager = LateManager(
            self.looks, on_event=lambda name, payload: self.events.append((name, payload)), **self.options
        )

    def reply_to(self, request: Any) -> Reply:
        """Answer as the model does."""
        if request.get("compaction"):
            return reply("The notes were read. " * 20)
        self.number += 1
        return reply(thinking="What is next? " * 12, calls=[("read", {"path": f"notes{self.number}.txt"})])

    def compact(self, request: NativeRequest) -> Any:
        """Ask the provider, as a user's function does."""
        self.asked.append(request)
        if self.vendor == "anthropic":
            sent = self.request(request.messages) | {"compaction": {"type": "summarize"}, "model": request.model}
            response = self.provider.create(**sent)
        else:
            response = self.provider.compact(input=request.messages)
        return response if self.answer is None else self.answer(response)

    def request(self, view: list[Message]) -> Message:
        """Make the request for a view."""
        system = "\n".join(message["content"] for message in view if message["role"] == "system")
        messages = [_sent(message) for message in view if message["role"] != "system"]
        return {"system": system, "messages": messages, "thinking": BINDING, "betas": [*BETAS, ON_DEMAND]}

    def send(self, lane: str = "main", budget: int | None = None) -> list[Message]:
        """Send the view of a lane; the provider must take it as it is."""
        view = self.manager.get_messages_for_request(budget, lane=lane)
        if self.vendor == "anthropic":
            response = self.provider.create(**self.request(view))
            self.manager.append({"role": "assistant", "content": response["content"]})
            known = response["content"][-1].get("id")
        else:
            response = self.provider.create(input=view)
            self.manager.append(response)
            known = response["output"][-1].get("call_id")
        assert self.provider.transformations == []
        self.go_on(known)
        return view

    def go_on(self, call: str) -> None:
        """Append what follows the model's answer: the result of its call."""
        self.manager.append(self.result(call))

    def result(self, call: str) -> Message:
        """The result of a call."""
        if self.vendor == "anthropic":
            return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": self.note()}]}
        return {"type": "function_call_output", "call_id": call, "output": self.note()}

    def note(self) -> str:
        """The result of the next call."""
        return f"Note {self.number}: all is well. " * 25

    def work(self, until: str, most: int = 60) -> list[Message]:
        """Send views until an event of this name; return the last one."""
        self.events.clear()
        for _ in range(most):
            view = self.send()
            if until in self.names:
                return view
        assert until == "never", f"no {until} in {most} requests"
        return view

    @property
    def names(self) -> list[str]:
        """Names of the events since the list was cleared."""
        return [name for name, _ in self.events]

    def payloads(self, name: str) -> list[dict[str, Any]]:
        """Payloads of the events of this name."""
        return [payload for found, payload in self.events if found == name]


def blocks(view: list[Message]) -> list[Any]:
    """The compactions in a view, blocks or items, each with its place."""
    found = [(at, message) for at, message in enumerate(view) if message.get("type") == "compaction"]
    for at, message in enumerate(view):
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if block.get("type") == "compaction":
                found.append((at, block))
    return found


def thoughts(view: list[Message]) -> int:
    """How much reasoning a view shows."""
    items = sum(message.get("type") == "reasoning" for message in view)
    held = [message["content"] for message in view if isinstance(message.get("content"), list)]
    return items + sum(block.get("type") == "thinking" for content in held for block in content)


def notes(view: list[Message]) -> str:
    """Our notes on the provider's block."""
    return next(str(m["content"]) for m in view if str(m.get("content")).startswith("<summary>\nThe compaction at"))
