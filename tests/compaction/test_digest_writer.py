"""What a digest says of a turn, and writing one: what comes first, what gives way, and what is kept aside."""

import json
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.compaction.digest.notes import USER_WORDS, TurnFacts, brief, trouble_in
from backscroll.compaction.digest.relevance import Relevance
from backscroll.compaction.digest.shrinking import shrink
from backscroll.compaction.digest.user_rules import rules_in, rules_of
from backscroll.compaction.digest.writer import (
    HEADINGS,
    MOST_RESERVE,
    RESERVE_LINES,
    WEIGHTS,
    Frame,
    fit_headings,
    write,
)
from backscroll.history.plan import NO_DIGEST, DigestContent, DigestLine, Plan
from backscroll.history.rewound_plan import until
from backscroll.view.rendering import note_text, note_texts
from tests.builders import assistant, entry, said, turn, user

RULE = "Never touch the file config/prod.yaml."
OLD, NEW = "retry_limit = 3_000", "retry_limit = 5_000"
AROUND = "# words " * 20 + "\n"  # so that the one line for the turn shows neither of them


def taken(notes):
    """Tokens that these notes take in a summary."""
    return sum(len(text) + 1 for text in note_texts(notes))


def digest_of(*groups, before=NO_DIGEST, allowance=10_000, kept=(), budget=100_000):
    """The digest of these groups; a token is a character."""
    salience = Relevance([*groups, *kept], before.weights)
    return write(before, groups, 1_000, Frame(salience, kept, allowance, budget, len))


def texts(notes, *kinds):
    return [note.text for note in notes if not kinds or note.kind in kinds]


# --- what is said of a turn ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        "KeyError: 1", "a ValueException", "Traceback (most", "it fails", "1 FAILED", "fatal: no", "kernel panic",
        "Not Found", "permission denied", "refused", "no such file", "undefined name", "cannot open", "Unable to read",
        "timed out", "timeout", "killed by 9", "aborted", "crashed", "out of memory", "exit code 2", "exit status 1",
        "Zeit: timeout nach 3 s: größer wäre besser", "\u212aILLED",
    ],
)  # fmt: skip
def test_what_went_wrong_is_found_in_any_case_and_script(wrong):
    assert trouble_in(["it began", wrong, "it went on"]) == wrong
    assert trouble_in(["it began", wrong.upper(), "it went on"]) == wrong.upper()
    assert trouble_in(["it began", "exit code 0", "it went on"]) is None


@pytest.mark.parametrize(
    ("result", "ended"),
    [
        (None, ""),
        ("", " -> nothing"),
        ("src/app.py", ""),  # no more than the call said
        ("port_number 8080\n", " -> port_number 8080"),
        ("  12\tport_number 8080\nb\nc\nd", " -> port_number 8080 (4 lines)"),
        ("collected\nE1042 ok\nError: bad\nbye", " -> Error: bad (4 lines)"),
        (
            "an error handler\n" + "all well\n" * 99 + "no such thing\n" + "all well\n" * 9,
            " -> an error handler (110 lines)",
        ),
    ],
)
def test_turn_line_has_tool_arguments_and_outcome(result, ended):
    """A turn is reported by its tool its arguments and how it ended."""
    line = TurnFacts(turn(1, "read", {"path": "src/app.py"}, result)).turn_line()
    assert line == f"read(path=src/app.py){ended}"


def test_text_before_a_call_is_one_sentence_an_answer_is_more():
    """What the agent said before a call is its first sentence and an answer is reported at length."""
    assert TurnFacts(turn(1, "ls", {}, text="I look around. Then I act.")).turn_line() == "I look around. | ls()"
    assert TurnFacts(said(1, "It works.\n  All of it.", role="assistant")).turn_line() == "It works. All of it."
    assert len(TurnFacts(said(1, "word " * 999, role="assistant")).turn_line()) == 320


def test_parallel_calls_share_a_line_each_with_its_own_result():
    blocks = [{"type": "tool_use", "id": name, "name": name, "input": {}} for name in ("one", "two")]
    results = [{"type": "tool_result", "tool_use_id": name, "content": f"{name}_got"} for name in ("two", "one")]
    group = [entry(1, assistant(blocks)), entry(2, user(*results, {"type": "text", "text": "Go on."}))]
    assert list(TurnFacts(group).headings) == [
        DigestLine(1, 2, "turn", "one() -> one_got | two() -> two_got"),
        DigestLine(2, 2, "user", "Go on."),
    ]


def test_long_arguments_are_cut_and_replaced_text_left_out():
    """Arguments are shown by name without what the call replaced and long ones cut."""
    assert brief('{"path":"a.py","old_string":"x","new_string":"y","line":3,"all":true}') == "path=a.py, new_string=y"
    assert brief(json.dumps({"text": "word " * 99})) == f"text={('word ' * 20)[:99]}…"
    assert len(brief(json.dumps({f"name_{n}": "x" * 50 for n in range(9)}))) == 180
    assert brief('["a"]') == '["a"]'
    assert brief("no\n  json") == "no json"


def test_users_words_stay_and_a_paste_keeps_ends_and_rules():
    """A users words are kept as they are and of a paste head tail and rules."""
    short = f"Hello!\n{RULE}"
    assert list(TurnFacts(said(1, short)).headings) == [DigestLine(1, 1, "user", short)]
    pasted = "a" * USER_WORDS + f" ends. {RULE} It goes on. " + "z" * USER_WORDS
    words, rule = TurnFacts(said(1, pasted)).headings
    assert words.text == "a" * 840 + " [...] " + "z" * 360
    assert rule == DigestLine(1, 1, "rule", RULE)
    assert rules_of(DigestLine(1, 1, "user", short)) == [rule]


def test_lone_picture_is_noted_as_a_picture():
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    assert list(TurnFacts([entry(1, user(picture))]).headings) == [DigestLine(1, 1, "user", "(image)")]


# --- headings ------------------------------------------------------------------------------------------------------

filler = st.sampled_from(["Thank you!", "Look at the weather. " * 4, "Hm. " * 40])
headings = st.lists(
    st.one_of(
        st.tuples(st.just("user"), st.builds(lambda one, rule: one + rule, filler, st.sampled_from(["", " " + RULE]))),
        st.tuples(st.just("rule"), st.sampled_from([RULE, "Always run make."])),
        st.tuples(
            st.just("turn"), st.sampled_from(["ls()", "read(path=app.py) -> ok", "I see. | grep(query=x)", "Hm."])
        ),
    ),
    max_size=14,
).map(lambda found: [DigestLine(number, number, kind, text) for number, (kind, text) in enumerate(found)])


@given(headings, st.integers(-60, 400))
def test_headings_fit_and_keep_rules_and_a_line_for_turns(notes, more):
    """Headings fit and lose no rule while rules and one line for the turns fit."""
    turns = [note for note in notes if note.kind == "turn"]
    stated = [note for note in notes if note.kind == "rule"]
    stated += [rule for note in notes if note.kind == "user" for rule in rules_of(note)]
    merged = fit_headings(turns, 0, len)[0]
    least = taken([*stated, *merged])
    kept, aside = fit_headings(notes, least + more, len)
    assert len(merged) <= 1
    if more < 0:
        assert taken(kept) <= max(least + more, taken(merged))
        return
    assert taken(kept) <= least + more
    assert all(any(rule.text in note.text for note in kept) for rule in stated)
    assert {note.first for note in notes if note.kind == "user"} <= {note.first for note in [*kept, *aside]}
    assert not any(note.kind == "rule" for note in aside)


READS = [DigestLine(number, number, "turn", "read(path=app.py) -> all is well") for number in range(4)]


def test_with_room_for_all_nothing_changes():
    notes = [*READS, DigestLine(4, 4, "user", "Go on.")]
    assert fit_headings(notes, taken(notes), len) == (notes, [])


def test_the_oldest_turns_merge_into_a_range_with_a_tally():
    edit = DigestLine(4, 5, "turn", "I see it. | edit(path=app.py)")
    kept, _ = fit_headings([*READS, edit, DigestLine(6, 6, "turn", "ls()")], 70, len)
    assert kept[0] == DigestLine(0, 5, "turn", "turns: read x4, said x1, edit x1")
    again, _ = fit_headings([*kept, *[note._replace(first=9, last=9) for note in READS]], 60, len)
    assert again == [DigestLine(0, 9, "turn", "turns: read x5, said x1, edit x1, ls x1")]


def test_turns_merge_across_user_words_only_when_these_left():
    """Turns merge across what a user said only when the users words had to go."""
    words = DigestLine(2, 2, "user", f"It is a fine day. {RULE}")
    notes = [*READS[:2], words, *READS[3:]]
    assert fit_headings(notes, 140, len)[0] == [DigestLine(0, 1, "turn", "turns: read x2"), words, READS[3]]
    kept, aside = fit_headings(notes, 95, len)
    assert kept == [DigestLine(0, 3, "turn", "turns: read x3"), DigestLine(2, 2, "rule", RULE)]
    assert aside == [words]


def test_rule_inside_kept_user_words_is_not_repeated():
    words = DigestLine(2, 2, "user", f"Hi. {RULE}")
    rule = DigestLine(2, 2, "rule", RULE)
    assert fit_headings([rule, words], 999, len)[0] == [words]
    assert fit_headings([rule._replace(first=1, last=1), words], 999, len)[0] == [rule._replace(first=1, last=1), words]


def test_rules_that_fill_the_room_move_aside_oldest_first():
    """Rules that alone would fill the room are kept aside oldest first."""
    rules = [DigestLine(number, number, "rule", f"Never touch file {number}.") for number in range(4)]
    assert fit_headings(rules, taken(rules[2:]) + 9, len) == (rules[2:], rules[:2])


# --- writing -------------------------------------------------------------------------------------------------------


def test_digest_orders_words_turns_and_lines_behind_their_turn():
    """A digest says words turns and lines in order each line behind its turn."""
    found = digest_of(said(1, "Fix it."), turn(2, "read", {"path": "app.py"}, "all is well\nlisten_port = 8080\n"))
    assert found.notes == (
        DigestLine(1, 1, "user", "Fix it."),
        DigestLine(2, 3, "turn", "read(path=app.py)"),
        DigestLine(3, 3, "line", "listen_port = 8080"),
    )
    assert (found.reserve, found.covered_tokens) == ((), 1_000)


def test_digest_remembers_the_heaviest_weights_up_to_a_bound():
    """A digest remembers what weighs heaviest first up to a bound."""
    groups = [said(1, "app_main"), turn(2, "read", {}, "listen_port"), said(4, "app_main")]
    assert [word for word, _ in digest_of(*groups).weights] == ["app_main", "listen_port"]
    assert [word for word, _ in digest_of(*groups, budget=ceil(1 / WEIGHTS)).weights] == ["app_main"]
    later = digest_of(said(9, "listen_port"), before=digest_of(*groups))
    assert dict(later.weights)["listen_port"] == dict(digest_of(*groups).weights)["listen_port"] + 6.0


def test_weights_are_sixteenths_for_any_number_of_groups():
    """Weights are sums of sixteenths however many groups there are."""
    groups = [turn(2 * number, "read", {"path": f"src/m{number}.py"}, f"value_{number} = 1") for number in range(7)]
    digest = digest_of(*groups[3:], before=digest_of(*groups[:3]))
    assert {weight * 16 % 1 for _, weight in digest.weights} == {0.0}
    assert len({weight for _, weight in digest.weights}) > 7


def test_repeated_line_is_noted_once_as_the_newest():
    groups = [turn(number, "read", {"n": number}, "head\nlisten_port = 8080") for number in (1, 3)]
    assert [note for note in digest_of(*groups).notes if note.kind == "line"] == [
        DigestLine(4, 4, "line", "listen_port = 8080")
    ]


def test_lines_shown_in_the_view_come_last():
    reads = turn(1, "read", {}, "head\nlisten_port = 8080\nserver_name = shop")
    assert texts(digest_of(reads, allowance=50).notes, "line") == ["listen_port = 8080"]
    beside = [turn(3, "read", {}, "listen_port = 8080")]
    assert texts(digest_of(reads, allowance=50, kept=beside).notes, "line") == ["server_name = shop"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"old_string": AROUND + OLD, "new_string": AROUND + NEW},
        {"edits": [{"old_str": AROUND + OLD, "new_str": AROUND + NEW}]},
        {"patch": f"--- a/app.py\n+++ b/app.py\n@@ -1,2 +1,2 @@\n {AROUND}-{OLD}\n+{NEW}\n"},
    ],
)
def test_line_removed_by_an_edit_is_omitted_unless_read_again(arguments):
    """A line that an edit took out is reported no more unless it was read again."""
    before, edit = turn(1, "read", {}, f"head\n{OLD}"), turn(3, "edit", arguments, "done")
    assert OLD in texts(digest_of(before).notes, "line")
    assert OLD not in texts(digest_of(before, edit).notes, "line")
    told = digest_of(before)
    assert OLD not in texts(digest_of(edit, before=told).notes, "line")
    assert OLD not in texts(digest_of(said(9, "ok"), before=told, kept=[edit]).notes, "line")
    again = digest_of(before, edit, turn(5, "read", {"again": "yes"}, f"head\n{OLD}"))
    assert DigestLine(6, 6, "line", OLD) in again.notes


def test_line_of_a_result_digested_after_its_edit_is_omitted():
    """The digest knows what an edit removed that left the view before the result, and a rewind forgets it."""
    read, edit = turn(1, "read", {}, f"head\n{OLD}"), turn(3, "edit", {"old_str": OLD, "new_str": NEW}, "done")
    before = digest_of(edit)
    assert [seq for _, seq in before.removed] == [3]
    salience = Relevance([read], before.weights, before.removed)
    later = write(before, [read], 1_000, Frame(salience, (), 10_000, 100_000, len))
    assert OLD not in texts(later.notes, "line")
    assert OLD in texts(digest_of(read).notes, "line")
    assert later.removed == before.removed
    assert until(Plan((), 1, None, before, 4), 2).digest.removed == ()


def test_lines_next_to_what_matters_are_kept_as_a_block():
    """They mention nothing, but code is edited in blocks."""
    code = "\n".join(["a line of the file like any other one"] * 30).split("\n")
    code[14:17] = [
        "# Create the new entry if there is none",
        "state := load_session_state(name)",
        "// so that it is not lost",
    ]
    digest = digest_of(
        turn(1, "read", {}, "\n".join(code)), kept=[said(0, "Why does load_session_state fail?")], allowance=300
    )
    lines = texts(digest.notes, "line")
    assert {"# Create the new entry if there is none", "// so that it is not lost"} <= set(lines)


@pytest.mark.parametrize("nested", [False, True])
def test_edit_arguments_contribute_only_the_new_text(nested):
    pair = {"old_string": AROUND + OLD, "new_string": AROUND + NEW}
    lines = texts(digest_of(turn(1, "edit", {"edits": [pair]} if nested else pair, "done")).notes, "line")
    assert NEW in lines
    assert OLD not in lines


def test_failures_are_noted_even_without_specific_terms():
    """What went wrong is reported even if it mentions nothing and its turn is only counted."""
    groups = [turn(number, "run", {"path": "app.py"}, "all is well") for number in range(4, 40, 2)]
    wrong = turn(2, "run", {"path": "app.py"}, "it ran for long\nthe disk is full, worker killed\nbye")
    notes = digest_of(wrong, *groups, allowance=300).notes
    assert notes[0].text.startswith("turns: run x")
    assert DigestLine(3, 3, "error", "the disk is full, worker killed") in notes


def test_notes_without_room_return_when_there_is_room():
    """What found no room is kept aside and returns when there is room."""
    rule, line = "Never touch the other files.", "listen_port = 8080 " + "x" * 99
    words = said(1, f"What a fine day it is. {rule}" + " Hm." * 40)
    small = digest_of(words, turn(2, "read", {}, f"head\n{line}"), allowance=150)
    assert texts(small.notes) == [rule, "read()"]
    assert texts(small.reserve) == [words[0].message["content"], line]
    large = digest_of(said(4, "Thanks."), before=small)
    assert texts(large.notes) == [words[0].message["content"], "read()", line, "Thanks."]
    assert large.reserve == ()


def test_lines_kept_aside_are_bounded_by_the_budget():
    lines = [f"setting_{number} = value_{number}" for number in range(MOST_RESERVE + 100)]
    reads = turn(1, "read", {}, "\n".join(lines))
    assert len(digest_of(reads, allowance=200, budget=1_000).reserve) == 1_000 * RESERVE_LINES
    assert len(digest_of(reads, allowance=200, budget=10**6).reserve) == MOST_RESERVE


def test_users_words_and_turns_take_shares_and_lines_the_rest():
    """Users words and turns take their share and lines the rest."""
    talk = [said(number, "word " * 20) for number in range(9)]
    reads = turn(20, "read", {}, "\n".join(f"setting_{number} = value_{number}" for number in range(99)))
    notes = digest_of(*talk, reads, allowance=1_000).notes
    headed = taken([note for note in notes if note.kind != "line"])
    assert 300 < headed <= 1_000 * HEADINGS
    assert 900 < taken(notes) <= 1_000


rounds = st.tuples(
    st.sampled_from(["read", "grep", "edit"]),
    st.fixed_dictionaries({"path": st.sampled_from(["app.py", "src/db.py", "conf_test"])}),
    st.lists(st.builds("{} = value_{}".format, st.sampled_from(["port_no", "db.host"]), st.integers(0, 99))).map(
        "\n".join
    ),
)
chats = st.lists(rounds | filler | st.just(RULE), min_size=1, max_size=14)


@given(filler, chats, st.integers(500, 2_000))
def test_rule_stays_verbatim_over_many_digests_that_fit(words, chat, allowance):
    """A rule stands word for word after many digests and each fits."""
    groups = [said(0, f"{words} {RULE} {words}")]
    for number, found in enumerate(chat, 1):
        groups.append(said(2 * number, found) if isinstance(found, str) else turn(2 * number, *found))
    digest = NO_DIGEST
    for number, group in enumerate(groups, 1):
        digest = digest_of(group, before=digest, allowance=allowance, kept=groups[number:], budget=allowance * 4)
        assert sum(len(text) + 1 for text in note_texts(digest.notes)) <= allowance
        assert RULE in "\n".join(texts(digest.notes, "user", "rule"))
    assert any(RULE in rules_in(text) for text in texts(digest.notes, "user", "rule"))


# --- shrinking -----------------------------------------------------------------------------------------------------

WORDS, MORE = DigestLine(1, 1, "user", f"It is a fine day. {RULE}"), DigestLine(4, 4, "user", "Well, well, well.")
WRITTEN = DigestContent(
    (WORDS, DigestLine(2, 3, "turn", "read()"), DigestLine(3, 3, "line", "listen_port = 8080"), MORE),
    (("8080", 1.0),),
    (),
    9,
)


@pytest.mark.parametrize(
    ("less", "left"),
    [
        (0, ["user", "turn", "line", "user"]),
        (1, ["user", "turn", "user"]),
        (25, ["user", "user"]),
        (40, ["rule", "user"]),
        (60, ["rule"]),
    ],
)
def test_shrinking_digest_loses_lines_turns_words_never_rules(less, left):
    """A digest that shrinks loses lines first then turns then words but rules never."""
    small = shrink(WRITTEN, taken(WRITTEN.notes) - less, len)
    assert [note.kind for note in small.notes] == left
    assert {note for note in WRITTEN.notes if note not in small.notes} == set(small.reserve)
    assert RULE in "\n".join(texts(small.notes))


def test_rules_go_only_where_asked_for_and_come_back():
    assert texts(shrink(WRITTEN, 0, len).notes) == [RULE]
    nothing = shrink(WRITTEN, 0, len, rules_too=True)
    assert nothing.notes == ()
    assert digest_of(before=nothing).notes == WRITTEN.notes


@given(st.integers(0, 300))
def test_a_shrunken_digest_fits_down_to_its_rules(allowance):
    assert taken(shrink(WRITTEN, allowance, len).notes) <= max(
        allowance, len(note_text(DigestLine(1, 1, "rule", RULE))) + 1
    )
