"""A framework's history is followed: edits are noticed, and a step does not read all of it."""

import asyncio
from dataclasses import replace
from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll import ContextManager, MessageError
from backscroll.integrations.conversation import Conversation, ModelCall
from backscroll.integrations.following import COMPARED, Following
from backscroll.manager.driver import run_sync_each
from tests.fakes import count_quarter
from tests.integrations.notes import Note, NoteTranslation, rounds


class Followed:
    """A session that follows lists of notes."""

    def __init__(self, **options):
        self.context = ContextManager(tokenizer=count_quarter, **options)
        self.translation = NoteTranslation()
        self.following = Following(self.context._session, self.translation)

    def load(self, history, **how):
        return run_sync_each(self.context._opened, self.following.load(history, **how))

    def holds(self, history):
        return self.context.get_messages() == list(map(NoteTranslation().to_message, history))


_EDITS = st.lists(
    st.tuples(st.sampled_from(["append", "edit", "remove", "insert", "cut"]), st.integers(0, 200)), max_size=12
)


@given(st.integers(0, 60), _EDITS)
def test_whole_loads_hold_any_edit(number, edits):
    followed, history = Followed(), [Note("user", "begin"), *rounds(number)]
    followed.load(history)
    for turn, (kind, place) in enumerate(edits):
        at, before = place % (len(history) + 1), [replace(note) for note in history]
        if kind == "append" or at == len(history):
            history += rounds(2, begin=1_000 + turn)
        elif kind == "edit":
            history[at].text += " edited"  # in place
        elif kind == "remove":
            del history[at]
        elif kind == "insert":
            history.insert(at, Note("user", f"inserted {turn}"))
        else:
            del history[at:]
        same = followed.load(history, whole=True)
        kept = list(takewhile(lambda pair: pair[0] == pair[1], zip(before, history, strict=False)))
        assert same == len(kept), "what is the same is not loaded again"
        assert followed.holds(history)
        assert len(followed.following) == len(history)


@given(st.integers(0, COMPARED - 1), st.integers(40, 100))
def test_an_edit_of_the_end_is_noticed_at_each_step(back, number):
    followed, history = Followed(), [Note("user", "begin"), *rounds(number)]
    followed.load(history)
    history[-1 - back] = replace(history[-1 - back], text="something else")
    history += rounds(1, begin=number)
    followed.load(history)
    assert followed.holds(history)


def test_an_edit_at_the_end_makes_it_compare_all():
    followed, history = Followed(), [Note("user", "begin"), *rounds(50)]
    followed.load(history)
    history[3].text = history[-1].text = "edited"
    followed.load(history)
    assert followed.holds(history)


def test_notes_are_no_edits():
    followed, history = Followed(), [Note("user", "begin"), *rounds(50)]
    followed.load(history)
    assert followed.load([replace(note, usage={"input": 7}) for note in history], whole=True) == len(history)


@pytest.mark.parametrize("number", [100, 2_000])
def test_a_step_reads_as_many_messages_of_a_long_history(number):
    followed, history = Followed(), rounds(number)
    followed.load(history)
    followed.translation.read = 0
    followed.load(history + rounds(1, begin=number))
    assert followed.translation.read == COMPARED + 4


def test_a_stored_session_goes_on_where_both_agree(tmp_path):
    store = f"sqlite:///{tmp_path}/agent.db"
    history = [Note("user", "begin"), *rounds(5)]
    Followed(store=store, session="one").load(history)
    again = Followed(store=store, session="one")
    assert again.load(history) == len(history)
    again.context.rewind(len(history) - 1)  # no number was used twice
    other = Followed(store=store, session="one")
    history[4].text = "edited meanwhile"
    assert other.load(history) == 4
    assert other.holds(history)


def test_redacted_messages_are_found_again(tmp_path):
    def redact(message):
        return {**message, "content": message["content"].replace("secret", "***")}

    store = f"sqlite:///{tmp_path}/agent.db"
    history = [Note("user", "a secret"), *rounds(2)]
    Followed(store=store, session="one", redact=redact).load(history)
    again = Followed(store=store, session="one", redact=redact)
    assert again.load(history) == len(history)
    assert "secret" not in str(again.context.get_messages())


def test_what_cannot_be_stored_is_not_noted():
    followed, history = Followed(), [Note("user", "begin")]
    followed.load(history)
    bad = Note("nobody", "hello")
    with pytest.raises(MessageError):
        followed.load([*history, bad])
    assert len(followed.following) == 1
    bad.role = "user"
    followed.load([*history, bad])
    assert followed.holds([*history, bad])


@given(st.integers(0, 60), st.integers(0, 6))
def test_a_history_that_goes_on_is_recognized(number, more):
    followed, history = Followed(), [Note("user", "begin"), *rounds(number)]
    assert not followed.following.continues(history), "nothing is loaded"
    followed.load(history)
    longer = [*map(replace, history), *rounds(more, begin=number)]
    assert followed.following.continues(longer)
    assert not followed.following.continues(history[:-1])
    longer[len(history) - 1].text += " edited"
    assert not followed.following.continues(longer)
    assert followed.holds(history), "nothing was loaded"


def test_to_recognize_a_history_reads_its_end_only():
    followed, history = Followed(), [Note("user", "begin"), *rounds(500)]
    followed.load(history)
    before = followed.translation.read
    assert followed.following.continues(history)
    assert followed.translation.read - before == COMPARED


CALL = ModelCall(budget=50_000)


def stored(path):
    return Conversation(
        NoteTranslation(), {"tokenizer": count_quarter, "store": f"sqlite:///{path}/a.db", "session": "s"}
    )


@pytest.mark.parametrize("change", ["clear", "append", "rewind"])
def test_the_history_decides_what_a_user_changed(change):
    held = Conversation(NoteTranslation(), {"tokenizer": count_quarter})
    history = [Note("user", "begin"), *rounds(2)]
    held.view_now(history, CALL)
    changes = {
        "clear": held.clear,
        "append": lambda: held.append({"role": "user", "content": "mine"}),
        "rewind": lambda: held.rewind(1),
    }
    asyncio.run(changes[change]())
    history += rounds(1, begin=2)
    assert held.view_now(history, CALL) == history
    assert len(asyncio.run(held.get_messages())) == len(history)


@pytest.mark.parametrize("yields", range(3, 12, 2))
def test_a_call_that_was_cancelled_is_read_again(tmp_path, yields):
    async def run():
        held, history = stored(tmp_path), [Note("user", "begin"), *rounds(2)]
        await held.view_of(history, CALL)
        history += rounds(1, begin=2)
        call = asyncio.ensure_future(held.view_of(history, CALL))
        for _ in range(yields):
            await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait([call])
        history += rounds(1, begin=3)
        assert await held.view_of(history, CALL) == history
        assert len(await held.get_messages()) == len(history)

    asyncio.run(run())


def test_processes_that_take_turns_send_the_whole_history(tmp_path):
    one, other = stored(tmp_path), stored(tmp_path)
    history = [Note("user", "begin"), *rounds(2), Note("assistant", "done")]
    for turn in range(6):
        held = (one, other)[turn % 2]
        assert held.view_now(history, CALL) == history
        history.append(Note("assistant" if turn % 3 else "user", f"turn {turn}"))
        assert held.view_now(history, CALL) == history
        assert len(asyncio.run(held.get_messages())) == len(history)
        history += [Note("user", f"more {turn}"), *rounds(1, begin=10 + turn)]


def test_a_message_that_says_it_is_ephemeral_has_its_place():
    class Flagged(NoteTranslation):
        def to_message(self, native):
            flags = {"metadata": {"ephemeral": True}} if native.usage else {}
            return {**super().to_message(native), **flags}

    held = Conversation(Flagged(), {"tokenizer": count_quarter})
    history = [Note("user", "begin"), Note("user", "now 12:00", usage={"flag": 1}), Note("assistant", "fine")]
    assert held.view_now(history, CALL) == history
    history += [Note("user", "more"), *rounds(1)]
    assert held.view_now(history, CALL) == history
