"""Hooks of the hosts: those that speak before each request, at its end or within the system prompt, and others."""

from pathlib import Path
from typing import Any

from amplifier_core import HookResult, events

from tests.integrations.amplifier.hosts import commands
from tests.integrations.amplifier.hosts.bundles import entry, keeping, prepare
from tests.integrations.amplifier.hosts.stage import Stage
from tests.integrations.amplifier.scripts import say, use

ROUNDS = 19
TEXTS = ("Skills: parsing.", "Status: clean.", "Roles: fast, slow.")
"""What three hooks put into the system prompt."""


class Prefix:
    """A hook as Microsoft's with the placement "prefix": it puts its text behind the system prompt, by wrapping the
    factory that is there, unless its own wrapper is already in place. Their source is not at hand.
    """

    def __init__(self, coordinator: Any, text: str) -> None:
        self.coordinator, self.text = coordinator, text
        self.registered: Any = None

    async def on_request(self, event: str, data: dict[str, Any]) -> HookResult:
        context = self.coordinator.get("context")
        current = getattr(context, "_system_prompt_factory", None)
        if current is None:
            return HookResult(action="inject_context", context_injection=self.text, ephemeral=True)
        if not self._wraps(current):
            self.registered = self._wrapper(current)
            await context.set_system_prompt_factory(self.registered)
        return HookResult(action="continue")

    def _wraps(self, current: Any) -> bool:
        while current is not None:
            if current is self.registered:
                return True
            current = getattr(current, "inner", None)
        return False

    def _wrapper(self, inner: Any) -> Any:
        async def wrapper() -> str:
            return f"{await inner()}\n\n{self.text}"

        wrapper.inner = inner  # type: ignore[attr-defined]  # a note for the hooks that wrap it in turn
        return wrapper


async def before_each_request(kind: str, folder: Path) -> dict[str, Any]:
    """20 requests with the three hooks of the hosts, and 20 with three that wrap the system prompt, in both loops."""
    steps = [*(use("read_file", path=f"part_{at}.py", lines=10) for at in range(ROUNDS)), say("Done.")]
    found: dict[str, Any] = {}
    for loop in ("loop-basic", "loop-streaming"):
        for wrapping in (False, True):
            stage = Stage({"Go.": steps}, keeps=kind != "memory")
            hooks = [entry("hooks-status-context"), entry("hooks-routing"), entry("hooks-session-naming")]
            prepared = await prepare(
                keeping(kind, folder, f"{loop}-{wrapping}"),
                loop,
                tools=[entry("tool-skills", skills_dirs=[str(folder)])],
                hooks=() if wrapping else hooks,
            )
            session = await prepared.create_session(session_cwd=Path.cwd())
            for text in TEXTS if wrapping else ():
                hook = Prefix(session.coordinator, text)
                session.coordinator.hooks.register(events.PROVIDER_REQUEST, hook.on_request, name=text)
            await session.execute("Go.")
            await session.cleanup()
            life = stage.lives[0]
            found[f"{loop} {'prefix' if wrapping else 'tail'}"] = {
                **life.report(), "prompts": [sent.messages[0]["content"] for sent in life.requests],
            }  # fmt: skip  # one report
    return found


async def after_each_tool(kind: str, folder: Path) -> dict[str, Any]:
    """A hook that adds a message for good after each tool, before the result is there."""
    read = [use("read_file", path=f"part_{at}.py", lines=130) for at in range(16)]
    found = {}
    for loop in ("loop-basic", "loop-streaming"):
        stage = Stage({"Go.": [*read, say("Done.")]}, keeps=kind != "memory")
        session = await (await prepare(keeping(kind, folder, loop), loop)).create_session(session_cwd=Path.cwd())

        async def remind(event: str, data: dict[str, Any]) -> HookResult:
            return HookResult(action="inject_context", context_injection="Mind the style.", ephemeral=False)

        session.coordinator.hooks.register(events.TOOL_POST, remind, name="remind")
        await session.execute("Go.")
        await session.cleanup()
        found[loop] = {
            **stage.lives[0].report(),
            "reminders": sum(message.get("content") == "Mind the style." for message in stage.lives[0].kept),
        }
    return found


async def named(kind: str, folder: Path) -> dict[str, Any]:
    """hooks-session-naming, which reads the history after a turn and asks the model aside; then the session resumed."""
    plays = {f"Name me {at}.": [use("read_file", path="a.py", lines=5), say("Read.")] for at in range(2)}
    stage = Stage(plays, keeps=kind != "memory")
    for at, transcript in ((0, lambda: None), (1, lambda: commands.saved("main"))):
        naming = entry("hooks-session-naming", initial_trigger_turn=1, model_role=None)
        prepared = await prepare(keeping(kind, folder), hooks=[naming])
        await commands.single(prepared, f"Name me {at}.", "main", transcript())
    return {"lives": stage.report(), "metadata": commands.store().get_metadata("main")}


async def logged(kind: str, folder: Path) -> dict[str, Any]:
    """A log of events as hooks-logging keeps it: of all kernel events, and of each that a module contributes."""
    steps = [*(use("read_file", path=f"part_{at}.py", lines=120) for at in range(16)), say("Done.")]
    stage = Stage({"Go.": steps}, keeps=kind != "memory")
    session = await (await prepare(keeping(kind, folder))).create_session(session_cwd=Path.cwd())
    coordinator, lines = session.coordinator, []

    async def log(event: str, data: dict[str, Any]) -> None:
        lines.append((event, data))

    contributed = [
        name for names in await coordinator.collect_contributions("observability.events") for name in names or ()
    ]
    for number, event in enumerate((*events.ALL_EVENTS, *contributed)):
        coordinator.hooks.register(event, log, name=f"log {number}")
    await session.execute("Go.")
    await session.cleanup()
    return {
        "compactions": len(stage.lives[0].compacted_before),
        "twice": sorted(set(events.ALL_EVENTS) & set(contributed)),
        "lines": {name: sum(event == name for event, _ in lines) for name in (*events.ALL_EVENTS, *contributed)},
        "included": [data for event, data in lines if event == events.CONTEXT_INCLUDE],
        "compaction": next((data for event, data in lines if event == events.CONTEXT_COMPACTION), {}),
    }


TOGETHER = (before_each_request, after_each_tool, named, logged)
