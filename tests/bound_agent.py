"""An agent whose provider binds reasoning to what came before it, with everything that users do to a session.

The provider is a fake that refuses reasoning behind an edited prefix. Each request of the agent must be answered, and
the provider must not have to leave out reasoning by itself.
"""

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from backscroll import BudgetError, ContextManager
from backscroll.evaluation.fake_providers import FakeAnthropic, FakeOpenAIResponses, Reply, reply
from backscroll.evaluation.validity import problems

Message = dict[str, Any]
BINDING = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"}}
BETAS = ["thinking-binding-controls-2026-08-01"]
CLAUDES = ("claude-opus-5-5", "claude-fable-5-1", "claude-sonnet-5-5")
GPTS = ("gpt-6.2-sol", "gpt-6.2-astra")
GEMINIS = ("gemini-3.8-flash", "gemini-3.1-pro-preview", "gemini-4-argon")
OLDER_GPTS = ("gpt-5.5", "gpt-6.1-sol")
MODELS = {"anthropic": CLAUDES, "openai": GPTS, "older openai": OLDER_GPTS, "gemini": GEMINIS}
MODEL_SWITCHES = ("model_binding_mismatch", "model_mismatch")
"""Reasons for which a provider drops reasoning whatever its prefix is."""
OPS = (
    "work", "work", "work", "work", "say", "leave", "late", "compact", "undo", "rewind", "pin", "unpin", "pass",
    "prompt", "tools", "reopen", "switch", "budget", "steer",
)  # fmt: skip  # one list


class BoundAgent:
    """The agent.

    Args:
        vendor: `anthropic`, `openai`, or `older openai`, whose models bind no reasoning.
        seed: Everything it chooses follows from this.
        open_manager: Opens the manager of its session, again and again.
        budgets: Input tokens of its requests, the first one at the start.
        account_created: Day on which its account was created, which decides on what the provider does by default.
        default_behavior: Leave what the provider does on a mismatch to its default.
    """

    def __init__(
        self,
        vendor: str,
        seed: int,
        open_manager: Callable[[], ContextManager],
        *,
        budgets: tuple[int, ...] = (8_000, 3_000, 20_000),
        account_created: str = "2026-10-01",
        default_behavior: bool = False,
    ) -> None:
        self.chance = random.Random(seed)
        self.vendor, self.budgets, self.budget = vendor, budgets, budgets[0]
        self.open_manager, self.manager = open_manager, open_manager()
        self.models = MODELS[vendor]
        self.model = self.models[0]
        self.default_behavior = default_behavior
        self.provider: Any = self.made_provider(account_created)
        self.prompt: str | None = None
        self.tools: list[Message] | None = None
        self.open: list[tuple[str, str]] = []
        """Calls without results, by id and item type."""
        self.waiting: list[tuple[str, str]] = []
        """Calls whose results come late."""
        self.numbers = self.requests = self.sealed = self.refusals = 0
        self.manager.append({"role": "system", "content": "Be brief."}, self._said("Do the long task."))
        self.ask()

    def made_provider(self, account_created: str) -> Any:
        """Return the fake that answers."""
        if self.vendor == "anthropic":
            return FakeAnthropic(replies=self.reply_to, account_created=account_created)
        return FakeOpenAIResponses(replies=self.reply_to, on_mismatch="error")

    def act(self, op: str) -> None:
        """Do one thing, and ask the model where it is its turn."""
        getattr(self, f"_{op}")()

    # -- what an agent does --

    def _work(self) -> None:
        if self.open:
            self._answer(self.open)
        else:
            self.manager.append(self._said(self._text(30)))
        self.ask()

    def _say(self) -> None:
        """The user speaks, also while calls wait."""
        self.waiting += self.open
        self.open = []
        self.manager.append(self._said(self._text(60)))
        self.ask()

    def _steer(self) -> None:
        """The user speaks right behind the results."""
        if self.open:
            self._answer(self.open)
            self.manager.append(self._said(self._text(10)))
            self.ask()

    def _leave(self) -> None:
        """Some results come, others will be late, and the user speaks."""
        if len(self.open) > 1:
            self.waiting.append(self.open.pop())
            self._steer()

    def _late(self) -> None:
        if self.waiting:
            self.manager.append(self._result(*self.waiting.pop(0)))
            if not self.open:
                self._say()

    def _compact(self) -> None:
        with suppress(BudgetError):
            self.manager.compact(lane=self.model)

    def _undo(self) -> None:
        self.manager.undo_compaction(lane=self.model)

    def _rewind(self) -> None:
        """Back to a message of the user, and on from there."""
        messages = self.manager.get_messages()
        users = [at for at, message in enumerate(messages) if at and self._is_said(message)]
        branch = [status.seq for status in self.manager.explain(self.model)]
        to = branch[self.chance.choice(users)]
        self.manager.rewind(to)
        self.open, self.waiting = [], []
        self.ask()

    def _pin(self) -> None:
        self.manager.pin(self._some_seq())

    def _unpin(self) -> None:
        self.manager.unpin(self._some_seq())

    def _pass(self) -> None:
        """A message that is never stored."""
        if not self.open:
            self.manager.append(self._said(self._text(5)) | {"metadata": {"ephemeral": True}})

    def _prompt(self) -> None:
        self.numbers += 1
        self.prompt = f"You are agent {self.numbers}."
        self._prompted()

    def _tools(self) -> None:
        """Other tools, or none."""
        self.numbers += 1
        names = ["read"] * self.chance.choice((0, 1, 1)) + [f"tool{self.numbers}"] * self.chance.choice((0, 1))
        shape = "input_schema" if self.vendor == "anthropic" else "parameters"
        kind = {} if self.vendor == "anthropic" else {"type": "function"}
        tools = [{"name": name, "description": self._text(9), shape: {"type": "object"}} | kind for name in names]
        self.tools = tools or self.chance.choice((None, []))

    def _prompted(self) -> None:
        if self.prompt is not None:
            prompt = self.prompt
            self.manager.set_system_prompt_factory(lambda: prompt)

    def _reopen(self) -> None:
        self.manager.close()
        self.manager = self.open_manager()
        self._prompted()

    def _switch(self) -> None:
        self.model = self.chance.choice(self.models)

    def _budget(self) -> None:
        self.budget = self.chance.choice(self.budgets)

    # -- requests --

    def ask(self) -> None:
        """Send a view, and append the answer."""
        try:
            view = self.manager.get_messages_for_request(self.budget, lane=self.model, tools=self.tools)
        except BudgetError:
            return
        self.judge(view)
        if self.vendor == "anthropic":
            response = self.provider.create(**self.anthropic_request(view))
            self.manager.append({"role": "assistant", "content": response["content"]})
            calls = [block for block in response["content"] if block["type"] == "tool_use"]
            self.open = [(call["id"], "tool_result") for call in calls]
        else:
            tools = {"tools": self.tools} if self.tools else {}
            response = self.provider.create(model=self.model, input=[_sent(each) for each in view], **tools)
            self.manager.append(response)
            calls = [item for item in response["output"] if item["type"] == "function_call"]
            self.open = [(call["call_id"], "function_call_output") for call in calls]
        self.requests += 1
        self.sealed += "signature" in str(view) or "encrypted_content" in str(view)
        reasons = [dropped["reason"] for dropped in self.provider.transformations]
        assert all(reason in MODEL_SWITCHES for reason in reasons), reasons

    def judge(self, view: list[Message]) -> None:
        """Check a view with the oracle. Messages that are never stored, and the prompt, are in no history."""
        if self.prompt is None and not any((message.get("metadata") or {}).get("ephemeral") for message in view):
            found = problems(view, self.manager.get_messages(), [each.seq for each in self.manager.explain()])
            assert found == [], found

    def anthropic_request(self, view: list[Message]) -> Message:
        """Make the request for a view: the leading system messages are its `system`."""
        system = [message["content"] for message in view if message["role"] == "system"]
        messages = [_sent(message) for message in view if message["role"] != "system"]
        request = {"model": self.model, "max_tokens": 1_000, "system": "\n".join(system), "messages": messages}
        request |= {"tools": self.tools} if self.tools else {}
        return request | ({} if self.default_behavior else {"thinking": BINDING, "betas": BETAS})

    def reply_to(self, request: Any) -> Reply:
        """Return what the model answers."""
        return self._thought()

    def _thought(self) -> Reply:
        chance = self.chance
        calls = [("read", {"path": self._text(2)}) for _ in range(chance.choice((0, 1, 1, 1, 2, 3)))]
        thoughts = [self._text(chance.choice((10, 60, 150))) for _ in range(chance.choice((0, 1, 1, 2)))]
        said = self._text(20) if not calls or chance.random() < 0.4 else ""
        redacted = self.vendor == "anthropic" and chance.random() < 0.2
        return reply(said, thinking=thoughts, redacted=redacted, calls=calls)

    # -- messages --

    def _answer(self, calls: list[tuple[str, str]]) -> None:
        if self.vendor == "anthropic":
            blocks = [self._result(*call)["content"][0] for call in calls]
            self.manager.append({"role": "user", "content": blocks})
        else:
            self.manager.append(*[self._result(*call) for call in calls])
        self.open = []

    def _result(self, call: str, kind: str) -> Message:
        text = self._text(self.chance.choice((5, 100, 400, 900)))
        if kind == "tool_result":
            return {"role": "user", "content": [{"type": kind, "tool_use_id": call, "content": text}]}
        return {"type": kind, "call_id": call, "output": text}

    def _said(self, text: str) -> Message:
        return {"role": "user", "content": text}

    def _is_said(self, message: Message) -> bool:
        return message["role"] == "user" and isinstance(message["content"], str)

    def _text(self, size: int) -> str:
        self.numbers += 1
        return f"n{self.numbers} " + " ".join(self.chance.choice(("alpha", "beta", "x1", "\n")) for _ in range(size))

    def _some_seq(self) -> int:
        return self.chance.choice([status.seq for status in self.manager.explain(self.model)])


def _sent(message: Message) -> Message:
    """Leave out what only the manager reads."""
    return {key: value for key, value in message.items() if key != "metadata"}
