"""Amplifier's command line: a session that is new, resumed, forked, cleared, rewound, and repaired after a crash."""

import json
from pathlib import Path
from typing import Any

from tests.integrations.amplifier.hosts import commands
from tests.integrations.amplifier.hosts.bundles import keeping, prepare
from tests.integrations.amplifier.hosts.stage import Stage, as_saved
from tests.integrations.amplifier.scripts import Step, Use, say, use


def thinking(mark: str, files: int, lines: int) -> list[Step]:
    """A model that thinks before each use of a tool, and before its answer."""
    read = [
        Step(f"Reading {mark}.", (Use("read_file", {"path": f"{mark}_{at}.py", "lines": lines}),), f"{mark} {at}?")
        for at in range(files)
    ]
    return [*read, Step(f"Done with {mark}.", (), f"All of {mark} is read.")]


async def talk(kind: str, folder: Path) -> dict[str, Any]:
    """A session at the prompt with its commands, three resumes, one more at the prompt with /clear, and the fork's."""
    plays = {
        "Read the parser.": thinking("parser", 14, 110),
        "Fix the printer.": thinking("printer", 3, 40),
        **{f"Go on {at}.": thinking(f"part_{at}", 1, 12) for at in range(5)},
        "Begin again.": [say("I begin.")],
    }
    stage = Stage(plays, keeps=kind != "memory")

    async def fresh(name: str = "kept") -> Any:
        return await prepare(keeping(kind, folder, name))

    shown = await commands.interactive(
        await fresh(),
        ["Read the parser.", "/status", "Fix the printer.", "/save all.json", "/fork", "/fork 1 forked", "exit"],
        "main",
    )
    place = commands.store().base_dir
    written = json.loads((place / "main" / "all.json").read_text(encoding="utf-8"))["messages"]
    for at in range(3):
        await commands.single(await fresh(), f"Go on {at}.", "main", commands.saved("main"))
    before = len(stage.past["main"])
    await commands.interactive(
        await fresh(), ["Go on 3.", "/clear", "Begin again.", "exit"], "main", commands.saved("main")
    )
    forked = len(commands.saved("forked"))
    await commands.single(await fresh("forked"), "Go on 4.", "forked", commands.saved("forked"))
    first = stage.lives[0]
    return {
        "lives": stage.report(),
        "shown": shown,
        "written": len(written),
        "made": len([message for message in first.kept if message["role"] != "system"]),
        "before_clear": before,
        "forked": forked,
        "saved": [len(commands.saved("main")), len(commands.saved("forked"))],
        "views": [len(life.requests[0].messages) for life in stage.lives],
    }


async def rewound(kind: str, folder: Path) -> dict[str, Any]:
    """A session resumed with less than its turns, as hosts do after a rewind on disk."""
    from amplifier_foundation.session import slice_to_turn  # type: ignore[import-not-found]  # as in bundles.py

    plays = {f"Go on {at}.": thinking(f"part_{at}", 2, 20) for at in range(3)}
    stage = Stage(plays)
    await commands.interactive(await prepare(keeping(kind, folder)), ["Go on 0.", "Go on 1.", "exit"], "main")
    shorter = slice_to_turn(commands.saved("main"), 1)
    await commands.single(await prepare(keeping(kind, folder)), "Go on 2.", "main", shorter)
    return {"lives": stage.report()}


async def pursued(kind: str, folder: Path) -> dict[str, Any]:
    """`/goal`: after each turn the loop reads the history, has the model judge it, and goes on until it is content."""
    plays = {"It passes.": thinking("first", 30, 60), "The printer fails.": thinking("second", 3, 20)}
    stage = Stage(plays)
    stage.asides = ["NO\nThe printer fails.", "YES\nAll pass."]
    await commands.single(await prepare(keeping(kind, folder)), "/goal --max-turns 3 It passes.", "main")
    return {"lives": stage.report(), "asked": stage.lives[0].asked_aside}


async def interrupted(kind: str, folder: Path) -> dict[str, Any]:
    """Ctrl-C during two tools that were called at once: pressed once, then twice; and a turn after each."""
    plays: dict[str, Any] = {f"Go on {at}.": thinking(f"part_{at}", 1, 20) for at in (1, 2)}
    for at in (1, 2):
        together = (Use("read_file", {"path": "a.py", "lines": 20}), Use("interrupt", {"times": at}))
        plays[f"Press {at}."] = [use("read_file", path="b.py", lines=20), Step("At once.", together), say("Not said.")]
    stage = Stage(plays, keeps=kind != "memory")
    lines = ["Press 1.", "Go on 1.", "Press 2.", "Go on 2.", "exit"]
    await commands.interactive(await prepare(keeping(kind, folder)), lines, "main")
    return {"lives": stage.report(), "answers": [str(message["content"])[:60] for message in stage.lives[0].kept]}


async def crashing(kind: str, folder: Path) -> dict[str, Any]:
    """A process that dies in the middle of a turn, and the next time the process after it."""
    return await (_repairing if (folder / "made.json").exists() else _dying)(kind, folder)


async def _dying(kind: str, folder: Path) -> dict[str, Any]:
    """Ends in the middle of a turn: in the second of two tools that were called at once."""
    together = Step("Both at once.", (Use("read_file", {"path": "a.py", "lines": 20}), Use("die", {})))
    plays = {"Read the parser.": thinking("parser", 3, 30), "Read on.": [*thinking("more", 3, 30)[:-1], together]}
    Stage(plays)
    await commands.interactive(await prepare(keeping(kind, folder)), ["Read the parser.", "Read on.", "exit"], "main")
    return {}


async def _repairing(kind: str, folder: Path) -> dict[str, Any]:
    """The same session in a new process, which repairs its transcript before the first turn."""
    stage = Stage({"Go on.": [use("read_file", path="b.py", lines=20), say("All read.")]})
    transcript = commands.saved("main")
    await commands.interactive(await prepare(keeping(kind, folder)), ["Go on.", "exit"], "main", transcript)
    made = json.loads((folder / "made.json").read_text(encoding="utf-8"))["main"]
    life = stage.lives[0]
    kept = as_saved(life.kept)
    return {
        "lives": stage.report(),
        "lost": _missing(as_saved(made), kept),
        "lost_of_saved": _missing(transcript, kept),
        "once": len({json.dumps(message, sort_keys=True) for message in kept}) == len(kept),
    }


def _missing(expected: list[dict[str, Any]], kept: list[dict[str, Any]]) -> list[str]:
    """Messages that are not kept, in order."""
    rest = iter(kept)
    return [str(message)[:200] for message in expected if not any(held == message for held in rest)]
