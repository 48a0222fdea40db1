"""What a host restores into a session that was loaded: its poorer copy, or the same messages once more."""

from pathlib import Path
from typing import Any

import pytest
from amplifier_core.testing import MockCoordinator

from backscroll.integrations.amplifier.hooks import REPLAY_IGNORED, RESTORE_IGNORED
from tests.integrations.amplifier.harness import AmplifierHarness, awaited, call, mounted, result, rounds, say
from tests.integrations.amplifier.provider import Message

THOUGHT = {
    **call("c0", path="a.py", lines=[1, None, {"to": None}]),
    "thinking_block": {"type": "thinking", "text": "Hm.", "signature": "sig"},
    "content_blocks": [{"type": "thinking", "thinking": "Hm."}],
    "metadata": {"openai:response_id": "r1", "client": None},
}
TALK = [
    say("system", "Be brief."),
    say("developer", "<context_file>README</context_file>"),
    say("user", "go"),
    THOUGHT,
    result("c0", "done"),
    say("assistant", "Done."),
    say("user", "again"),
    say("assistant", [{"type": "text", "text": "Done again."}, {"type": "text", "text": None}]),
]
WHERE = pytest.mark.parametrize("where", ["store", "storage_path", "transcript_path"])


def place(where: str, folder: Path) -> dict[str, Any]:
    """A configuration that keeps the session on disk."""
    address = {"store": f"sqlite:///{folder}/agent.db", "storage_path": str(folder)}
    return {where: address.get(where, str(folder / "t.jsonl"))}


def stripped(messages: list[Message], *, timestamp: bool = False) -> list[Message]:
    """What the CLI keeps of messages."""
    found = []
    for message in messages:
        if message["role"] in ("system", "developer"):
            continue
        copy = filled({key: value for key, value in message.items() if key not in ("thinking_block", "content_blocks")})
        if "text" in message.get("thinking_block", ()):
            copy["thinking_text"] = message["thinking_block"]["text"]
        if timestamp:
            copy["timestamp"] = "2026-08-01T12:00:00"
            copy.setdefault("metadata", {})["timestamp"] = "2026-08-01T12:00:00"
        found.append(copy)
    return found


def filled(value: Any) -> Any:
    """A copy without None, at any depth, from lists as well."""
    if isinstance(value, dict):
        return {key: filled(item) for key, item in value.items() if item is not None}
    return [filled(item) for item in value if item is not None] if isinstance(value, list) else value


async def loaded(config: dict[str, Any], messages: list[Message] = TALK) -> None:
    """A session that is kept on disk with these messages."""
    async with mounted(config) as ours:
        await ours.add(*messages)


# By set_messages


@WHERE
@pytest.mark.parametrize(
    "restored",
    [
        pytest.param(stripped(TALK), id="stripped"),
        pytest.param(stripped(TALK, timestamp=True), id="with-timestamps"),
        pytest.param([m for m in stripped(TALK) if m["role"] != "tool"], id="without-results"),
        pytest.param(stripped(TALK)[:-1], id="without-the-last-answer"),
        pytest.param([m for m in stripped(TALK) if m["content"] != "Done."], id="without-an-earlier-answer"),
        pytest.param(TALK, id="as-it-is"),
    ],
)
@awaited
async def test_restore_of_a_poorer_copy_changes_nothing(restored, where, tmp_path):
    """What was loaded is the better copy, and an event says that it stayed."""
    await loaded(place(where, tmp_path))
    async with mounted(place(where, tmp_path)) as ours:
        await ours.context.set_messages(restored)
        assert await ours.kept() == TALK
        assert [told["kept"] for told in ours.payloads(RESTORE_IGNORED)] == [len(TALK)]


@WHERE
@awaited
async def test_restore_with_a_system_message_first_changes_nothing(where, tmp_path):
    """The CLI sets the same list a second time, with a system message of its own before it."""
    await loaded(place(where, tmp_path))
    async with mounted(place(where, tmp_path)) as ours:
        await ours.context.set_messages(stripped(TALK))
        await ours.context.set_messages([say("system", "Fresh."), *stripped(TALK)])
        assert await ours.kept() == TALK


@WHERE
@awaited
async def test_restore_without_the_last_turn_goes_back(where, tmp_path):
    """A transcript that ends before a user's message is a rewind; what stays of it is our own copy."""
    await loaded(place(where, tmp_path))
    async with mounted(place(where, tmp_path)) as ours:
        await ours.context.set_messages(stripped(TALK)[:4])
        assert await ours.kept() == TALK[:6]
    async with mounted(place(where, tmp_path)) as ours:
        assert await ours.kept() == TALK[:6]


@WHERE
@awaited
async def test_rewind_to_an_interrupted_turn_keeps_its_results(where, tmp_path):
    """The last turn that stays ended with results, which the host's transcript never has."""
    stays = [say("user", "go"), call("c0", "c1"), result("c0", "done"), result("c1", "done as well")]
    await loaded(place(where, tmp_path), [*stays, say("developer", "Mind the style."), say("user", "again")])
    async with mounted(place(where, tmp_path)) as ours:
        await ours.context.set_messages([m for m in stays if m["role"] != "tool"])
        assert await ours.kept() == stays


@WHERE
@awaited
async def test_restore_without_an_earlier_turn_is_applied(where, tmp_path):
    """A list that lacks a whole turn in the middle is no copy: that turn is gone, what came before it stays ours."""
    third = [say("user", "thirdly"), say("assistant", "Done for good.")]
    await loaded(place(where, tmp_path), [*TALK, *third])
    async with mounted(place(where, tmp_path)) as ours:
        await ours.context.set_messages([*stripped(TALK)[:4], *third])
        assert await ours.kept() == [*TALK[:6], *third]


@WHERE
@awaited
async def test_restore_cut_at_calls_changes_nothing(where, tmp_path):
    """A host that restores no call without its result cuts the end of the turn in which the process died."""
    died = [*TALK, say("user", "thirdly"), call("c1", path="b.py")]
    await loaded(place(where, tmp_path), died)
    async with mounted(place(where, tmp_path)) as ours:
        await ours.context.set_messages(stripped(died)[:-1])
        assert await ours.kept() == died


@awaited
async def test_restore_that_goes_on_otherwise_replaces_the_rest(tmp_path):
    """What both have in common stays as it was loaded; the rest is what the host gives."""
    await loaded(place("store", tmp_path))
    other = say("user", "something else")
    async with mounted(place("store", tmp_path)) as ours:
        await ours.context.set_messages([*stripped(TALK)[:4], other])
        assert await ours.kept() == [*TALK[:6], other]


@awaited
async def test_restore_of_another_conversation_is_applied(tmp_path):
    """Nothing of what was loaded stays where nothing of it is given."""
    await loaded(place("store", tmp_path))
    async with mounted(place("store", tmp_path)) as ours:
        await ours.context.set_messages([say("user", "Hello?"), say("assistant", "Yes.")])
        assert await ours.kept() == [say("user", "Hello?"), say("assistant", "Yes.")]


@awaited
async def test_restore_after_new_messages_is_exact(tmp_path):
    """Once the conversation went on, a poorer list is what the host wants."""
    await loaded(place("store", tmp_path))
    async with mounted(place("store", tmp_path)) as ours:
        await ours.coordinator.hooks.emit("prompt:submit", {})
        await ours.add(say("user", "and now?"))
        poorer = [*[m for m in stripped(TALK) if m["role"] != "tool"], say("user", "and now?")]
        await ours.context.set_messages(poorer)
        assert await ours.kept() == poorer


@pytest.mark.parametrize("held", [TALK, TALK[:1], []], ids=["a conversation", "a system message", "nothing"])
@pytest.mark.parametrize("where", ["store", "transcript_path", None])
@awaited
async def test_restore_of_an_empty_list_empties(where, held, tmp_path):
    """An empty list is no copy of anything."""
    config = place(where, tmp_path) if where else {}
    async with mounted(config) as ours:
        await ours.add(*held)
        await ours.context.set_messages([])
        assert await ours.kept() == []
    async with mounted(config) as ours:
        assert await ours.kept() == []


@WHERE
@awaited
async def test_restore_keeps_the_next_request(where, tmp_path):
    """After a restore in a store the next request is the one before; in a transcript it holds the same messages."""
    config = {**place(where, tmp_path), "max_tokens": 8_000}
    talk = [*TALK, *rounds(range(1, 30), "what was found " * 200)]
    async with mounted(config) as ours:
        await ours.add(*talk)
        before = await ours.view()
        assert len(before) < len(talk)
    async with mounted(config) as ours:
        await ours.context.set_messages(stripped(talk))
        assert await ours.kept() == talk
        assert where != "store" or await ours.view() == before


# By add_message


async def replay(ours: AmplifierHarness, messages: list[Message]) -> None:
    for message in stripped(messages):
        await ours.context.add_message(message)


@WHERE
@awaited
async def test_replay_of_what_was_loaded_adds_nothing(where, tmp_path):
    """A child that is resumed three times by its saved messages holds each of them once, also on disk."""
    config, talk = place(where, tmp_path), list(TALK)
    await loaded(config)
    for number in range(3):
        async with mounted(config) as ours:
            await replay(ours, talk)
            await ours.coordinator.hooks.emit("prompt:submit", {})
            more = [say("user", f"Task {number}"), say("assistant", "Done.")]
            await ours.add(*more)
            talk += more
            assert await ours.kept() == talk
            assert [told["messages"] for told in ours.payloads(REPLAY_IGNORED)] == [len(stripped(talk)) - 2]
    async with mounted(config) as ours:
        assert await ours.kept() == talk


@awaited
async def test_replay_skips_what_hooks_put_in(tmp_path):
    """Messages of hooks may be missing in what the host adds once more."""
    hook = say("user", "mind the style", metadata={"source": "hook"})
    talk = [say("user", "go"), hook, say("assistant", "Done.")]
    await loaded(place("store", tmp_path), talk)
    async with mounted(place("store", tmp_path)) as ours:
        await ours.add(say("user", "go"), say("assistant", "Done."))
        assert await ours.kept() == talk


@awaited
async def test_replay_ends_with_the_next_prompt(tmp_path):
    """A user who asks the first question again is heard."""
    talk = [say("user", "go"), say("assistant", "Done.")]
    await loaded(place("store", tmp_path), talk)
    async with mounted(place("store", tmp_path)) as ours:
        await ours.coordinator.hooks.emit("prompt:submit", {"prompt": "go"})
        await ours.add(say("user", "go"))
        assert await ours.kept() == [*talk, say("user", "go")]


@awaited
async def test_replay_ends_with_the_first_message_that_differs(tmp_path):
    """What follows a new message is new, even if it was said before."""
    talk = [say("user", "go"), say("assistant", "Done."), say("user", "again")]
    await loaded(place("store", tmp_path), talk)
    async with mounted(place("store", tmp_path)) as ours:
        new = [say("user", "something else"), say("assistant", "Done.")]
        await ours.add(talk[0], *new)
        assert await ours.kept() == [*talk, *new]


@awaited
async def test_replay_refuses_what_is_no_message(tmp_path):
    """A message that cannot be kept is refused also while messages are added once more."""
    from backscroll import MessageError

    await loaded(place("store", tmp_path))
    async with mounted(place("store", tmp_path)) as ours:
        with pytest.raises(MessageError):
            await ours.add({"content": "no role"})
        await replay(ours, TALK)
        assert await ours.kept() == TALK


# Children


@awaited
async def test_child_shares_no_transcript_path(tmp_path):
    """A child inherits the configuration of its parent, and writes a file of its own in the same folder."""
    config = {"transcript_path": str(tmp_path / "t.jsonl")}
    async with mounted(config) as parent:
        await parent.add(say("user", "go"))
        async with mounted(config, Child()) as child:
            assert await child.kept() == []
            await child.add(say("user", "Look into it."))
        assert await parent.kept() == [say("user", "go")]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["child-1.jsonl", "t.jsonl"]


class Child(MockCoordinator):  # type: ignore[misc]  # the kernel is untyped
    """The coordinator of a child session."""

    @property
    def session_id(self) -> str:
        return "child-1"

    @property
    def parent_id(self) -> str:
        return "test-session"
