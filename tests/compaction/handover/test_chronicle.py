"""What a chronicle tells of turns, in order, each under its reference."""

import pytest

from backscroll.history.plan import DigestContent, DigestLine
from tests.builders import entry
from tests.compaction.handover.hand_over import Talk, chronicle_of, grown, state_of, text_of


def lines(digest):
    return [(note.kind, note.text) for note in digest.notes]


def shown(digest, kind):
    return [note.text for note in digest.notes if note.kind == kind]


def test_a_turn_is_words_deeds_and_report_in_order():
    talk = Talk()
    talk.say("user", "Round the totals of an invoice.")
    talk.read("/srv/shop/invoice.py", "def total(rows):\n    return sum(rows)\n")
    talk.edit("/srv/shop/invoice.py", "return sum(rows)", "return round(sum(rows), 2)")
    talk.shell("pytest tests/test_invoice.py", "===== 4 passed in 0.31s =====")
    talk.shell('git commit -am "Round totals"', "[main 3f2a1bc] Round totals\n 1 file changed")
    talk.say("assistant", "Totals are rounded to cents now, and a test covers it.")
    found = grown(talk.groups)
    assert [kind for kind, _ in lines(found)] == ["user", "seen", "did", "did", "did", "report"]
    text = text_of(found)
    places = [
        text.index(part) for part in ("[ref:0-9] user: Round", "defines total", "edited", "check `pytest", "3f2a1bc")
    ]
    assert places == sorted(places)
    assert "4 passed" in text
    assert "reported: Totals are rounded" in text


def test_a_short_answer_stands_behind_its_question():
    talk = Talk()
    talk.say("user", "Where should the cache live?")
    talk.say("assistant", "Two places are possible.\n\nWhich one do you want?\n1. Redis\n2. A table")
    first = grown(talk.groups)
    talk.say("user", "2")
    talk.say("assistant", "Done, the cache is a table.")
    second = grown(talk.groups[2:], first)
    text = chronicle_of(second)
    assert text.index("Which one do you want?") < text.index("user: 2")
    assert text.count("1. Redis") == 1  # the report holds it, so it is not repeated


def test_a_question_is_repeated_where_no_report_shows_it():
    talk = Talk()
    talk.say("user", "Where should the cache live?")
    long = "\n".join(f"Finding {number}: nothing of note in module {number}." for number in range(400))
    talk.say("assistant", f"{long}\n\nWhich one do you want?\n1. Redis\n2. A table\n\n{long}\n\nWhich one do you want?")
    talk.say("user", "the first one")
    found = grown(talk.groups, allowance=500)
    assert "Which one do you want?" in text_of(found)


def test_a_search_without_a_hit_is_always_shown():
    talk = Talk()
    talk.say("user", "Is the flag used?")
    talk.call("Grep", {"pattern": "legacy_flag", "path": "src"}, "No matches found")
    talk.say("assistant", "It is not used.")
    assert shown(grown(talk.groups), "seen") == ["nothing found: legacy_flag in src"]


def test_a_failed_change_counts_only_if_it_was_not_repeated():
    talk = Talk()
    talk.say("user", "Rename it.")
    missing = "Error: the text to replace was not found."
    talk.call("Edit", {"file_path": "/a/one.py", "old_string": "x", "new_string": "y"}, missing)
    talk.call("Edit", {"file_path": "/a/two.py", "old_string": "x", "new_string": "y"}, missing)
    talk.edit("/a/one.py", "x = 1", "y = 1")
    found = grown(talk.groups)
    assert [text for text in shown(found, "did") if text.startswith("failed: ")] == [
        text for text in shown(found, "did") if "two.py" in text
    ]
    assert any("two.py" in line for line in state_of(found))
    assert not any("Failed" in line and "one.py" in line for line in state_of(found))


def test_files_without_names_are_named_before_the_report():
    talk = Talk()
    talk.say("user", "Look around.")
    for number in (1, 1, 2, 3, 4):
        talk.read(f"/srv/data_{number}.csv", "a,b\n1,2\n" * 200)
    talk.call("Grep", {"pattern": "a", "path": "/srv"}, "")
    talk.say("assistant", "All is as expected.")
    assert [text for _, text in lines(grown(talk.groups))][-2:] == [
        "looked at srv/data_1.csv, srv/data_2.csv, srv/data_3.csv, and 1 more",
        "All is as expected.",
    ]


def test_searches_in_a_row_that_found_nothing_are_one_line():
    talk = Talk()
    talk.say("user", "Is a flag used?")
    for name in ("old_flag", "new_flag"):
        talk.call("Grep", {"pattern": name, "path": "src"}, "No matches found")
    talk.edit("/a/b.py", "x", "y")
    talk.call("Grep", {"pattern": "flag", "path": "src"}, "No matches found")
    assert shown(grown(talk.groups), "seen") == [
        "nothing found: old_flag in src; new_flag in src",
        "nothing found: flag in src",
    ]


def test_a_piece_with_one_line_has_no_reference_of_its_own():
    talk = Talk()
    talk.say("user", "Do it all.")
    for number in range(15):
        talk.edit(f"/a/m{number}.py", "x", "y")
    talk.edit("/a/last.py", "x", "y")
    talk.groups[-1][0] = entry(
        31, {**talk.groups[-1][0].message, "content": "The last module fails because its import is circular."}
    )
    assert "(continued)" in chronicle_of(grown(talk.groups))
    talk.groups[-1][0] = entry(31, {**talk.groups[-1][0].message, "content": None})
    assert "(continued)" not in chronicle_of(grown(talk.groups))


def test_a_long_turn_is_cut_at_a_remark():
    talk = Talk()
    talk.say("user", "Do it all.")
    for number in range(40):
        said = f"Module {number} fails because its import is circular, so it moves." if number % 8 == 7 else None
        talk.call("Edit", {"file_path": f"/a/m{number}.py", "old_string": "x", "new_string": "y"}, "updated", said)
    heads = [note for note in grown(talk.groups).notes if note.kind in ("user", "turn")]
    assert [note.kind for note in heads] == ["user", "turn", "turn"]
    assert heads[0].last + 1 == heads[1].first


def test_a_turn_that_leaves_in_two_parts_goes_on():
    talk = Talk()
    talk.say("user", "Do it.")
    talk.edit("/a/one.py", "x", "y")
    talk.edit("/a/two.py", "x", "y")
    first = grown(talk.groups[:2])
    second = grown(talk.groups[2:], first)
    assert second.notes[: len(first.notes)] == first.notes
    assert [note.kind for note in second.notes[len(first.notes) :]] == ["turn", "did"]
    assert "[ref:3-4] (continued)" in text_of(second)


def test_what_a_host_inserts_is_named_and_no_words_of_the_user():
    talk = Talk()
    note = "<task-notification>\n<summary>Agent finished: 3 files checked</summary>\n</task-notification>"
    talk.say("user", "Check the files.")
    talk.shell("make check", "ok")
    talk.say("user", note)
    talk.say("user", "[Request interrupted by user]")
    found = grown(talk.groups)
    assert shown(found, "user") == ["Check the files."]
    assert [text.split(":")[0] for text in shown(found, "note")] == ["report of a task", "interruption"]


def test_a_pasted_text_is_named_with_its_size_and_beginning():
    talk = Talk()
    log = "\n".join(f"2026-03-0{number % 9 + 1} 10:00:00 ERROR worker {number} lost its lease" for number in range(60))
    talk.say("user", f"Why does this happen?\n\n{log}")
    found = grown(talk.groups)
    assert shown(found, "user") == ["Why does this happen?"]
    assert shown(found, "pasted")[0].startswith(f"{len(log):,} characters, “2026-03-01")


def test_rules_come_from_typed_text_alone():
    talk = Talk()
    talk.say("user", "Never touch prod.yaml.\n\n```\nNever trust this log, always retry.\n```")
    found = grown(talk.groups)
    assert [line for line in state_of(found) if line.startswith("The user's rule")] == [
        "The user's rule: Never touch prod.yaml."
    ]


def test_a_summary_by_a_model_replaces_deeds_but_no_words():
    talk = Talk()
    talk.say("user", "Fix the parser. Never change its interface.")
    talk.edit("/a/parser.py", "x", "y")
    talk.say("assistant", "The parser is fixed.")
    first = grown(talk.groups)
    talk.say("user", "Now the lexer.")
    talk.edit("/a/lexer.py", "x", "y")
    prose = DigestLine(0, 3, "prose", "The parser was fixed without a change of its interface.", "m")
    second = grown(talk.groups[3:], first, prose=prose)
    text = chronicle_of(second)
    assert [note.kind for note in second.notes] == ["prose", "user", "user", "did"]
    assert "[ref:0-3] in short: The parser was fixed" in text
    assert "\n  user: Fix the parser." in text  # below it, without a reference of its own
    assert "[ref:4-6] user: Now the lexer." in text
    assert "parser.py" not in text


def test_a_summary_that_ends_within_a_turn_leaves_its_rest():
    talk = Talk()
    talk.say("user", "Fix both.")
    talk.edit("/a/one.py", "x", "y")
    talk.say("assistant", "One is fixed, the other one is next because it depends on it.")
    talk.edit("/a/two.py", "x", "y")
    found = grown(talk.groups, prose=DigestLine(0, 2, "prose", "One was fixed.", "m"))
    text = chronicle_of(found)
    assert "[ref:0-2] in short" in text
    assert "[ref:3-5] (continued)" in text
    assert "two.py" in text


def test_an_older_digest_goes_on_as_a_chronicle():
    """Its quoted lines stand for nothing that a chronicle needs; all else stays."""
    old = DigestContent(
        (
            DigestLine(1, 1, "user", "Begin with the parser."), DigestLine(1, 1, "rule", "Never push."),
            DigestLine(2, 9, "turn", "read x4"), DigestLine(4, 4, "line", "port = 1"),
            DigestLine(12, 12, "pasted", "a log"),
        ),
        (), (), 500,
    )  # fmt: skip  # one thought
    talk = Talk()
    talk._next = 20
    talk.say("user", "Go on.")
    found = grown(talk.groups, old)
    assert [note.text for note in found.notes] == [
        "Begin with the parser.",
        "Never push.",
        "read x4",
        "a log",
        "Go on.",
    ]
    assert found.ledger is not None


def test_a_replaced_statement_is_no_longer_shown():
    talk = Talk()
    talk.say("user", "My office is in Bern.")
    talk.say("assistant", "Noted: your office is in Bern.")
    first = grown(talk.groups)
    talk.say("user", "My office is in Basel now.")
    talk.say("assistant", "Noted.")
    second = grown(talk.groups[2:], first)
    assert "office is in Bern" in text_of(first)
    assert "My office is in Bern" not in text_of(second)
    assert "My office is in Basel now." in text_of(second)


def test_a_message_that_is_folded_later_stands_in_its_place():
    talk = Talk()
    for number in range(4):
        talk.say("user", f"Task number {number}, please.")
        talk.say("assistant", f"Task number {number} is done.")
    pinned = talk.groups[2:4]
    first = grown([*talk.groups[:2], *talk.groups[4:]])
    second = grown(pinned, first)
    assert [note.first for note in second.notes] == sorted(note.first for note in second.notes)
    assert "number 1, please" in text_of(second)


@pytest.mark.parametrize("command", ["/clear", "/model"])
def test_a_command_to_the_host_is_no_request(command):
    talk = Talk()
    talk.say("user", f"<command-name>{command}</command-name>\n<command-args></command-args>")
    talk.say("user", "<command-name>/review</command-name>\n<command-args>the parser</command-args>")
    assert shown(grown(talk.groups), "user") == ["/review the parser"]


def test_what_a_user_says_twice_is_not_taken_for_a_hosts():
    """Lines that are in three messages are a host's; two may be a person's."""
    said = "Never push to main before the tests of all packages have passed.\nUse tabs in every file of the project."
    talk = Talk()
    for number in range(2):
        talk.say("user", f"Task {number}.\n{said}")
        talk.say("assistant", f"Task {number} is done.")
    assert all(said in text for text in shown(grown(talk.groups), "user"))
    talk.say("user", f"Task 3.\n{said}")
    assert shown(grown(talk.groups), "user") == ["Task 0.", "Task 1.", "Task 3."]
