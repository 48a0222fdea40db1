"""Hosts that are not at hand, made small from what they do with a context: they fail when a context breaks their rules.

- `NewestLoop`: loop-streaming since reminders are stored once, with its preflight and its recovery from overflows.
- `app_runtime_restore`: a host that restores a transcript of user and assistant messages only.
- `HttpHistory`: a host that is given the whole history with each call, developer messages included.

The mutations in `test_fakes.py` show that each rule is checked.
"""

import inspect
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from amplifier_core import ChatRequest, Message
from amplifier_core.llm_errors import ContextLengthError

from tests.integrations.amplifier.provider import Provider
from tests.integrations.amplifier.scripts import Step

REBUILDS = 2  # of a view that is over the loop's own limit, before the turn ends


class BrokenRuleError(Exception):
    """The context did what this host does not allow."""


def measure(view: Sequence[dict[str, Any]]) -> int:
    """The loop's own count of a request."""
    return sum(len(str(message)) // 4 for message in view)


class NewestLoop:
    """One session of the loop."""

    def __init__(self, coordinator: Any, provider: Provider, limit: int | None = None) -> None:
        self.coordinator, self.provider = coordinator, provider
        self.context = coordinator.get("context")
        self.limit = limit or provider.limit
        """What a request may take by `measure`."""
        self.recorders: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self.reminder: str | None = None
        self.overflows = self.rebuilds = 0

    async def execute(self, prompt: str, steps: Sequence[Step], reminder: str | None = None) -> None:
        """One turn. The reminder is stored where it is not the one before."""
        await self.coordinator.hooks.emit("prompt:submit", {"prompt": prompt})
        claim = self.coordinator.get_capability("context.foreground_usage")
        if claim is not None:
            self.recorders[self.context] = claim()
        if reminder is not None and reminder != self.reminder:
            await self._remind(reminder)
        await self._add({"role": "user", "content": prompt})
        for step in steps:
            self.provider.play([step])
            await self._step(step)

    async def _remind(self, text: str) -> None:
        metadata = {"ephemeral": True, "persisted": True, "reminder_placement": "pre_user"}
        message = {"role": "user", "content": text, "metadata": metadata}
        await self._add(message)
        if message not in await self.context.get_messages():
            raise BrokenRuleError("a reminder was not kept as it was added")
        self.reminder = text

    async def _add(self, message: dict[str, Any]) -> None:
        self.provider.truth.append(message)
        await self.context.add_message(message)

    async def _step(self, step: Step) -> None:
        await self.coordinator.hooks.emit("provider:request", {"provider": self.provider.name})
        view = await self._fitting_view()
        try:
            await self._complete(view)
        except ContextLengthError:
            self.overflows += 1
            await self._complete(await self._recovered_view(view))
        calls: list[dict[str, Any]] = [
            {"id": f"{len(self.provider.truth)}-{n}", "use": use} for n, use in enumerate(step.uses)
        ]
        await self._add(
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": step.text or "I look."},
                    *({"type": "tool_call", "id": c["id"], "name": c["use"].tool, "input": {}} for c in calls),
                ],
                "tool_calls": [{"id": call["id"], "tool": call["use"].tool, "arguments": {}} for call in calls],
            }
        )
        if (await self.context.get_messages())[-1].get("role") != "assistant":
            raise BrokenRuleError("the newest message is not the one that was added last")
        for call in calls:
            lines = call["use"].arguments.get("lines", 20)
            text = "".join(f"{line}: what {call['id']} found\n" for line in range(lines))
            await self._add({"role": "tool", "tool_call_id": call["id"], "name": call["use"].tool, "content": text})

    async def _view(self, budget: int | None = None, **more: Any) -> list[dict[str, Any]]:
        retain = self.coordinator.get_capability("context.request_retention")
        if retain is not None:
            asked = {"retain_contents": [self.reminder] if self.reminder else [], "provider": self.provider}
            view = await retain(**asked, **({} if budget is None else {"token_budget": budget}), **more)
        elif budget is None:
            view = await self.context.get_messages_for_request(provider=self.provider)
        else:
            try:
                view = await self.context.get_messages_for_request(provider=self.provider, token_budget=budget)
            except TypeError as error:
                raise BrokenRuleError("the context takes no token_budget") from error
        self._check(view)
        return list(view)

    def _check(self, view: Sequence[dict[str, Any]]) -> None:
        if self.reminder is not None and [message.get("content") for message in view].count(self.reminder) != 1:
            raise BrokenRuleError("the reminder that holds is not in the request once, word for word")
        users = [
            message
            for message in view
            if message["role"] == "user" and (message.get("metadata") or {}).get("ephemeral") is not True
        ]
        prompts = [
            message for message in self.provider.truth if message["role"] == "user" and "metadata" not in message
        ]
        if not users or users[-1]["content"] != prompts[-1]["content"]:
            raise BrokenRuleError("the last user message of a request is not the user's")

    async def _fitting_view(self) -> list[dict[str, Any]]:
        """The view, made smaller where it is over the loop's own limit."""
        view = await self._view()
        for _ in range(REBUILDS):
            if measure(view) <= self.limit:
                return view
            self.rebuilds += 1
            view = await self._view(self.limit)
        if measure(view) > self.limit:
            raise ContextLengthError("request is over the limit by the loop's own count", provider=self.provider.name)
        return view

    async def _recovered_view(self, refused: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """A smaller view in place of one that the provider refused."""
        retain = self.coordinator.get_capability("context.request_retention")
        if retain is None or "hard_fit" not in inspect.signature(retain).parameters:
            raise ContextLengthError("no context that can be made to fit", provider=self.provider.name)
        budget = min(measure(refused) * 3 // 4, self.limit)
        view = await self._view(budget, hard_fit=True)
        if measure(view) > budget:
            raise BrokenRuleError("a hard limit was not kept")
        return view

    async def _complete(self, view: Sequence[dict[str, Any]]) -> None:
        response = await self.provider.complete(ChatRequest(messages=[Message(**message) for message in view]))
        recorder = self.recorders.get(self.context)
        if recorder is not None:
            recorder(input_tokens=response.usage.input_tokens, cache_write_tokens=0)


def app_runtime_transcript(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What app-runtime saves of a conversation."""
    return [message for message in messages if message["role"] in ("user", "assistant")]


async def app_runtime_restore(context: Any, transcript: list[dict[str, Any]]) -> None:
    """Restores a transcript as that host does: keeps a fresh system message, should there be one."""
    before = await context.get_messages()
    system = next((message for message in before if message.get("role") == "system"), None)
    await context.set_messages(transcript)
    restored = await context.get_messages()
    results = [message for message in before if message.get("role") == "tool"]
    if [message for message in restored if message.get("role") == "tool"] != results:
        raise BrokenRuleError("the restore lost tool results that were held")
    if system is not None and not any(message.get("role") == "system" for message in restored):
        await context.set_messages([system, *restored])


class HttpHistory:
    """The HTTP face of an agent: each call brings the whole history, and the context's own is saved after it."""

    def __init__(self, context: Any) -> None:
        self._context, self._get = context, context.get_messages

    async def call(self, history: list[dict[str, Any]], factory: Any) -> list[dict[str, Any]]:
        """What is sent for this history."""
        await self._context.set_system_prompt_factory(factory)
        await self._context.set_messages(history)
        view: list[dict[str, Any]] = await self._context.get_messages_for_request()
        shown = [message for message in view if message["role"] == "developer"]
        if shown != [message for message in history if message["role"] == "developer"]:
            raise BrokenRuleError("developer messages of the history are not in the request")
        if await self._get() != history:
            raise BrokenRuleError("the context holds another history than the call brought")
        return view
