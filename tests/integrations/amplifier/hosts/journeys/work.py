"""Work of many kinds under loop-basic: models that count or answer otherwise, tools that bring much, refusals, recall,
and summaries by the session's own model.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.integrations.amplifier.hosts.bundles import entry, prepare
from tests.integrations.amplifier.hosts.stage import Life, Play, Stage
from tests.integrations.amplifier.provider import plain
from tests.integrations.amplifier.scripts import Step, Turn, Use, say, use
from tests.integrations.amplifier.scripts import work as mixed

SUMMARIZE = {"compaction_strategy": "summarize"}


async def played(turns: Sequence[Turn], context: dict[str, Any] | None = None, **model: Any) -> Life:
    """A session of these turns. A turn that fails is over, and the user goes on."""
    plays: dict[str, Play] = {turn.prompt: turn.steps for turn in turns}
    stage = Stage(plays)
    prepared = await prepare(context or {}, "loop-basic", providers=[entry("provider-scripted", **model)])
    session = await prepared.create_session(session_cwd=Path.cwd())
    for turn in turns:
        try:
            await session.execute(turn.prompt)
        except RuntimeError as error:
            stage.lives[0].failures.append(str(error))
    await session.cleanup()
    return stage.lives[0]


async def models(kind: str, folder: Path) -> dict[str, Any]:
    """The same work with a model that caches, one that repeats ids, one that counts more, and one that refuses."""
    ways: dict[str, dict[str, Any]] = {way: {way: True} for way in ("caching", "same_ids", "escaped", "strict")}
    return {way: (await played(mixed(turns=6, rounds=6), window=20_000, **how)).report() for way, how in ways.items()}


async def results(kind: str, folder: Path) -> dict[str, Any]:
    """What tools bring: a file of 735,000 characters, six files at once, dense text, and signed thinking. The loop
    writes each result as a text.
    """
    dumps = tuple(use("dense", path=f"{number}.bin", lines=80) for number in range(30))
    files = tuple(Use("read_file", {"path": f"{number}", "lines": 400}) for number in range(6))
    steps = tuple(Step(uses=(Use("read_file", {"path": f"{n}", "lines": 80}),), thinking=f"{n}?") for n in range(40))
    found = {
        "huge": await played([Turn("Why?", (use("read_file", lines=18_500), say("A typo."))), *mixed(2, 4)]),
        "at once": await played([Turn("Read all.", (Step("All.", files), say("Done."))), *mixed(2, 4)]),
        "dense": await played([Turn("What is in these?", (*dumps, say("Keys.")))], window=26_000),
        "thinking": await played([Turn("Read.", (*steps, say("Read.")))], window=20_000),
    }
    return {name: {**life.report(), **measured(life)} for name, life in found.items()}


def measured(life: Life) -> dict[str, Any]:
    """The longest message of a session, and thinking that was not sent as it came."""
    said = [block for message in plain(life.kept) for block in blocks(message)]
    sent = [block for request in life.requests for message in request.messages for block in blocks(message)]
    return {
        "longest": max(len(str(message["content"])) for message in life.kept),
        "altered_thinking": [block for block in sent if block["type"] == "thinking" and block not in said],
    }


def blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return content if isinstance(content, list) else []


async def refused(kind: str, folder: Path) -> dict[str, Any]:
    """A model that takes less than it says, asked again after each refusal."""
    huge = [Turn(f"Why {n}?", (use("read_file", path=f"{n}", lines=4_800), say("A typo."))) for n in range(2)]
    again = [Turn(f"Again {n}?", (say("So."),)) for n in range(2)]
    turns = [huge[0], again[0], huge[1], again[1], *mixed(turns=6, rounds=6)]
    found = {}
    for says in (24_000, 40_000):
        life = await played(turns, window=says, takes=16_000)
        found[str(says)] = {**life.report(), "sizes": [sent.tokens for sent in life.requests]}
    return found


async def recalled(kind: str, folder: Path) -> dict[str, Any]:
    """The model reads with recall what a request left out."""
    fetch = (use("recall", ref="2"), use("recall", pattern="window_0"), use("recall", ref="9999"), say("Found."))
    turns = [
        Turn("Why does it fail?", (use("read_file", path="a", lines=30), say("A typo."))),
        *mixed(turns=8, rounds=6),
        Turn("What was the first log?", fetch),
    ]
    life = await played(turns, {"compaction_strategy": "truncate"}, window=20_000)
    answers = [message["content"] for message in life.kept[-7:-1] if message["role"] == "tool"]
    log = str(life.kept[2]["content"])
    return {
        **life.report(),
        "log": log,
        "answers": answers,
        "shown": any(log[:200] in str(message) for message in life.requests[-4].messages),
    }


async def summaries(kind: str, folder: Path) -> dict[str, Any]:
    """Summaries that the session's own model writes, as calls of their own and as one more turn; and one that fails."""
    found = {}
    ways: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "aside": ({}, {}),
        "as a turn": ({"summary_reuse_prefix": True}, {}),
        "too long": ({}, {"summaries": "too long"}),
        "never": ({}, {"summaries": "never"}),
    }
    for name, (options, model) in ways.items():
        life = await played(mixed(turns=6, rounds=8), SUMMARIZE | options, window=20_000, **model)
        sent = [request.messages for request in life.requests]
        found[name] = {
            **life.report(),
            "asked": len(life.summaries),
            "turns_in_cache": [request[:-1] in sent for request in life.summaries],
            "last": str(life.requests[-1].messages),
            "used": [life.coordinator.get("context").usage(lane="scripted/scripted-1").used.tokens],
            "newest": life.requests[-1].tokens,
        }
    return found


TOGETHER = (models, results, refused, recalled, summaries)
