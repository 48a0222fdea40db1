"""A session of the module in a store: plans and all, so that it goes on as it was."""

import pytest

from backscroll import BackscrollWarning, ConfigurationError, StoreUnavailableError
from tests.integrations.amplifier.harness import awaited, mounted, rounds, say


def stored(tmp_path, **options):
    return {"store": f"sqlite:///{tmp_path}/agent.db", **options}


@awaited
async def test_resumed_session_sends_the_same_request(tmp_path):
    """A resumed session sends the same request no matter what the host restores."""
    config = stored(tmp_path, max_tokens=8_000)
    async with mounted(config) as ours:
        await ours.add(say("system", "Be brief."), say("user", "go"))
        for number in range(30):
            await ours.add(*rounds([number], f"value_{number} = {number}\n" * 60))
            await ours.view()
        view, kept = await ours.view(), await ours.kept()
        assert ours.payloads("context:compaction")
    async with mounted(config) as ours:
        await ours.context.set_messages([message for message in kept if message["role"] != "system"])
        assert await ours.kept() == kept
        assert await ours.view() == view


@awaited
async def test_a_resumed_session_reads_its_memory_files_no_second_time(tmp_path):
    memory = tmp_path / "AGENTS.md"
    memory.write_text("Use tabs.")
    config = stored(tmp_path, memory_files=[str(memory)])
    for number in range(3):
        async with mounted(config) as ours:
            await ours.add(say("user", f"{number}?"))
            contents = [message["content"] for message in await ours.kept()]
            assert contents == ["Use tabs.", *[f"{at}?" for at in range(number + 1)]]


@awaited
async def test_session_works_with_encryption_and_offloading(tmp_path, monkeypatch):
    """A session in an encrypted store with its large messages elsewhere."""
    monkeypatch.setenv("AGENT_KEY", "A" * 43 + "=")
    more = {
        "blob_store": str(tmp_path / "blob_store"),
        "blob_threshold_bytes": 1_000,
        "encryption_key_env": "AGENT_KEY",
    }
    config = stored(tmp_path, **more)
    for number in range(2):
        async with mounted(config) as ours:
            await ours.add(say("user", f"wombat {number}" * 500))
            assert len(await ours.kept()) == number + 1
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len([path for path in files if path.is_relative_to(tmp_path / "blob_store")]) == 2
    assert not any(b"wombat" in path.read_bytes() for path in files)


@pytest.mark.parametrize("option", [{"blob_store": "folder"}, {"encryption_key_env": "AGENT_KEY"}])
@awaited
async def test_storage_options_without_a_store_are_refused(option, monkeypatch):
    """Without a store there is nothing to offload or to encrypt."""
    monkeypatch.setenv("AGENT_KEY", "A" * 43 + "=")
    with pytest.raises(ConfigurationError, match="requires a store: pass store="):
        async with mounted(option):
            pass


@awaited
async def test_mounting_touches_no_file(tmp_path):
    async with mounted(stored(tmp_path)):
        assert list(tmp_path.iterdir()) == []


@awaited
async def test_a_store_and_a_transcript_are_one_too_many(tmp_path):
    with pytest.raises(ConfigurationError, match="cannot be combined with a transcript"):
        async with mounted(stored(tmp_path, transcript_path=str(tmp_path / "t.jsonl"))):
            pass
    with pytest.raises(ConfigurationError, match="unknown scheme"):
        async with mounted({"store": "redis://there"}):
            pass


@pytest.mark.parametrize("address", ["sqlite:///{}/agent.db", "jsonl:///{}/sessions"])
@awaited
async def test_store_that_cannot_be_opened_takes_no_message(tmp_path, address):
    """A transcript is a copy, and the session goes on without it. A store is the session."""
    missing = tmp_path / "no" / "such folder"
    async with mounted({"store": address.format(missing)}) as ours:
        with pytest.raises(StoreUnavailableError):
            await ours.context.add_message(say("user", "Hello!"))
        missing.mkdir(parents=True)
        await ours.context.add_message(say("user", "Hello!"))
        assert await ours.context.get_messages() == [say("user", "Hello!")]
    (tmp_path / "file").write_text("")
    async with mounted({"storage_path": str(tmp_path / "file" / "transcripts")}) as ours:
        with pytest.warns(BackscrollWarning, match="transcripts"):
            await ours.context.add_message(say("user", "Hello!"))
        assert await ours.context.get_messages() == [say("user", "Hello!")]
