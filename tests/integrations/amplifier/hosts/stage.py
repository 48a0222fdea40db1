"""The scripted model as a module of real hosts, a witness of all that the context is given, and what came of it.

A `Stage` knows what the model does at which prompt. Each mounting of the model begins a `Life` of a session, in which
everything is noted: messages, views, requests, events. What the loops made of a session, over all its lives, is the
history that it must have in the end, and by which its requests are judged.
"""

import asyncio
import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from amplifier_core import ChatRequest, ChatResponse, ToolResult, Usage, events
from amplifier_core.llm_errors import ContextLengthError

from backscroll.integrations.amplifier import hooks as signals
from tests.integrations.amplifier.hosts.running import DEATH
from tests.integrations.amplifier.provider import Message, Provider, Request, common, plain
from tests.integrations.amplifier.scripts import Step
from tests.integrations.amplifier.tools import Tool, toolbox

Play = Sequence[Step] | Callable[[], Sequence[Step]]

_HEARD = {*signals.ALL, events.CONTEXT_COMPACTION, events.PROVIDER_ERROR}


class Stage:
    """All sessions of a process. `plays` has the model's steps by words of the prompt: the last of them counts."""

    def __init__(self, plays: Mapping[str, Play], keeps: bool = False, response_ids: bool = False) -> None:
        self.plays, self.keeps, self.response_ids = plays, keeps, response_ids
        self.asides: list[str] = []
        """What the model answers where a host asks it for something of its own, in order; then it names the session."""
        self.lives: list[Life] = []
        self.past: dict[str, list[Message]] = {}
        """By session: what its loops made, over all its lives."""
        _CURRENT[:] = [self]

    def steps(self, prompt: str) -> list[Step]:
        """What the model does at this prompt."""
        words = max(self.plays, key=prompt.rfind)
        if words not in prompt:
            raise LookupError(f"no play for {prompt[-200:]!r}")
        play = self.plays[words]
        return list(play() if callable(play) else play)

    def lives_of(self, session: str) -> "list[Life]":
        return [life for life in self.lives if life.session == session]

    def children(self, parent: str) -> list[str]:
        """Sessions that this one began, in order."""
        found = [life.session for life in self.lives if life.parent == parent]
        return list(dict.fromkeys(found))

    def report(self) -> list[dict[str, Any]]:
        """All lives, in the order of their beginnings."""
        return [life.report() for life in self.lives]


_CURRENT: list[Stage] = []
"""The stage of this process: modules are loaded by name, so it cannot be handed to them."""


class Life:
    """A session from its mounting to its end."""

    def __init__(self, stage: Stage, coordinator: Any, context: Any) -> None:
        self.stage, self.coordinator, self.context = stage, coordinator, context
        self.session, self.parent = str(coordinator.session_id), coordinator.parent_id
        self.number = len(stage.lives)
        self.models: list[Model] = []
        self.requests: list[Request] = []
        self.tails: list[list[Message]] = []
        """What the loop put behind the view, for each request."""
        self.asked_aside: list[str] = []
        """What a host asked the model for something of its own."""
        self.summaries: list[list[Message]] = []
        """Requests for summaries of the conversation."""
        self.failures: list[str] = []
        """What turns failed with."""
        self.steps: list[Step] = []
        self.restored: list[Message] = []
        """What the host gave before the first prompt."""
        self.past: list[Message] | None = None
        """What the loops made; None before the first prompt."""
        self.kept: list[Message] = []
        """What the context said its history is, after the newest turn."""
        self.made: list[Message] = []
        """What it should be."""
        self.counts: Counter[str] = Counter()
        self.payloads: list[tuple[str, dict[str, Any]]] = []
        self.compacted_before: list[int] = []
        """Numbers of the requests before which something was compacted."""
        self._view: list[Message] | None = None
        self._systems: dict[str, Message] = {}
        stage.lives.append(self)

    async def begin(self) -> None:
        """Stands before the context, and listens."""
        await self.coordinator.mount("context", Witness(self))
        hooks = self.coordinator.hooks
        hooks.register(events.PROMPT_SUBMIT, self._submitted, priority=-1_000, name="life:submit")
        hooks.register(events.ORCHESTRATOR_COMPLETE, self._completed, priority=1_000, name="life:complete")
        for event in _HEARD:
            hooks.register(event, self._heard, priority=-1_000, name=f"life:{event}")

    async def _submitted(self, event: str, data: dict[str, Any]) -> None:
        if self.past is None:
            known = self.stage.past.get(self.session) if self.stage.keeps else None
            self.past = self.stage.past[self.session] = list(self.restored) if known is None else known
        self.steps = self.stage.steps(data["prompt"])

    async def _completed(self, event: str, data: dict[str, Any]) -> None:
        self.kept, self.made = await self.history(), list(self.past or ())

    async def _heard(self, event: str, data: dict[str, Any]) -> None:
        self.counts[event] += 1
        self.payloads.append((event, data))
        if event == events.CONTEXT_COMPACTION:
            self.compacted_before.append(len(self.requests))

    async def history(self) -> list[Message]:
        """What the context says its history is; with the old contract `get_messages` is what to send."""
        read = getattr(self.context, "get_history", self.context.get_messages)
        return list(await read())

    # What the witness notes

    def added(self, message: Message) -> None:
        (self.restored if self.past is None else self.past).append(plain(message))

    def replaced(self, messages: Iterable[Message]) -> None:
        (self.restored if self.past is None else self.past)[:] = plain(list(messages))

    def viewed(self, view: list[Message]) -> None:
        self._view = view

    # What the model asks

    def take_view(self) -> list[Message] | None:
        """The view of the request that comes now; None where a host asks the model for something of its own."""
        view, self._view = self._view, None
        return view

    def truth(self, view: Sequence[Message]) -> list[Message]:
        """The history that a request is judged by, behind the system prompt that leads the view."""
        leading = view[0] if view and view[0]["role"] == "system" else None
        past = self.past if self.past is not None else self.restored
        if leading is None or (past and past[0]["role"] == "system"):
            return past
        return [self._systems.setdefault(str(leading["content"]), plain(leading)), *past]

    def report(self) -> dict[str, Any]:
        """How it went, for tests to look at."""
        pairs = list(zip(self.requests, self.requests[1:], strict=False))
        breaks = [at + 1 for at, (old, new) in enumerate(pairs) if not extends(old, new)]
        return {
            "session": self.session,
            "parent": self.parent,
            "requests": len(self.requests),
            "problems": [f"{at}: {line}" for at, sent in enumerate(self.requests) for line in sent.problems],
            "overflows": [at for at, sent in enumerate(self.requests) if not sent.fits],
            "users_whole": all(sent.first_user and sent.last_user for sent in self.requests),
            "extras": sorted(frozenset().union(*(sent.extras for sent in self.requests))),
            "compacted_before": self.compacted_before,
            "moved": [at for at in breaks if at not in self.compacted_before],
            "continues": self._continues(),
            "systems": sorted(Counter(_systems(sent) for sent in self.requests).items()),
            "tails": [[str(message.get("content")) for message in tail] for tail in self.tails if tail],
            "counts": dict(self.counts),
            "failures": self.failures,
            "history": self.difference(),
            "kept": len(self.kept),
            "users": [_words(message) for message in self.kept if message["role"] == "user"],
        }

    def _continues(self) -> bool | None:
        """Whether the first request begins with the last one of the session's life before; None without one."""
        before = [life for life in self.stage.lives[: self.number] if life.session == self.session and life.requests]
        return extends(before[-1].requests[-1], self.requests[0]) if before and self.requests else None

    def difference(self) -> str:
        """How the history differs from what the loops made; empty where it does not."""
        kept, as_is = plain(self.kept), self.made
        if self.restored and not self.stage.keeps:  # a host restored its own copy, which is all there is
            kept, as_is = as_saved(kept), as_saved(as_is)
        if kept == as_is:
            return ""
        at = len(common(kept, as_is))
        return f"{len(kept)} instead of {len(as_is)}, first at {at}: {kept[at : at + 1]} for {as_is[at : at + 1]}"[:900]


def extends(old: Request, new: Request) -> bool:
    """Whether a request begins with the whole request before it, so that a prompt cache can serve it."""
    return len(common(old.messages, new.messages)) == len(old.messages)


def as_saved(messages: Iterable[Message]) -> list[Message]:
    """As the hosts write messages to a transcript, by their own functions."""
    from amplifier_foundation import sanitize_message  # type: ignore[import-not-found]  # as in bundles.py

    return [sanitize_message(message) for message in messages if message["role"] not in ("system", "developer")]


def _systems(sent: Request) -> int:
    return sum(message["role"] == "system" for message in sent.messages)


def _words(message: Message) -> str:
    return str(message.get("content"))[-60:]


class Witness:
    """Stands before a context manager and notes what it is given and what it gives; everything else passes through."""

    def __init__(self, life: Life) -> None:
        self._life, self._context = life, life.context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    async def add_message(self, message: Message) -> None:
        self._life.added(message)
        await self._context.add_message(message)

    async def set_messages(self, messages: list[Message]) -> None:
        self._life.replaced(messages)
        await self._context.set_messages(messages)

    async def clear(self) -> None:
        self._life.replaced([])
        await self._context.clear()

    async def get_messages(self) -> list[Message]:
        messages: list[Message] = await self._context.get_messages()
        if hasattr(self._context, "get_history"):  # the old contract
            self._life.viewed(messages)
        return messages

    async def get_messages_for_request(
        self, token_budget: int | None = None, provider: Any = None, **more: Any
    ) -> list[Message]:
        view: list[Message] = await self._context.get_messages_for_request(token_budget, provider, **more)
        self._life.viewed(view)
        return view


class Model(Provider):
    """The scripted model in one life of a session."""

    def __init__(self, life: Life | None, config: Mapping[str, Any]) -> None:
        ways = {way: config.get(way, False) for way in ("strict", "caching", "same_ids", "escaped")}
        super().__init__(config.get("window", 28_000), config.get("output", 4_000), **ways)
        self.life = life
        self.takes, self.writing = config.get("takes"), config.get("summaries")
        self.priority = config.get("priority", 100)
        """By which hosts' loops choose a provider: the lowest is asked."""

    @property
    def limit(self) -> int:
        """Less than it says, where it `takes` less."""
        return self.takes or super().limit

    async def complete(self, request: ChatRequest, **options: Any) -> ChatResponse:
        life = self.life
        assert life is not None
        if (request.metadata or {}).get("purpose") == "summary":
            return await self._summary(request, life)
        view = life.take_view()
        if view is None:
            return await self._aside(request, life)
        appended = len(request.messages) - len(view)
        request.metadata = {**(request.metadata or {}), "appended": appended}
        self.truth = life.truth(view)
        self.play(life.steps)
        try:
            return await super().complete(request, **options)
        finally:
            life.steps = self._steps
            life.requests.append(self.requests[-1])
            life.tails.append([plain(message.model_dump()) for message in request.messages[len(view) :]])

    async def _aside(self, request: ChatRequest, life: Life) -> ChatResponse:
        """An answer that is no part of the conversation; its usage is reported as that of any other."""
        life.asked_aside.append(str(request.messages[-1].content))
        asides = life.stage.asides
        text = asides.pop(0) if asides else '{"action": "set", "name": "A name"}'
        usage = Usage(input_tokens=50, output_tokens=9, total_tokens=59)
        response = ChatResponse(content=[{"type": "text", "text": text}], usage=usage)
        await self._tell(response)
        return response

    async def _summary(self, request: ChatRequest, life: Life) -> ChatResponse:
        """A summary of the conversation, which is no part of it either."""
        life.summaries.append([plain(message.model_dump()) for message in request.messages])
        if self.writing == "never":
            await asyncio.Event().wait()
        if self.writing == "too long":
            error = ContextLengthError("prompt is too long: 50000 tokens > 4000 maximum", provider=self.name)
            told = {"provider": self.name, "error": {"type": type(error).__name__, "msg": str(error)}}
            await self.coordinator.hooks.emit(events.PROVIDER_ERROR, told)
            raise error
        usage = Usage(input_tokens=100, output_tokens=20, total_tokens=1_120, cache_read_tokens=1_000)
        text = "<summary>All went well so far.</summary>"
        response = ChatResponse(content=[{"type": "text", "text": text}], usage=usage)
        await self._tell(response)
        return response

    def _id(self) -> str:
        """Ids that no other life of the session used, but where the model repeats its ids."""
        if self.same_ids:
            return super()._id()
        assert self.life is not None
        self._made += 1
        return f"call_{self.life.number}_{self.life.models.index(self)}_{self._made}"

    def _response(self, step: Step, sent: Request) -> ChatResponse:
        response = super()._response(step, sent)
        if self.life is not None and self.life.stage.response_ids:
            response.metadata = {"openai:response_id": f"resp_{len(self.requests)}"}
        return response


async def mount_provider(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    """Mounts a model under its usual name; with the first of a session begins a life. In a session there is a context
    already; where the kernel only validates the module there is none.
    """
    context = coordinator.get("context")
    model = Model(None, config or {})
    if context is not None:
        life = context._life if isinstance(context, Witness) else Life(_CURRENT[0], coordinator, context)
        if not life.models:
            await life.begin()
        life.models.append(model)
        model.life, model.coordinator = life, coordinator
    await coordinator.mount("providers", model, name=model.name)


def _nothing(*_: Any) -> ToolResult:
    return ToolResult()


class Death(Tool):
    """A tool in which the process dies. What the loops made until then is left in a file outside of the project."""

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        Path("..", "made.json").write_text(json.dumps(_CURRENT[0].past), encoding="utf-8")
        os._exit(DEATH)


class Interruption(Tool):
    """A tool during which the user presses Ctrl-C. Once lets it end; after the second time it would go on for long, and
    the command line waits no more.
    """

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        for _ in range(input["times"]):
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(0.1)
        await asyncio.sleep(60 if input["times"] > 1 else 0.1)
        return ToolResult(output="Done all the same.")


async def mount_tools(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    """Mounts the tools that the scripted model uses."""
    own = (Death("die", "Ends the process.", _nothing), Interruption("interrupt", "Presses Ctrl-C.", _nothing))
    for tool in (*toolbox(), *own):
        await coordinator.mount("tools", tool, name=tool.name)
