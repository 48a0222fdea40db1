"""The transcript on disk and memory files: in order, whole, resumed, and never in the way of the conversation."""

import asyncio
import json
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import HookResult
from amplifier_core.testing import MockCoordinator

from backscroll.events import MESSAGE_ADDED
from backscroll.integrations.amplifier.hooks import FILE_FAILED
from tests.integrations.amplifier.harness import awaited, call, chat, mounted, result, rounds, say
from tests.integrations.amplifier.provider import Message
from tests.integrations.amplifier.scenarios import REMINDER, words

REFUSED = pytest.mark.filterwarnings("ignore:.+ cannot fully read or write")  # the events are asserted instead
"""For tests in which a file fails; the event is what they look at."""


def lines(path: Path) -> list[Message]:
    """What stands in a transcript."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(path: Path, messages: list[Message]) -> None:
    path.write_text("".join(json.dumps(message) + "\n" for message in messages), encoding="utf-8")


def transcript(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """A file, and the configuration that keeps the transcript in it."""
    path = tmp_path / "transcript.jsonl"
    return path, {"transcript_path": str(path)}


# Written


@awaited
async def test_added_message_is_on_disk_when_adding_returns(tmp_path):
    """Each message is on the disk as it came when adding returns."""
    path, config = transcript(tmp_path)
    talk = [say("system", "Be brief."), say("user", "go \ud800 ü"), call("c", content=None), result("c", "done")]
    async with mounted(config) as ours:
        for number, message in enumerate(talk, 1):
            await ours.add(message)
            assert lines(path) == talk[:number]


@awaited
async def test_tasks_and_threads_write_in_the_order_of_the_history(tmp_path):
    path, config = transcript(tmp_path)

    async def crew(name: str) -> None:
        await asyncio.gather(*(ours.context.append(call(f"{name}{n}"), result(f"{name}{n}", "so")) for n in range(25)))

    async with mounted(config) as ours:
        await ours.add(say("user", "go"))
        threads = [threading.Thread(target=lambda name=name: asyncio.run(crew(name))) for name in "ab"]
        for thread in threads:
            thread.start()
        await crew("c")
        for thread in threads:
            await asyncio.to_thread(thread.join)
        assert len(lines(path)) == 1 + 3 * 25 * 2
        assert lines(path) == await ours.kept()


@awaited
async def test_a_compaction_leaves_the_transcript_whole(tmp_path):
    path, config = transcript(tmp_path)
    talk = [say("user", "Read all."), *rounds(range(30), words(60))]
    async with mounted({**config, "max_tokens": 6_000}) as ours:
        await ours.add(*talk)
        assert len(await ours.view()) < len(talk)
        assert lines(path) == talk


@awaited
async def test_clear_and_set_messages_replace_only_the_file(tmp_path):
    """Clear and set messages replace the file and leave nothing next to it."""
    path, config = transcript(tmp_path)
    async with mounted(config) as ours:
        await ours.add(*chat(3, "so"))
        await ours.context.set_messages([*chat(1, "so"), say("user", "another way")])
        assert lines(path) == [*chat(1, "so"), say("user", "another way")]
        await ours.context.clear()
        assert lines(path) == []
        await ours.add(say("user", "anew"))
        assert lines(path) == [say("user", "anew")]
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("option", "name"),
    [("storage_path", "test-session.jsonl"), ("persistence", "test-session.jsonl"), ("transcript_path", "sessions")],
)
@awaited
async def test_where_it_is_kept(option, name, tmp_path):
    folder = str(tmp_path / "sessions")
    async with mounted({option: {"storage_path": folder} if option == "persistence" else folder}) as ours:
        await ours.add(say("user", "go"))
    assert [found.name for found in tmp_path.rglob("*") if found.is_file()] == [name]


# Resumed


@awaited
async def test_a_new_session_goes_on_with_all_but_what_was_ephemeral(tmp_path):
    path, config = transcript(tmp_path)
    talk = [say("system", "Be brief."), say("developer", "In French."), *chat(2, "so")]
    async with mounted(config) as ours:
        await ours.add(*talk[:3], REMINDER, *talk[3:])
    async with mounted(config) as ours:
        assert await ours.view() == await ours.kept() == talk
        await ours.add(say("user", "more"))
    assert lines(path) == [*talk, say("user", "more")]


@awaited
async def test_ephemeral_messages_in_a_foreign_file_do_not_return(tmp_path):
    """What others wrote of ephemeral messages does not come back."""
    path, config = transcript(tmp_path)
    kept = {**REMINDER, "metadata": {"ephemeral": True, "persisted": True}}
    write(path, [say("user", "go"), REMINDER, kept, say("assistant", "done")])
    async with mounted(config) as ours:
        assert await ours.view() == await ours.kept() == [say("user", "go"), kept, say("assistant", "done")]


@awaited
async def test_the_hosts_filtered_copy_does_not_replace_the_transcript(tmp_path):
    path, config = transcript(tmp_path)
    talk = [say("system", "Be brief."), say("user", "go"), call("c", content=None), result("c", "done")]
    write(path, talk)
    async with mounted(config) as ours:
        await ours.context.set_messages([{k: v for k, v in message.items() if v is not None} for message in talk[1:]])
        assert await ours.kept() == lines(path) == talk


@REFUSED
@awaited
async def test_lines_that_hold_no_message_are_named_and_passed_over(tmp_path):
    path, config = transcript(tmp_path)
    good = [json.dumps(message) for message in chat(1, "so")]
    path.write_text("\n".join([good[0], "{", "", '{"content": "nobody"}', '{"role": ""}', "[1]", good[1]]))
    async with mounted(config) as ours:
        assert await ours.kept() == chat(1, "so")
        assert ours.payloads(FILE_FAILED)[0]["damaged_lines"] == [2, 4, 5, 6]
        await ours.add(say("user", "more"))
        assert path.read_text().splitlines()[-1] == json.dumps(say("user", "more"))


@awaited
async def test_cancelled_reading_starts_over(tmp_path):
    path, config = transcript(tmp_path)
    write(path, chat(1_500, words(60)))
    async with mounted(config) as ours:
        reading = asyncio.create_task(ours.kept())
        await asyncio.sleep(0.001)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert len(await ours.kept()) == 3_000


# Failing


@REFUSED
@awaited
async def test_full_disk_delays_only_the_file(tmp_path):
    """A full disk costs nothing but the file which is caught up later."""
    path, config = transcript(tmp_path)
    async with mounted(config) as ours:
        await ours.add(say("user", "go"))
        path.rename(path.with_suffix(".aside"))
        path.symlink_to("/dev/full")
        await ours.add(call("c"), result("c", "done"))
        assert [told["error"] for told in ours.payloads(FILE_FAILED)] == ["[Errno 28] No space left on device"] * 2
        assert len(await ours.view()) == 3
        path.unlink()
        path.with_suffix(".aside").rename(path)
        await ours.add(say("assistant", "Done."))
        assert lines(path) == await ours.kept()


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """No file may become larger than this."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@REFUSED
@awaited
async def test_what_was_written_half_is_undone_and_written_once(tmp_path):
    path, config = transcript(tmp_path)
    async with mounted(config) as ours:
        await ours.add(say("user", "go"))
        with room_for(200):
            await ours.context.append(call("c"), result("c", words(20)))
        assert len(ours.payloads(FILE_FAILED)) == 1
        assert lines(path) == [say("user", "go")]
        await ours.add(say("assistant", "Done."))
        assert lines(path) == await ours.kept()


@REFUSED
@awaited
async def test_failed_replacement_keeps_the_old_file_and_is_retried(tmp_path):
    """A replacement that fails leaves the old file and is done later."""
    path, config = transcript(tmp_path)
    async with mounted(config) as ours:
        await ours.add(*chat(3, "so"))
        with room_for(20):
            await ours.context.set_messages([say("user", words(20))])
        assert lines(path) == chat(3, "so")
        assert list(path.parent.iterdir()) == [path]
        await ours.add(say("assistant", "Done."))
        assert lines(path) == [say("user", words(20)), say("assistant", "Done.")]


@REFUSED
@awaited
async def test_place_that_is_no_file_warns_and_the_talk_goes_on(tmp_path):
    """A place that is no file is reported and the conversation goes on."""
    path, config = transcript(tmp_path)
    path.mkdir()
    async with mounted(config) as ours:
        await ours.add(say("user", "go"))
        assert await ours.view() == [say("user", "go")]
        assert len(ours.payloads(FILE_FAILED)) == 2  # of reading and of writing
        path.rmdir()
        await ours.add(say("assistant", "Done."))
        assert lines(path) == await ours.kept()


@awaited
async def test_adding_that_is_cancelled_writes_nothing_twice(tmp_path):
    path, config = transcript(tmp_path)
    async with mounted(config) as ours:
        for number in range(60):
            adding = asyncio.create_task(ours.context.add_message(say("user", f"{number} {words(200)}")))
            await asyncio.sleep(0.0002 * (number % 10))
            adding.cancel()
            await asyncio.gather(adding, return_exceptions=True)
        await ours.add(say("user", "last"))
        assert lines(path) == await ours.kept()


# Listeners


@awaited
async def test_listener_may_use_the_context_at_the_start(tmp_path):
    """Whatever it calls and whatever begins the conversation: nobody waits for himself."""
    path, config = transcript(tmp_path)
    (tmp_path / "MEMORY.md").write_text("In French.")
    write(path, chat(1, "so"))
    coordinator, seen = MockCoordinator(), []

    async def listen(event: str, data: dict[str, Any]) -> HookResult:
        seen.append(len(await coordinator.get("context").get_messages()))
        if len(seen) == 1:
            await coordinator.get("context").add_message(say("user", "from a listener"))
        return HookResult()

    for begun in (config, {"memory_files": [str(tmp_path / "MEMORY.md")], "storage_path": str(tmp_path / "new")}):
        seen.clear()
        unregister = coordinator.hooks.register(MESSAGE_ADDED, listen)
        async with mounted(begun, coordinator) as ours:
            await asyncio.wait_for(ours.add(say("user", "go")), 10)
            contents = [message["content"] for message in await ours.kept()]
            assert contents[-2:] == ["from a listener", "go"]
        unregister()


# Memory files


def memory(path: Path, text: str) -> Message:
    metadata = {"source": "hook", "hook_name": "memory_files", "path": str(path)}
    return say("system", text, metadata=metadata)


@awaited
async def test_memory_files_open_the_talk_after_the_system_prompt(tmp_path):
    """Memory files open the conversation next to the system prompt."""
    files = [tmp_path / "AGENTS.md", tmp_path / "MEMORY.md"]
    for number, file in enumerate(files):
        file.write_text(f"Rule {number}.")
    remembered = [memory(file, f"Rule {number}.") for number, file in enumerate(files)]
    async with mounted({"memory_files": [str(file) for file in files]}) as ours:
        await ours.context.set_system_prompt_factory(lambda: "Be brief.")
        await ours.add(say("user", "go"))
        assert await ours.kept() == [*remembered, say("user", "go")]
        assert await ours.view() == [say("system", "Be brief."), *remembered, say("user", "go")]
        await ours.context.clear()
        files[0].write_text("Rule new.")
        await ours.add(say("user", "anew"))
        assert await ours.kept() == [memory(files[0], "Rule new."), remembered[1], say("user", "anew")]


@awaited
async def test_memory_survives_restores_without_doubling(tmp_path):
    """Memory stays when a host restores and is not there twice when a file is resumed."""
    _, config = transcript(tmp_path)
    file = tmp_path / "MEMORY.md"
    file.write_text("In French.")
    for _ in range(2):
        async with mounted({**config, "memory_files": [str(file)]}) as ours:
            await ours.context.set_messages(chat(2, "so"))
            assert await ours.kept() == [memory(file, "In French."), *chat(2, "so")]


@awaited
async def test_missing_memory_file_warns_once(tmp_path):
    missing, file = tmp_path / "MISSING.md", tmp_path / "MEMORY.md"
    file.write_text("In French.")
    async with mounted({"memory_files": [str(missing), str(file)]}) as ours:
        with pytest.warns(RuntimeWarning, match="No such file"):
            await ours.add(say("user", "go"))
        await ours.context.clear()
        await ours.add(say("user", "anew"))
        assert await ours.kept() == [memory(file, "In French."), say("user", "anew")]
        assert [told["path"] for told in ours.payloads(FILE_FAILED)] == [str(missing)]
