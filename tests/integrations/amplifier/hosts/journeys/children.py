"""Children of a session of the command line: begun by tool-delegate and tool-task, six at once, and resumed."""

from pathlib import Path
from typing import Any

from backscroll import AsyncContextManager
from tests.integrations.amplifier.hosts import commands
from tests.integrations.amplifier.hosts.bundles import entry, keeping, prepare
from tests.integrations.amplifier.hosts.stage import Stage
from tests.integrations.amplifier.scripts import Step, Use, say, use

FOLLOWS = 3
CREW = 6


def ask(tool: str, instruction: str, **more: Any) -> Step:
    """A step that hands a task to a child."""
    return use(tool, instruction=instruction, **more)


async def family(kind: str, folder: Path) -> dict[str, Any]:
    """One child by each tool, six at once, and the first two resumed three times."""
    read = [use("read_file", path=f"part_{at}.py", lines=60) for at in range(3)]
    crew = tuple(
        Use("delegate", {"agent": "reader", "instruction": f"Crew task {at}.", "context_depth": "none"})
        for at in range(CREW)
    )
    plays: dict[str, Any] = {
        "Read first.": [*read, say("Read.")],
        "Delegate it.": [
            ask("delegate", "Long task.", agent="reader", context_depth="all", context_scope="full"),
            say("Delegated."),
        ],
        "Make a task of it.": [ask("task", "Other task.", agent="reader", inherit_context="all"), say("Tasked.")],
        "Ask the crew.": [Step("All at once.", crew), say("All done.")],
        "Long task.": [*(use("read_file", path=f"long_{at}.py", lines=130) for at in range(14)), say("Read all.")],
        "Other task.": [*read, say("Read the rest.")],
        **{f"Crew task {at}.": [*read, say(f"Crew {at}.")] for at in range(CREW)},
        **{f"Follow {at} of {tool}.": [read[at], say(f"Followed {at}.")] for at in range(3) for tool in "dt"},
    }
    stage = Stage(plays, keeps=kind != "memory")
    for at in range(FOLLOWS):
        plays[f"Delegate again {at}."] = lambda at=at: [
            ask("delegate", f"Follow {at} of d.", session_id=stage.children("main")[0]), say("Again."),
        ]  # fmt: skip  # one play
        plays[f"Task again {at}."] = lambda at=at: [
            ask("task", f"Follow {at} of t.", session_id=stage.children("main")[1]), say("Again."),
        ]  # fmt: skip  # one play
    stage.plays = plays
    delegate, task = entry("tool-delegate"), entry("tool-task", exclude_tools=["tool-task", "tool-delegate"])
    begun = await commands.opened(await prepare(keeping(kind, folder), tools=[delegate, task]), "main")
    parents = ["Read first.", "Delegate it.", "Make a task of it.", "Ask the crew."]
    again = [f"{tool} again {at}." for at in range(FOLLOWS) for tool in ("Delegate", "Task")]
    for prompt in (*parents, *again):
        await begun.session.execute(prompt)
    await begun.cleanup()
    children = stage.children("main")
    return {
        "lives": stage.report(),
        "children": children,
        "on_disk": {session: await on_disk(kind, folder, session) for session in ("main", *children)},
        "made": {session: len(stage.past[session]) for session in ("main", *children)},
    }


async def on_disk(kind: str, folder: Path, session: str) -> int | None:
    """How many messages of a session are kept outside of any process; None where none are, or where nobody can say."""
    if kind == "store":
        manager = AsyncContextManager(session=session, store=keeping(kind, folder)["store"])
        try:
            return len(await manager.get_messages())
        finally:
            await manager.aclose()
    places = {
        "storage_path": [folder / "kept" / f"{session}.jsonl"],
        "transcript_path": [folder / "kept.jsonl"] if session == "main" else list(folder.glob(f"*{session}*.jsonl")),
    }
    found = [path for path in places.get(kind, ()) if path.exists()]
    return len(found[0].read_text(encoding="utf-8").splitlines()) if len(found) == 1 else None
