"""A framework's history is followed: edits are noticed, and a step does not read all of it."""

from dataclasses import replace
from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll import ContextManager, MessageError
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
    assert again.context.rewind(len(history) - 1) is None, "no number was used twice"
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
