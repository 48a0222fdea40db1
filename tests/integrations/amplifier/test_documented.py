"""What the pages say of events is what a session emits."""

import re
from pathlib import Path
from typing import Any

import pytest
from amplifier_core.testing import MockCoordinator

from backscroll.integrations.amplifier import hooks as signals
from tests.integrations.amplifier.harness import awaited, call, mounted, result, say
from tests.integrations.amplifier.provider import Provider
from tests.integrations.amplifier.tools import toolbox

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGE = "".join(
    (DOCS / page).read_text(encoding="utf-8") for page in ("reference/events.md", "integrations/amplifier.md")
)
KERNEL = {"session_id", "parent_id", "timestamp"}
ROW = re.compile(r"^\| `(context:[\w:]+)`( \*)? \| ([^|]+) \|", re.MULTILINE)
TOLD = {name: set(re.findall(r"`(\w+)`", payload)) for name, _, payload in ROW.findall(PAGE)}
WARNS = {name for name, starred, _ in ROW.findall(PAGE) if starred}


@awaited
async def session(heard: dict[str, list[dict[str, Any]]]) -> None:
    """A session in which much happens, some of it badly."""
    coordinator, provider, tools = MockCoordinator(), Provider(14_000), {tool.name: tool for tool in toolbox()}

    async def hear(event: str, data: dict[str, Any]) -> None:
        heard.setdefault(event, []).append(data)

    for name in signals.ALL:
        coordinator.hooks.register(name, hear, name="page")
    config = {"transcript_path": "/dev/null/nowhere.jsonl", "colour": "blue"}
    async with mounted(config, coordinator) as ours:
        await ours.context.set_system_prompt_factory(lambda: f"Be brief. {len(heard)}"[:10])
        await ours.add(say("user", "go"))
        for number in range(20):
            found = await tools["read_file"].execute({"path": f"{number}", "lines": 120})
            await ours.add(call(f"c{number}"), result(f"c{number}", found.output))
            await ours.view(provider=provider)
        passing = {"metadata": {"ephemeral": True}}
        await ours.add(say("user", "a hint", **passing), {**result("unknown", "a result"), **passing})
        await ours.add(call("never", tool="wait"), say("user", "and now?"))
        await ours.view(provider=provider)
        await ours.add(result("never", "there you are"))
        await ours.view(provider=provider)
        ours.context.observe_overflow(lane="scripted/scripted-1")
        await ours.view(provider=provider)
        ours.context.observe_usage(input_tokens=9_000_000, lane="scripted/scripted-1")
        await ours.context.compact(lane="scripted/scripted-1")
        await ours.context.undo_compaction(lane="scripted/scripted-1")
        await ours.context.set_messages(await ours.kept())


def emitted() -> dict[str, list[dict[str, Any]]]:
    """Payloads by event of that session."""
    heard: dict[str, list[dict[str, Any]]] = {}
    session(heard)
    return heard


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # events that warn are among those that are wanted
def test_payloads_have_the_keys_that_the_pages_say():
    heard = emitted()
    assert len(heard) >= 14, sorted(set(TOLD) - set(heard))
    for name, payloads in heard.items():
        keys = [set(payload) - KERNEL for payload in payloads]
        assert set().union(*keys) <= TOLD[name], name
        if "or `" not in next(line for line in PAGE.splitlines() if f"| `{name}`" in line).split("|")[2]:
            assert all(found == TOLD[name] for found in keys), name


def test_the_pages_say_which_events_warn():
    assert set(signals.WARNINGS) == WARNS
