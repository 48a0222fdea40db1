"""A whole Amplifier session for a test: real kernel, modules loaded as in reality, a scripted model, and how it went.

    run = World("context-naive", modules=NAIVE, provider=Provider(window=20_000)).run(work(turns=5, rounds=6))
    assert run.valid and run.fits and run.complete

The context module is loaded by its name: from its entry point if it is installed, from `modules` if it is not, or from
a folder by a module-source resolver if `sources` names one, which also validates and mounts it a first time.
"""

import asyncio
import importlib
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from amplifier_core import AmplifierSession, events
from amplifier_core.module_sources import ModuleNotFoundError as SourceNotFound

from backscroll.adapters.amplifier import signals
from tests.amplifier.provider import Message, Provider, Request, common, plain
from tests.amplifier.scripts import Turn
from tests.amplifier.tools import Tool, toolbox

NAIVE = {"context-naive": "tests.amplifier.naive:mount"}
OWN = {
    "loop-scripted": "tests.amplifier.loops:mount",
    "provider-scripted": "tests.amplifier.provider:mount",
    "tool-scripted": "tests.amplifier.tools:mount",
}
LISTEN = {*events.ALL_EVENTS, *signals.ALL}
Handler = Callable[[str, dict[str, Any]], Awaitable[Any]]


@dataclass
class World:
    """What a session is made of. Every field but the first may be left out."""

    context: str
    """Name of the context module, for instance `context-backscroll`."""
    config: dict[str, Any] = field(default_factory=dict)
    """Configuration of the context module."""
    provider: Provider = field(default_factory=Provider)
    tools: Sequence[Tool] = field(default_factory=toolbox)
    hooks: Sequence[tuple[str, Handler]] = ()
    """Event and handler; a handler may inject by its HookResult."""
    system: str | None = None
    """Given to the context as hosts do: by its `set_system_prompt_factory`, or as a message if it has none."""
    loop: dict[str, Any] = field(default_factory=dict)
    """Configuration of the loop: {"contract": 1} is the loop of 1.x, {"retries": 0} one that never tries again."""
    modules: Mapping[str, str] = field(default_factory=dict)
    """Entry points of modules that are not installed."""
    sources: Mapping[str, Path] = field(default_factory=dict)
    """Folders of modules that the kernel has to load by path."""
    session: type = AmplifierSession

    def run(self, turns: Sequence[Turn]) -> "Run":
        """Plays all turns in one session and closes it."""

        async def play() -> Run:
            async with self.open() as live:
                for turn in turns:
                    await live.turn(turn)
                return await live.report()

        return asyncio.run(play())

    @asynccontextmanager
    async def open(self, resumed: Sequence[Message] | None = None) -> AsyncIterator["Live"]:
        """A session to work with step by step; `resumed` are the messages that a host restores first."""
        with published({**OWN, **self.modules}):
            session = self.session(self._mount_plan(), session_id="world", is_resumed=resumed is not None)
            live = Live(self, session)
            try:
                await live.begin(resumed)
                yield live
            finally:
                await session.cleanup()

    def _mount_plan(self) -> dict[str, Any]:
        return {
            "session": {
                "orchestrator": {"module": "loop-scripted", "config": self.loop},
                "context": {"module": self.context, "config": self.config},
            },
            "providers": [{"module": "provider-scripted", "config": {"provider": self.provider}}],
            "tools": [{"module": "tool-scripted", "config": {"tools": list(self.tools)}}],
        }


class Live:
    """An open session."""

    def __init__(self, world: World, session: Any) -> None:
        self.world, self.session, self.provider = world, session, world.provider
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.answers: list[str] = []
        self.errors: list[BaseException] = []
        self.module: Any = None
        """The context module's own object."""
        self.context: Any = None
        """The same behind a witness: what loops and hosts talk to."""

    async def begin(self, resumed: Sequence[Message] | None) -> None:
        """Loads all modules and sets the session up as a host does."""
        coordinator = self.session.coordinator
        for event in LISTEN:
            coordinator.hooks.register(event, self._heard, priority=-1_000, name="world")
        for event, handler in self.world.hooks:
            coordinator.hooks.register(event, handler)
        if self.world.sources:
            await coordinator.mount("module-source-resolver", Folders(self.world.sources))
        await self.session.initialize()
        self.module = coordinator.get("context")
        self.context = Witness(self.module, self.provider.truth)
        await coordinator.mount("context", self.context)
        if self.world.system is not None:
            await self.context.instruct(self.world.system)
        if resumed is not None:
            await self.context.set_messages([dict(message) for message in resumed])

    async def _heard(self, event: str, data: dict[str, Any]) -> None:
        self.events.append((event, data))

    async def turn(self, turn: Turn) -> str | None:
        """One prompt; None and an entry in `errors` if the turn failed. The session goes on, as a user would."""
        self.provider.play(turn.steps)
        try:
            answer = await self.session.execute(turn.prompt)
        except Exception as error:
            self.errors.append(error)
            return None
        self.answers.append(answer)
        return str(answer)

    async def report(self) -> "Run":
        """How it went up to here."""
        kept = await self.context.get_messages()
        return Run(self.provider.requests, self.context.given, kept, self.events, self.answers, self.errors)


@dataclass(repr=False)  # a whole session is no line of text
class Run:
    """What came out of a session."""

    requests: list[Request]
    given: list[Message]
    """Every message that the context was given; empty values are left out."""
    kept: list[Message]
    """What the context says the history is."""
    events: list[tuple[str, dict[str, Any]]]
    answers: list[str]
    errors: list[BaseException]

    @property
    def valid(self) -> bool:
        """No request had a problem. `problems` has them all."""
        return not self.problems

    @property
    def problems(self) -> list[str]:
        return [f"request {number}: {line}" for number, sent in enumerate(self.requests) for line in sent.problems]

    @property
    def fits(self) -> bool:
        """Every request was within the model's window."""
        return not self.overflows

    @property
    def overflows(self) -> list[int]:
        """Numbers of the requests that did not fit."""
        return [number for number, sent in enumerate(self.requests) if not sent.fits]

    @property
    def users_whole(self) -> bool:
        """Every request held the first and the last user message word for word."""
        return all(sent.first_user and sent.last_user for sent in self.requests)

    @property
    def complete(self) -> bool:
        """The history is what was given, message by message."""
        return plain(self.kept) == self.given

    @property
    def extras(self) -> frozenset[str]:
        """Keys of the context manager's own that reached the provider."""
        return frozenset().union(*(sent.extras for sent in self.requests))

    @property
    def extending(self) -> float:
        """Share of requests that begin with the whole request before them, so that a prompt cache can serve it."""
        pairs = list(zip(self.requests, self.requests[1:], strict=False))
        kept = sum(len(common(old.messages, new.messages)) == len(old.messages) for old, new in pairs)
        return kept / len(pairs) if pairs else 1.0

    @property
    def compactions(self) -> int:
        """Compactions that were reported."""
        return self.count(events.CONTEXT_COMPACTION)

    @property
    def compactions_per_request(self) -> float:
        return self.compactions / len(self.requests) if self.requests else 0.0

    def count(self, event: str) -> int:
        """How often an event was emitted."""
        return sum(name == event for name, _ in self.events)

    def payloads(self, event: str) -> list[dict[str, Any]]:
        """What came with an event, each time."""
        return [data for name, data in self.events if name == event]


class Witness:
    """Stands before a context manager and notes what it is given; everything else passes through."""

    def __init__(self, context: Any, truth: list[Message]) -> None:
        self._context, self._truth, self._before = context, truth, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    @property
    def module(self) -> Any:
        """What stands behind: what is added there is no part of the history."""
        return self._context

    @property
    def given(self) -> list[Message]:
        """The history as it should be."""
        return self._truth[self._before :]

    async def add_message(self, message: Message) -> None:
        self._truth.append(plain(message))
        await self._context.add_message(message)

    async def set_messages(self, messages: list[Message]) -> None:
        self._truth[self._before :] = plain(messages)
        await self._context.set_messages(messages)

    async def clear(self) -> None:
        del self._truth[self._before :]
        await self._context.clear()

    async def instruct(self, text: str) -> None:
        """The system prompt, by factory where there is one: then it is sent, but is no part of the history."""
        message = {"role": "system", "content": text}
        if not hasattr(self._context, "set_system_prompt_factory"):
            await self.add_message(message)
            return

        async def factory() -> str:
            return text

        self._context.set_system_prompt_factory(factory)
        self._truth.insert(0, message)
        self._before = 1


# Installing


@contextmanager
def published(modules: Mapping[str, str]) -> Iterator[Path]:
    """Installs a distribution whose only content are these entry points, as long as it lasts."""
    with tempfile.TemporaryDirectory() as folder:
        info = Path(folder) / "scripted_modules-1.0.dist-info"
        info.mkdir()
        info.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: scripted-modules\nVersion: 1.0\n")
        lines = [f"{name} = {target}" for name, target in modules.items()]
        info.joinpath("entry_points.txt").write_text("\n".join(["[amplifier.modules]", *lines, ""]))
        sys.path.insert(0, folder)
        importlib.invalidate_caches()
        try:
            yield Path(folder)
        finally:
            sys.path.remove(folder)
            importlib.invalidate_caches()


class Folders:
    """A module-source resolver that knows some folders; for all other modules the kernel uses entry points."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self._folders = folders

    def resolve(self, module_id: str, source_hint: Any = None, profile_hint: Any = None) -> "Folder":
        if module_id not in self._folders:
            raise SourceNotFound(module_id)
        return Folder(self._folders[module_id])


class Folder:
    """A module source on disk."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def resolve(self) -> Path:
        return self._path


def assert_sound(run: Run) -> None:
    """No request that a provider would refuse, in form or in length, and nothing lost of what was said."""
    assert run.errors == []
    assert run.problems == []
    assert run.overflows == []
    assert run.users_whole
    assert run.complete
    assert run.extras == frozenset()
