"""What people copy into a message states none of their rules, and what they type stays theirs."""

import pytest

from backscroll.messages import read_message
from backscroll.messages.inserted.pieces import pieces_of
from tests.builders import user

TYPED = "Never touch the migrations folder."
COPIED = {
    "a reviewer's suggestion": "The lock is taken twice. Consider using a guard, so that it should always be freed.",
    "a reviewer's list": "Consider testing:\n\nNames without a dot, which should always be kept",
    "a fault of code": "The readOrder() function silently drops the second row, which should always be kept, because "
    "parseRow() returns early without a flag, so that the report is incomplete for each customer.",
    "a fault at lines": "When the file is read (lines 12-18), the handle should always be closed, but is lost.",
    "a comment with a severity": "Handle is lost\n\nLow Severity\n\nIt should always be closed.",
    "an agent's output in a terminal": "Do this:\n\n  2. The handle should always be closed\n\n  It is lost otherwise.",
    "a sentence of the agent": "you said: the handle should always be closed by its owner",
    "a sentence to explain": "can you explain: the handle should always be closed",
    "a line in quotation marks": 'change this\n"The handle should always be closed by the one who opened it"',
    "a report": "- Branch: main\n- Draft: done\n- It should always be merged unless asked\n\nNext steps:\n1. merge\n"
    "2. clean\n3. report\n   - a\n   - b\n\nWhen done, list:\n- names\n- places",
    "an item": " 3. The handle should always be closed",
}


@pytest.mark.parametrize("text", COPIED.values(), ids=COPIED)
def test_what_was_copied_states_no_rule_and_stays(text):
    reading = read_message(user(text))
    assert "should always" not in reading.sure
    assert "should always" in reading.pasted


@pytest.mark.parametrize("text", COPIED.values(), ids=COPIED)
def test_what_is_typed_behind_a_copy_is_sure(text):
    assert TYPED in read_message(user(f"{text}\n\nI want this. {TYPED}")).sure


@pytest.mark.parametrize(
    "text",
    [
        TYPED,
        f"Rules:\n\n  {TYPED}\n  Always lint.",
        f"You fix bugs.\n\n    {TYPED}\n    Always run the tests of the folder.\n",
        f"- {TYPED}\n- Keep lines short.\n\nSteps:\n1. read\n2. write\n\nNotes:\n- a\n- b\n- c\n- d",
        f"As I said: {TYPED}",
        f"regarding tests: {TYPED}",
        f"Consider using a guard. {TYPED}",
        f"Look at lines 12-18, they are lost. {TYPED}",
        f'"{TYPED} It is of another team, so ask them"',
        f'My boss says\n"{TYPED} It is of another team, so ask them"',
        f"The readOrder() and parseRow() functions fail without a flag. {TYPED} " + "It takes long to repair. " * 5,
        "The readOrder() function should only be called by parseRow().",
        f"use the <task> tag. {TYPED}",
    ],
)
def test_what_may_be_typed_stays_sure(text):
    assert read_message(user(text)).sure == text.strip()


def test_a_command_is_what_its_user_typed():
    text = "<command-message>deploy</command-message>\n<command-name>/deploy</command-name>\n"
    assert read_message(user(f"{text}<command-args>staging</command-args>")).sure == "/deploy staging"
    assert read_message(user(text)).sure == "/deploy"


def test_a_command_to_the_host_alone_asks_for_nothing():
    text = "<command-name>/exit</command-name>\n<command-args></command-args>\n<local-command-stdout>Bye!"
    reading = read_message(user(f"{text}</local-command-stdout>\n\n{TYPED}"))
    assert reading.sure == TYPED


def test_a_template_behind_its_command_is_inserted():
    template = f"Review the change.\n{TYPED}\n" + "Then read what it says, file by file, with care. " * 20
    command = "<command-name>/review</command-name><command-args>PR 7</command-args>"
    one = read_message(user(f"{command}\n{template}"))
    blocks = [{"type": "text", "text": command}, {"type": "text", "text": template}]
    two = read_message({"role": "user", "content": blocks})
    assert one.sure == two.sure == one.typed == two.typed == "/review PR 7"
    assert "text of a command" in [piece.name for piece in one.pieces]


def test_words_behind_the_output_of_a_command_are_typed():
    command = "<command-name>/usage</command-name><local-command-stdout>7 %</local-command-stdout>"
    said = "Read what it says, file by file, with care. " * 20
    assert read_message(user(f"{command}\n{said}{TYPED}")).sure == f"{said}{TYPED}"


def test_words_within_a_task_are_looked_at():
    text = f"<task>{TYPED}\n\n```\nYou must always log in as root.\n```\n</task>"
    assert read_message(user(text)).sure == TYPED


def test_a_document_ends_where_a_note_of_the_host_begins():
    note = "If you need specific details from before exiting plan mode, read the file."
    text = f"Implement the following plan:\n\n# Plan\n{TYPED}\n\n{note}"
    assert [(piece.rank, piece.name) for piece in pieces_of(text)] == [
        ("pasted", "plan"),
        ("inserted", "note on a plan"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Consider using:\n\n" * 9_000, "<task>" * 9_000, "<command-name>a</command-name>" * 9_000, "a: " * 30_000,
        f"It fails {'a' * 90_000}.", f"It fails {'A' * 90_000}.", f"It fails {'aA' * 45_000}.", "- " * 45_000,
        f"It fails {'a.' * 45_000}", f"\"{'a' * 90_000}\nb", "1. " * 30_000, f"you said {' ' * 90_000}",
    ],
    ids=range(12),
)  # fmt: skip  # a table
def test_copies_in_a_long_text_are_found_in_one_pass(text):
    assert pieces_of(text)
