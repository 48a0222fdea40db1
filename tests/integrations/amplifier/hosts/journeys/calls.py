"""Calls of hosts that are not at hand, made in a session of foundation: the context is the same, and so is the loop."""

import asyncio
from pathlib import Path
from typing import Any

from amplifier_core import HookResult, events

from tests.integrations.amplifier.hosts.bundles import entry, keeping, prepare
from tests.integrations.amplifier.hosts.stage import Stage
from tests.integrations.amplifier.provider import Message
from tests.integrations.amplifier.scripts import Step, reading, say, use

LEADING = {"role": "developer", "content": "Mentioned file: style.md says short lines."}
DEVELOPER = {"role": "developer", "content": "Mentioned file: conventions.md says tabs."}
HINT = {"role": "developer", "content": "The surface is a terminal of 80 columns."}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}
REMINDER = "<system-reminder>3 tasks are open.</system-reminder>"


async def opened(stage: Stage, loop: str = "loop-streaming", session: str = "main", **config: Any) -> Any:
    return await (await prepare(config, loop)).create_session(session_id=session, session_cwd=Path.cwd())


def long(mark: str, files: int, lines: int) -> list[Step]:
    return [*(use("read_file", path=f"{mark}_{at}.py", lines=lines) for at in range(files)), say("Done.")]


async def developer(kind: str, folder: Path) -> dict[str, Any]:
    """A history that begins with a developer message and has another, restored as amplifier-agent does, and long work
    after it.
    """
    stage = Stage({"Go.": long("part", 14, 120)}, keeps=kind != "memory")
    session = await opened(stage, **keeping(kind, folder))
    history: list[Message] = [
        LEADING, {"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello."}, DEVELOPER,
    ]  # fmt: skip  # one history
    await session.coordinator.get("context").set_messages(history)
    await session.execute("Go.")
    await session.cleanup()
    life = stage.lives[0]
    shown = [
        [at for at, message in enumerate(sent.messages) if message["role"] == "developer"] for sent in life.requests
    ]
    return {**life.report(), "shown": shown}


async def reminder(kind: str, folder: Path) -> dict[str, Any]:
    """A reminder that a hook keeps in the history before the user's message, and a turn of 45 steps after it."""
    stage = Stage({"Go.": long("part", 45, 70)}, keeps=kind != "memory")
    session = await opened(stage, **keeping(kind, folder))
    context = session.coordinator.get("context")

    async def remind(event: str, data: dict[str, Any]) -> HookResult:
        kept = {"ephemeral": True, "persisted": True, "reminder_placement": "pre_user", "source": "hook"}
        await context.add_message({"role": "user", "content": REMINDER, "metadata": kept})
        return HookResult()

    session.coordinator.hooks.register(events.PROMPT_SUBMIT, remind, name="remind")
    await session.execute("Go.")
    await session.cleanup()
    life = stage.lives[0]
    shown = [sum(message["content"] == REMINDER for message in sent.messages) for sent in life.requests]
    return {**life.report(), "shown": shown}


async def windows(kind: str, folder: Path) -> dict[str, Any]:
    """Two instances of one provider with one model and windows of 200k and 16k: the large, the small, the large."""
    plays = {"Read much.": long("large", 20, 150), "Ask the small one.": [say("Small.")], "Go on.": [say("On.")]}
    stage = Stage(plays, keeps=kind != "memory")
    small, large = entry("provider-scripted", window=16_000), entry("provider-scripted", window=200_000)
    prepared = await prepare(
        keeping(kind, folder), providers=[{**small, "instance_id": "small"}, {**large, "instance_id": "large"}]
    )
    session = await prepared.create_session(session_cwd=Path.cwd())
    models = session.coordinator.get("providers")
    for asked, prompt in (("large", "Read much."), ("small", "Ask the small one."), ("large", "Go on.")):
        for name, model in models.items():
            model.priority = 1 if name == asked else 2
        await session.execute(prompt)
    await session.cleanup()
    requests = {name: [sent.tokens for sent in model.requests] for name, model in models.items()}
    return {**stage.lives[0].report(), "tokens": requests}


async def surfaced(kind: str, folder: Path) -> dict[str, Any]:
    """A hook that sets the whole history right before a request: first with an image in the newest message, then with a
    message in front of all others. So a terminal does that has its own surface.
    """
    plays = {"Go.": long("part", 17, 90), "Look.": [say("Seen.")], "And now?": [say("Done.")]}
    stage = Stage(plays, keeps=kind != "memory")
    session = await opened(stage, **keeping(kind, folder))
    context = session.coordinator.get("context")

    async def alter(event: str, data: dict[str, Any]) -> HookResult:
        messages = await context.get_messages()
        said = messages[-1].get("content")
        if said == "Look.":
            last = {**messages[-1], "content": [{"type": "text", "text": said}, IMAGE]}
            await context.set_messages([*messages[:-1], last])
        elif said == "And now?":
            await context.set_messages([HINT, *messages])
        return HookResult()

    session.coordinator.hooks.register(events.PROVIDER_REQUEST, alter, name="surface")
    for prompt in plays:
        await session.execute(prompt)
    await session.cleanup()
    life = stage.lives[0]
    pictured, hinted = (sent.messages for sent in life.requests[-2:])
    return {**life.report(), "pictured": IMAGE in pictured[-1]["content"], "hinted": hinted[1]}


async def little(kind: str, folder: Path) -> dict[str, Any]:
    """What takes one call each: an empty restore, a focus without a summarizer, and no room at all."""
    stage = Stage({"Go.": long("part", 8, 100)})
    session = await opened(stage)
    context = session.coordinator.get("context")
    await context.add_message({"role": "system", "content": "Be brief."})
    await context.set_messages([])
    emptied = await context.get_messages()
    await session.execute("Go.")
    await context.compact(focus="the parser")
    failures = {}
    for loop in ("loop-basic", "loop-streaming"):
        full = await opened(stage, loop, loop)
        Path("RULES.md").write_text("No room. " * 40_000, encoding="utf-8")
        try:
            await full.execute("Go.")
        except Exception as error:
            failures[loop] = [type(error).__name__, str(error)]
        await full.cleanup()
    await session.cleanup()
    return {"emptied": emptied, "no_room": failures, **stage.lives[0].report()}


async def opened_twice(kind: str, folder: Path) -> dict[str, Any]:
    """Two sessions with one id at once, as two windows of a user: both work on the same history."""
    stage = Stage({"Left.": reading(2, 20)[0].steps, "Right.": reading(2, 20)[0].steps}, keeps=True)
    kept = keeping("store", folder)
    left, right = await opened(stage, **kept), await opened(stage, **kept)
    await left.execute("Left.")
    await right.execute("Right.")
    seen = [len(await one.coordinator.get("context").get_messages()) for one in (left, right)]
    await asyncio.gather(left.cleanup(), right.cleanup())
    return {"seen": seen, "lives": stage.report()}


TOGETHER = (developer, reminder, windows, surfaced, little, opened_twice)
