"""A conversation that a host hands in once more: what of it is held already, against a naive model."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll import ContextManager
from backscroll.session.restoring import Match, following, match, newest

Message = dict[str, Any]


def say(role: str, text: str, **more: Any) -> Message:
    return {"role": role, "content": text, **more}


def kept(message: Message) -> Message | None:
    """A host that leaves out system messages and one key."""
    return None if message["role"] == "system" else {key: message[key] for key in message if key != "thinking"}


TURN = [
    say("user", "go"),
    say("assistant", "I look.", thinking="Hm."),
    say("tool", "found", tool_call_id="a"),
    say("assistant", "Done."),
]
HELD = [say("system", "Be brief."), *TURN, say("user", "again"), say("assistant", "Done again.")]
COPY = [copy for message in HELD if (copy := kept(message)) is not None]


@pytest.mark.parametrize(
    ("given_", "found"),
    [
        pytest.param(COPY, Match(7, 6), id="the whole copy"),
        pytest.param(HELD, Match(7, 7), id="what is held"),
        pytest.param(COPY[:-1], Match(7, 5), id="without the end of the last turn"),
        pytest.param([COPY[0], COPY[3], COPY[4]], Match(7, 3), id="without messages in the middle"),
        pytest.param(COPY[:4], Match(5, 4), id="without the last turn"),
        pytest.param(COPY[:1], Match(2, 1), id="only the first message"),
        pytest.param([*COPY, say("user", "new")], Match(7, 6), id="with one more"),
        pytest.param([*COPY[:4], say("user", "other")], Match(5, 4), id="with another last turn"),
        pytest.param([say("user", "other")], Match(0, 0), id="another conversation"),
        pytest.param([HELD[0]], Match(0, 0), id="only a system message"),
    ],
)
def test_match_finds_what_is_held_already(given_, found):
    """The copy's messages are found in order; no user's message may be missing before the copy ends."""
    assert match(given_, HELD, kept) == found


def test_match_keeps_results_that_the_host_never_keeps():
    """A rewind to a turn that ended with results keeps them with their call; what follows them goes."""
    calls = [{"id": known, "type": "function", "function": {"name": "f", "arguments": "{}"}} for known in "ab"]
    asked = [say("user", "go"), say("assistant", "I look.", tool_calls=calls)]
    results = [say("tool", "found", tool_call_id=known) for known in "ab"]
    held = [*asked, *results, say("system", "Mind the style."), say("user", "again")]

    def without_results(message: Message) -> Message | None:
        return None if message["role"] == "tool" else kept(message)

    assert match(asked, held, without_results) == Match(4, 2)
    assert match([*asked, say("user", "other")], held, without_results) == Match(4, 2)
    assert match(asked[:1], held, without_results) == Match(1, 1)
    assert match([say("user", "other")], held, without_results) == Match(0, 0)


words = st.sampled_from(["a", "b"])
messages = st.builds(say, st.sampled_from(["user", "assistant", "system"]), words)
conversations = st.lists(messages, max_size=8)


@given(conversations, st.data())
def test_match_keeps_everything_if_no_user_message_is_missing(held, data):
    """Whatever else a host leaves out, its copy of the conversation changes nothing."""
    given_ = [message for message in held if message["role"] == "user" or data.draw(st.booleans())]
    if any(message["role"] == "user" for message in held) or kept_of(given_) == kept_of(held):
        assert match(given_, held, kept) == Match(len(held), len(given_))


@given(conversations, conversations)
def test_match_gives_the_list_that_was_set(held, given_):
    """What stays and what is added after it hold the given messages in order, and no user's message besides."""
    found = match(given_, held, kept)
    result = kept_of([*held[: found.held], *given_[found.given :]])
    rest = iter(result)
    assert all(message in rest for message in kept_of(given_)), "the given messages, in their order"
    users = [message for message in result if message["role"] == "user"]
    assert users == [message for message in given_ if message["role"] == "user"]


def kept_of(found: list[Message]) -> list[Message]:
    return [copy for message in found if (copy := kept(message)) is not None]


# In a session


def manager_of(held: list[Message], **options: Any) -> ContextManager:
    manager = ContextManager(**options)
    manager.append(*held)
    return manager


def run(manager: ContextManager, operation: Any) -> Any:
    from backscroll.manager.driver import run_sync

    return run_sync(manager._opened, operation)


def test_following_goes_on_over_messages_of_systems_and_hooks():
    """The next message is found behind those that hosts do not keep, and no other is."""
    hook = say("user", "mind the style", metadata={"source": "hook"})
    manager = manager_of([say("system", "Be brief."), say("user", "go"), hook, say("assistant", "Done.")])

    def index(start: int, message: Message) -> int | None:
        return run(manager, following(manager._session, start, message, dict))

    assert index(0, say("user", "go")) == 2
    assert index(2, say("assistant", "Done.")) == 4
    assert index(2, hook) == 3
    assert index(0, say("assistant", "Done.")) is None
    assert index(4, say("user", "go")) is None


def test_newest_finds_the_last_message_even_when_evicted(tmp_path):
    """Messages are looked through from the newest on, and loaded where they were evicted."""
    store = f"sqlite:///{tmp_path}/agent.db"
    held = [say("user", "needle"), *(say("user", f"hay {number}" * 40) for number in range(300))]
    manager = manager_of(held, store=store, session="s", budget=2_000)
    manager.get_messages_for_request()
    assert run(manager, newest(manager._session, lambda message: message["content"] == "needle")) == 0
    assert run(manager, newest(manager._session, lambda message: message["content"].startswith("hay"))) == 300
    assert run(manager, newest(manager._session, lambda message: message["content"] == "straw")) is None
