"""What the module's page says of events is what a session emits."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import HookResult

from backscroll.adapters.amplifier import signals
from backscroll.opening import DEGRADED
from tests.amplifier.provider import Provider
from tests.amplifier.scripts import Turn, use, work
from tests.amplifier.world import World

PAGE = (Path(__file__).resolve().parent.parent.parent / "docs/amplifier.md").read_text(encoding="utf-8")
KERNEL = {"session_id", "parent_id", "timestamp"}
ROW = re.compile(r"^\| `(context:[\w:]+)`( \*)? \| ([^|]+) \|", re.MULTILINE)
TOLD = {name: set(re.findall(r"`(\w+)`", payload)) for name, _, payload in ROW.findall(PAGE)}
WARNS = {name for name, starred, _ in ROW.findall(PAGE) if starred}


async def whisper(event: str, data: dict[str, Any]) -> HookResult:
    return HookResult(action="inject_context", context_injection="mind the style", context_injection_role="user")


def emitted() -> dict[str, list[dict[str, Any]]]:
    """Payloads by event of a session in which much happens, some of it badly."""
    heard: dict[str, list[dict[str, Any]]] = {}

    async def hear(event: str, data: dict[str, Any]) -> None:
        heard.setdefault(event, []).append(data)

    async def play() -> None:
        config = {"transcript_path": "/dev/null/nowhere.jsonl", "colour": "blue"}
        hooks = [("tool:post", whisper), *((name, hear) for name in signals.ALL)]
        world = World("context-backscroll", config, Provider(14_000), system="Be brief.", hooks=hooks)
        async with world.open() as live:
            for turn in work(turns=3, rounds=6):
                await live.turn(turn)
            module = live.module
            passing = {"metadata": {"ephemeral": True}}
            await module.add_message({"role": "user", "content": "a hint", **passing})
            await module.add_message({"role": "tool", "tool_call_id": "unknown", "content": "a result", **passing})
            await module.add_message(
                {
                    "role": "assistant",
                    "content": [{"type": "tool_call", "id": "never", "name": "wait", "input": {}}],
                    "tool_calls": [{"id": "never", "tool": "wait", "arguments": {}}],
                }
            )
            await live.turn(Turn("and now?", (use("read_file", lines=900),)))
            await module.add_message({"role": "tool", "tool_call_id": "never", "content": "there you are"})
            module.observe_overflow(lane="scripted-1")
            await live.turn(Turn("go on", ()))
            module.observe_usage(input_tokens=9_000_000, lane="scripted-1")
            await module.compact(lane="scripted-1")
            await module.undo_compaction(lane="scripted-1")
            await module.set_messages(await module.get_messages())

    asyncio.run(play())
    return heard


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # events that warn are among those that are wanted
def test_payloads_have_the_keys_that_the_page_says():
    heard = emitted()
    assert len(heard) >= 14, sorted(set(TOLD) - set(heard))
    for name, payloads in heard.items():
        keys = [set(payload) - KERNEL for payload in payloads]
        assert set().union(*keys) <= TOLD[name], name
        if "or `" not in next(line for line in PAGE.splitlines() if f"| `{name}`" in line).split("|")[2]:
            assert all(found == TOLD[name] for found in keys), name


def test_the_page_says_which_events_warn():
    own = {signals.OPTION_IGNORED, signals.FILE_FAILED, signals.PROMPT_FAILED}
    assert own | DEGRADED | {"context:tokenizer_fallback"} == WARNS
