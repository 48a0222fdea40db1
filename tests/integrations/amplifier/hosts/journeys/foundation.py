"""amplifier-foundation: `create_session`, long work under each loop, and `spawn`."""

import inspect
from pathlib import Path
from typing import Any

from tests.integrations.amplifier.hosts.bundles import entry, keeping, prepare
from tests.integrations.amplifier.hosts.journeys.children import on_disk
from tests.integrations.amplifier.hosts.stage import Stage
from tests.integrations.amplifier.provider import Request
from tests.integrations.amplifier.scripts import Turn, reading, say, work


async def play(stage: Stage, prepared: Any, turns: list[Turn], session: str = "main") -> Any:
    """Creates a session, plays all turns in it, and closes it."""
    opened = await prepared.create_session(session_id=session, session_cwd=Path.cwd())
    stage.plays = {**stage.plays, **{turn.prompt: turn.steps for turn in turns}}
    try:
        for turn in turns:
            await opened.execute(turn.prompt)
    finally:
        await opened.cleanup()
    return opened


async def long(kind: str, folder: Path) -> dict[str, Any]:
    """Mixed work in one session of loop-streaming: 300 requests."""
    stage = Stage({}, keeps=kind != "memory", response_ids=True)
    prepared = await prepare(keeping(kind, folder))
    await play(stage, prepared, work(turns=30, rounds=9))
    return {"lives": stage.report(), "answered": [_response_ids(sent) for sent in stage.lives[0].requests]}


def _response_ids(sent: Request) -> list[str]:
    """Ids of a server's answers that a request names; a provider may have the server go on from the last of them."""
    found = [(message.get("metadata") or {}).get("openai:response_id") for message in sent.messages]
    return [known for known in found if known]


async def loops(kind: str, folder: Path) -> dict[str, Any]:
    """Work under each loop, and one more turn after the session's end."""
    found: dict[str, Any] = {}
    for loop, contract in (("loop-basic", "2.1.0"), ("loop-streaming", "2.1.0"), ("loop-events", "1.0")):
        stage = Stage({}, keeps=kind != "memory")
        prepared = await prepare({"contract": contract, **keeping(kind, folder, loop)}, loop)
        session = await play(stage, prepared, work(turns=5, rounds=8))
        context = session.coordinator.get("context")
        held = len(await stage.lives[0].history())
        await context.add_message({"role": "user", "content": "One thing more."})
        view = await context.get_messages_for_request()
        found[loop] = {
            **stage.lives[0].report(),
            "after_the_end": [held, len(await stage.lives[0].history()), view[-1]["content"]],
        }
    return {**found, "prompt": await prompt()}


async def prompt() -> dict[str, Any]:
    """The system prompt of a session: read as attractor's loop reads it, and a file of it changed between turns."""
    stage = Stage({"Go.": [say("Gone.")]})
    prepared = await prepare({})
    session = await prepared.create_session(session_cwd=Path.cwd())
    await session.execute("Go.")
    Path("RULES.md").write_text("Touch what you like.", encoding="utf-8")
    await session.execute("Go.")
    factory = session.coordinator.get("context")._system_prompt_factory
    sent = [request.messages[0] for request in stage.lives[0].requests]
    return {
        "is_coroutine": inspect.iscoroutinefunction(factory),
        "same": await factory() == sent[-1]["content"],
        "sent": sent,
    }


async def spawn(kind: str, folder: Path) -> dict[str, Any]:
    """A child of `PreparedBundle.spawn` with its parent's messages, while the parent's session is open."""
    from amplifier_foundation import Bundle  # type: ignore[import-not-found]  # a host, at hand in this process only

    stage = Stage({}, keeps=kind != "memory")
    prepared = await prepare(keeping(kind, folder), "loop-basic")
    parent = await prepared.create_session(session_id="main", session_cwd=Path.cwd())
    turns = [*reading(12, 120, "Read the parser."), *reading(12, 120, "Read the printer.")]
    stage.plays = {turn.prompt: turn.steps for turn in turns} | {"Look at both.": reading(14, 120)[0].steps}
    await parent.execute(turns[0].prompt)
    inherited = await parent.coordinator.get("context").get_messages()
    child = Bundle(name="child", session={"orchestrator": entry("loop-basic")}, instruction="You are a child.")
    done = await prepared.spawn(child, "Look at both.", parent_session=parent, parent_messages=inherited)
    await parent.execute(turns[1].prompt)
    await parent.cleanup()
    return {
        "lives": stage.report(),
        "on_disk": [await on_disk(kind, folder, session) for session in ("main", done["session_id"])],
        "inherited": len(inherited),
        "child_prompt": stage.lives[1].requests[0].messages[0]["content"],
    }
