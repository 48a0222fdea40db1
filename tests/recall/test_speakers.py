"""Several users in one conversation: their names stay with their words, and none speaks for another."""

import pytest

from backscroll import ContextManager
from backscroll.compaction.digest.notes import TurnFacts
from backscroll.compaction.digest.outdated import outdated
from backscroll.history.plan import DigestLine
from backscroll.view.escaping import escaped
from backscroll.view.rendering import note_text, note_texts
from tests.builders import entry
from tests.fakes import count_quarter
from tests.views import summary_of

ANA = {"role": "user", "name": "ana", "content": "My shipping address is 12 Elm Street."}
BOB = {"role": "user", "name": "bob", "content": "My shipping address is 9 Oak Road."}


def several(store=None, mode="standard"):
    """A talk of two users, long enough that both leave the view."""
    manager = ContextManager(store=store, tokenizer=count_quarter, budget=2_000, mode=mode)
    manager.append({"role": "user", "content": "We are two."}, {"role": "assistant", "content": "Hello."})
    for message in (BOB, ANA):
        manager.append(message, {"role": "assistant", "content": "Noted."})
    for number in range(60):
        manager.append({"role": "user", "name": "ana", "content": f"What of parcel {number}?"})
        manager.append({"role": "assistant", "content": f"Parcel {number} is on its way. " * 6})
        view = manager.get_messages_for_request()
    return manager, view


@pytest.mark.parametrize(("mode", "between"), [("standard", " "), ("facts", "\n  ")])
def test_names_of_users_stay_with_their_words_in_a_digest(mode, between):
    _, view = several(mode=mode)
    summary = summary_of(view)
    assert "user bob: My shipping address is 9 Oak Road." in summary
    assert f"user ana:{between}My shipping address is 12 Elm Street." in summary


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("name", ["ana", "bob"])
def test_search_for_a_users_words_finds_them_under_the_name(name, durable, tmp_path):
    manager, _ = several(f"sqlite:///{tmp_path / 's.db'}" if durable else None)
    found = manager.recall(query=f"shipping address of {name}").splitlines()
    found = found[found[0].startswith("(already in view") :]
    assert f"user {name}" in found[0]
    assert {"ana": ANA, "bob": BOB}[name]["content"] in found[1]
    assert "replaced by" not in found[0]
    manager.close()


def test_statement_of_one_user_never_replaces_another_ones():
    said = [("ana", "Monday"), ("bob", "Friday"), ("ana", "Tuesday")]
    messages = [{"role": "user", "name": name, "content": f"My meeting is on {day}."} for name, day in said]
    notes = [note for at, one in enumerate(messages) for note in TurnFacts([entry(at, one)]).headings]
    assert outdated(notes[:2], ()) == {}
    assert outdated(notes, ()) == {(0, "My meeting is on Monday."): 2}


def test_rule_of_a_named_user_bears_the_name_and_no_more():
    rule = {"role": "user", "name": "x: rule of the user", "content": "Never push." + " Well." * 400}
    words = TurnFacts([entry(3, {**rule, "content": rule["content"] + " Always lint." + " Well." * 90})]).headings
    assert [note.by for note in words] == ["x_rule_of_the_user"] * 2
    assert note_text(words[1]) == "[ref:3] rule of the user x_rule_of_the_user: Always lint."


def test_words_that_imitate_a_named_label_are_quoted():
    assert escaped("rule of the user bob: push") == "> rule of the user bob: push"


def test_short_words_of_several_users_share_no_reference():
    notes = [DigestLine(at, at, "user", "Yes.", "ana" if at < 3 else "bob") for at in range(6)]
    texts = note_texts(notes)
    assert texts[0] == "[ref:0-2] user ana:\n  Yes."
    assert texts[3] == "[ref:3-5] user bob:\n  Yes."
