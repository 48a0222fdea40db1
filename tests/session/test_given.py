"""`set_messages` recognizes what it was handed before, whatever happened to the conversation since."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import ContextManager
from backscroll.session.given import GivenMessages
from tests.fakes import FaultyStore, count_quarter
from tests.profiles import examples

Message = dict[str, Any]


def talk(upto: int) -> list[Message]:
    return [{"role": ("user", "assistant")[n % 2], "content": f"We say {n}. " * 30} for n in range(upto)]


def opened(store: Any, together: int = GivenMessages.together) -> ContextManager:
    manager = ContextManager(store=store, session="s", budget=2_000, tokenizer=count_quarter)
    assert manager.get_messages() == []
    manager._session.given.together = together
    return manager


BASE = [{"role": "user", "content": "x", "metadata": {"n": number}} for number in range(6)]


@st.composite
def talks(draw: st.DrawFn) -> list[Message]:
    """The beginning of one conversation, perhaps with another value in one message, and an end of its own."""
    found = BASE[: draw(st.integers(0, len(BASE)))]
    if bool(found) and draw(st.booleans()):
        at, value = draw(st.integers(0, len(found) - 1)), draw(st.sampled_from([0, 0.0, False, None, "b"]))
        found = [*found[:at], {**found[at], "metadata": {"n": value}}, *found[at + 1 :]]
    return [*found, *BASE[: draw(st.integers(0, 2))]]


ACTS = st.lists(st.tuples(st.sampled_from(["set", "set", "set", "append", "rewind", "clear"]), talks()), max_size=12)


@settings(max_examples=examples(150))
@given(ACTS)
def test_a_conversation_is_what_was_set_last(acts):
    """Also where another writer changes it in between, and where messages differ in a type alone."""
    store = FaultyStore()
    managers = [opened(store, 2), opened(store, 2)]
    expected: list[Message] = []
    for number, (act, messages) in enumerate(acts):
        manager = managers[number % 3 == 2]
        if act == "set":
            expected = [*expected[: len(messages)], *messages] if number % 2 else messages
            manager.set_messages(expected)
        elif act == "append":
            manager.append(*messages)
            expected = [*expected, *messages]
        elif act == "rewind":
            expected = expected[: len(messages)]
            branch = manager._session.history.branch if manager.get_messages() else ()
            manager.rewind(branch[len(expected) - 1] if expected else -1)
        else:
            manager.clear()
            expected = []
        assert list(map(repr, manager.get_messages())) == list(map(repr, expected))  # 1, 1.0 and True are equal


def test_what_was_set_before_is_not_read_again():
    store = FaultyStore()
    manager = opened(store)
    for length in range(48, 401, 16):
        manager.set_messages(talk(length))
        manager.get_messages_for_request()
    store.reads = 0
    manager.set_messages(talk(401))
    assert store.reads == 0
    manager.rewind(20)
    manager.set_messages(talk(401))
    assert manager.get_messages() == talk(401)


def test_messages_that_are_never_stored_are_no_part_of_it():
    manager = opened(FaultyStore(), 2)
    passing = {"role": "user", "content": "It is Monday.", "metadata": {"ephemeral": True}}
    for _ in range(2):
        manager.set_messages([passing, *talk(4)])
        assert manager.get_messages() == talk(4)


def test_only_whole_messages_of_plain_json_are_recognized():
    known = GivenMessages()
    known.together = 2
    known.note([*talk(2), {"type": "reasoning", "id": "r1"}, *talk(1), *talk(2)], 0)
    assert known.in_common([*talk(2), {"type": "reasoning", "id": "r1"}, *talk(1)]) == 2
    assert known.in_common([*talk(1), {"role": "assistant", "content": object()}]) == 0


def test_recognition_does_not_depend_on_who_holds_a_text():
    known, text = GivenMessages(), "".join(["a", "b"])
    known.together = 1
    known.note([{"role": "user", "content": [text, text]}], 0)
    assert known.in_common([{"role": "user", "content": ["".join(["a", "b"]), "ab"]}]) == 1
