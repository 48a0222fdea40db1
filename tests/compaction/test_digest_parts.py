"""What a digest is made with: words, rules, stale lines, greedy cover, salience, folds in plans, and how notes read."""

import json
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.compaction.digest.line_selection import AGAIN, FRAME, cover, ranked, stretches
from backscroll.compaction.digest.relevance import IN_TURNS, SHOWN, Relevance, discounted
from backscroll.compaction.digest.stale_lines import removed_lines, written_values
from backscroll.compaction.digest.terms import (
    LONGEST_SPAN,
    bare,
    line_words,
    ordinary_words,
    pieces,
    significant_text,
    spans,
    specific_words,
)
from backscroll.compaction.digest.user_rules import LONGEST_RULE, rules_in
from backscroll.history.plan import Digest, DigestContent, DigestLine, Plan, Truncate, merge, without
from backscroll.history.rewound_plan import until
from backscroll.messages.rewriter import clip_text
from backscroll.view.rendering import note_text, note_texts, summary_text
from tests.builders import said, turn

DIFF = "--- a/app.py\n+++ b/app.py\n@@ -1,2 +1,2 @@\n import logging\n-retry_limit = 3\n+retry_limit = 5\n"


# --- words ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see src/app.py, then stop", {"src/app.py", "app.py"}),
        ("set max_tokens. Done.", {"max_tokens"}),
        ("getUser failed with E1042", {"getUser", "E1042"}),
        ("version 3.11.4", {"3.11.4"}),
        ("call os.environ_of now", {"os.environ_of", "environ_of"}),
        ("nothing here that only a context can tell", set()),
        ("x_y.", set()),  # shorter than four characters
    ],
)
def test_specific_terms_are_those_of_one_context(text, found):
    assert set(specific_words(text)) == found
    assert list(specific_words(text)) == sorted(found)


def test_ordinary_words_are_lower_case_parts_of_identifiers():
    """Ordinary words are lower case with identifiers taken apart."""
    assert ordinary_words("Read the readLog of max_tokens, API") == {"read", "the", "log", "of", "max", "tokens", "api"}


def test_a_line_without_a_specific_word_mentions_nothing():
    assert line_words("all is well today") == ((), frozenset())
    assert line_words("port of db_main and api_main") == (  # type: ignore[comparison-overlap]  # a set equals a frozen one
        ("api_main", "db_main"),
        {"port", "of", "db", "main", "and", "api"},
    )


long_texts = st.lists(
    st.sampled_from(
        ["word ", "x" * 90, "x" * 300, "1.5, ", '{"a": "b"}, ', "End. ", "\n", "\r\n", "\u2028", " 7: ", "é"]
    )
    | st.text(max_size=8),
    max_size=40,
).map("".join)


@given(long_texts)
def test_spans_cover_a_text_in_order_without_overlap(text):
    """Spans cover a text in order without overlap and are short."""
    found = list(spans(text))
    assert all(0 < end - start <= LONGEST_SPAN or text[start:end] == "" for start, end in found)
    assert all(one[1] <= other[0] for one, other in pairwise(found))
    between = [0, *(place for span in found for place in span), len(text)]
    assert all(text[at:then] in ("", "\n", "\r") for at, then in zip(between[::2], between[1::2], strict=True))
    assert list(pieces(text)) == [bare(text[start:end]) for start, end in found]


@given(long_texts, st.data())
def test_spans_of_a_stretch_stay_inside_it(text, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    assert all(start <= one <= other <= end for one, other in spans(text, start, end))


def test_a_long_line_is_split_where_a_value_ends():
    row = ", ".join(f'"key_{number}": {number}' for number in range(60))
    assert all(piece.endswith(",") and piece.startswith('"key_') for piece in list(pieces(row))[:-1])


@pytest.mark.parametrize("line", ["  12\tx = 1", "12: x = 1", "  7→x = 1", "7|x = 1", "88-\tx = 1", "  x = 1  "])
def test_a_bare_line_has_no_number_and_no_space_around(line):
    assert bare(line) == significant_text(line) == "x = 1"


numbers = st.sampled_from(["", "7", "88", "999", "1024", "  12 "])


@given(numbers, st.sampled_from(["\t", ": ", "→", "-\t", "|", " "]), long_texts)
def test_what_is_cut_off_a_line_that_is_read_mentions_nothing(number, separator, text):
    line = (number + separator + text)[:LONGEST_SPAN]
    assert line_words(significant_text(line)) == line_words(line)


@given(st.text("aZ_9.-/~@( \n\t", max_size=400) | st.text(st.characters(max_codepoint=127), max_size=60))
def test_a_text_of_plain_ascii_is_read_as_any_other(text):
    assert line_words(text) == line_words(f"{text} é")


# --- rules ---------------------------------------------------------------------------------------------------------


def test_rules_are_sentences_word_for_word_in_order_and_once():
    text = "Hi there! Never touch the file config/prod.yaml. It is green.\nAlways run `make`.\nAlways run `make`."
    assert rules_in(text) == ("Never touch the file config/prod.yaml.", "Always run `make`.")


@pytest.mark.parametrize(
    "rule",
    [
        "you MUST ask first",
        "Bitte nie löschen.",
        "Il faut répondre vite.",
        "Nunca borres nada.",
        "不要修改配置。",
        "Никогда не удаляй.",
    ],
)
def test_rules_are_known_in_several_languages_and_any_case(rule):
    assert rules_in(rule) == (rule,)


def test_chat_is_no_rule_and_neither_is_a_long_paste():
    assert rules_in("The build is green. I like it a lot!") == ()
    assert rules_in("never " + "x" * LONGEST_RULE) == ()
    assert rules_in("不要改。文件在这里。必须先测试。") == ("不要改。", "必须先测试。")


# --- staleness -----------------------------------------------------------------------------------------------------

PAIRS = ["old_string new_string", "old_str new_str", "oldText newText", "old_content new_content", "search replace"]


@pytest.mark.parametrize("names", PAIRS)
def test_an_edit_takes_out_the_lines_that_only_its_old_text_has(names):
    old, new = names.split()
    edit = {
        "path": "app.py",
        old: "import logging\n  retry_limit = 3\n}\n",
        new: "import logging\nretry_limit = 5\n}\n",
    }
    assert removed_lines(json.dumps(edit)) == {"retry_limit = 3"}


def test_edits_are_found_at_any_depth_and_their_new_lines_stand():
    """Edits are found at any depth and a line that one of them puts in stands."""
    edits = [
        {"old_string": "timeout_seconds = 30", "new_string": "timeout_seconds = 60"},
        {"old_string": "first_line = 1", "new_string": "second_line = 2"},
        {"old_string": "other_line = 4", "new_string": "first_line = 1"},
    ]
    assert removed_lines(json.dumps({"files": [{"edits": edits}]})) == {"timeout_seconds = 30", "other_line = 4"}


def test_a_unified_diff_takes_out_its_minus_lines():
    assert removed_lines(json.dumps({"patch": DIFF})) == {"retry_limit = 3"}


@pytest.mark.parametrize(
    "arguments",
    [
        json.dumps({"path": "app.py", "content": "- retry_limit = 3\n+ retry_limit = 5"}),
        json.dumps({"old_string": "retry_limit = 3"}),
        json.dumps({"old_string": 30_000_000, "new_string": "retry_limit = 5"}),
        json.dumps({"old_string": "else:\n}\n", "new_string": ""}),  # too short to say where they stand
        '{"old_string": "retry_limit = 3", "new_string": ',
        '"old_string"',
    ],
)
def test_what_is_no_edit_takes_nothing_out(arguments):
    assert removed_lines(arguments) == set()


def test_what_a_call_wrote_leaves_out_what_it_replaced():
    edits = [{"old_string": "retry_limit = 3", "new_string": "retry_limit = 5"}]
    assert written_values(json.dumps({"path": "app.py", "edits": edits})) == ["app.py", "retry_limit = 5"]
    assert written_values("no json") == ["no json"]


# --- cover ---------------------------------------------------------------------------------------------------------


def line(weighs, words, tokens, factor=1.0):
    """A line as something to choose."""
    return tuple(words), tokens, factor, factor * sum(weighs[word] for word in words) / (tokens + FRAME)


mentions = st.lists(
    st.tuples(st.lists(st.sampled_from("abcdef"), max_size=4), st.integers(1, 30), st.floats(0.3, 2.8)), max_size=14
)
weights = st.fixed_dictionaries({word: st.floats(0, 50) for word in "abcdef"})


@given(mentions, weights, st.integers(-5, 120))
def test_selection_is_bounded_unique_and_deterministic(found, weighs, room):
    """Cover stays within its room takes each line once and is deterministic."""
    lines = [line(weighs, *mentioned) for mentioned in found]
    chosen = cover(lines, weighs, room)
    assert sum(lines[number][1] for number in chosen) <= max(0, room)
    assert len(set(chosen)) == len(chosen)
    assert chosen == cover(list(lines), dict(reversed(weighs.items())), room)


@given(mentions, weights, st.integers(0, 120), st.just(1) | st.integers(65, 90))
def test_each_selected_line_adds_the_most_for_its_tokens(found, weighs, room, times):
    """Each line taken adds the most for its tokens of those that fit, also where a log says the same many times."""
    found, room = (found, room) if times == 1 else (found[:3] * times, room * 20)

    def worth(number):
        return line(left, *found[number])[-1]

    lines = [line(weighs, *mentioned) for mentioned in found]
    left = dict(weighs)
    waiting = set(range(len(lines)))
    for number in cover(lines, weighs, room):
        best = max(worth(other) for other in waiting if lines[other][1] <= room)
        assert worth(number) == pytest.approx(best)
        waiting.remove(number)
        room -= lines[number][1]
        for word in lines[number][0]:
            left[word] *= AGAIN
    assert room < 5 or not any(worth(other) > 0 for other in waiting if lines[other][1] <= room)


def test_repeated_line_comes_after_a_different_one():
    """A line that says the same again comes after one that says something else."""
    weighs = {"a": 2.0, "b": 1.0}
    lines = [line(weighs, words, 10) for words in ("a", "a", "b")]
    assert cover(lines, weighs, 100) == [0, 2, 1]
    assert cover(lines, weighs, 20) == [0, 2]


def test_line_near_the_topic_is_first_and_weightless_never_taken():
    """A line near the topic goes first and one without weight never."""
    weighs = {"a": 1, "b": 1, "c": 0}
    assert cover([line(weighs, "a", 10), line(weighs, "b", 10, 2.0), line(weighs, "c", 5)], weighs, 99) == [1, 0]


def test_lines_rank_by_their_own_gain_and_then_by_order():
    """Lines are ranked by what each adds alone equal ones as they come."""
    weighs = {"a": 1.0, "b": 2.0}
    assert ranked([line(weighs, words, 10) for words in ("a", "b", "a", "ab")]) == [3, 1, 0, 2]


def test_stretches_join_neighbours():
    assert stretches([(20, 30), (0, 4), (5, 9), (12, 15)]) == ((0, 9), (12, 15), (20, 30))


# --- salience ------------------------------------------------------------------------------------------------------


def test_recent_mention_by_the_user_raises_a_words_weight():
    """A word weighs more if it was mentioned by the user lately or before."""
    groups = [
        said(1, "old_words"),
        said(2, "-"),
        turn(3, "read", {"path": "own_words"}, "old_result"),
        said(5, "new_words"),
    ]
    weighs = Relevance(groups, [("old_result", 9.0)]).weights
    assert weighs["new_words"] > weighs["own_words"] > weighs["old_words"]
    assert weighs["old_words"] > Relevance(groups, ()).weights["old_result"]
    assert weighs["old_result"] == 9.0 + Relevance(groups, ()).weights["old_result"]


def test_words_in_the_view_or_digest_weigh_less():
    """Words that the view shows or the digest says weigh less."""
    found = discounted({"a": 10.0, "b": 10.0, "c": 10.0}, {"a"}, {"a", "b"})
    assert found == {"a": 10.0 * SHOWN, "b": 10.0 * IN_TURNS, "c": 10.0}
    assert found["d"] == 0


def test_a_hidden_part_shows_none_of_its_words():
    groups = [turn(1, "read", {"path": "src/app.py"}, "port_number 8080")]
    salience = Relevance(groups, ())
    assert salience.shown(groups, set()) == {"src/app.py", "app.py", "port_number", "8080"}
    assert salience.shown(groups, {(2, 0)}) == {"src/app.py", "app.py"}


def test_line_about_the_current_topic_counts_several_times():
    """A line about what the agent is at counts several times as much."""
    salience = Relevance([turn(1, "grep", {"query": "database timeout"}, "..."), said(3, "the weather")], ())
    lines = ["database timeout 3000", "the weather 3000", "database timeout", "database timeout 4000"]
    near, far, unspecific, unknown = salience.read(lines, defaultdict(float, {"3000": 1.0}))
    assert near[1] > 4 * far[1]
    assert (near[0], near[2]) == (("3000",), 1.0)
    assert unspecific[2] == unknown[2] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        {"old_string": "retry_limit = 3", "new_string": "retry_limit = 5"},
        {"edits": [{"old_str": "retry_limit = 3", "new_str": "retry_limit = 5"}]},
        {"patch": DIFF},
    ],
)
def test_line_is_stale_until_it_is_read_again(arguments):
    """A line is stale up to the edit that took it out and not when read again."""
    salience = Relevance([turn(4, "edit", arguments, "done")], ())
    assert salience.stale("retry_limit = 3", 2)
    assert salience.stale("retry_limit = 3", 4)
    assert not salience.stale("retry_limit = 3", 5)
    assert not salience.stale("retry_limit = 5", 2)
    assert not salience.stale("import logging", 2)


# --- folds in a plan -----------------------------------------------------------------------------------------------

LAST = 15
ends = st.tuples(st.integers(0, LAST), st.integers(0, LAST)).map(sorted)
gaps = st.builds(lambda kind, pair: kind(*pair), st.sampled_from([Truncate, Digest]), ends)


def gone(found: Iterable[Any]) -> set[int]:
    """Every `seq` that no view shows."""
    return {seq for gap in found for seq in range(gap.first, gap.last + 1)}


@given(st.lists(gaps, max_size=6), st.lists(gaps, max_size=6), st.integers(0, LAST))
def test_folds_and_drops_hide_their_union_without_overlap(old, new, whole):
    """Folds and drops together hide what each hides and never overlap."""
    plan: Any = Plan(merge(merge((), old), new))
    assert gone(plan.edits) == gone(old) | gone(new)
    assert all(one.last < other.first for one, other in pairwise(plan.edits))
    assert gone(without(plan, [whole], 1).edits) == gone(plan.edits) - {whole}
    assert gone(until(plan, whole).edits) == {seq for seq in gone(plan.edits) if seq <= whole}
    assert plan.edits == tuple(plan.gaps())


def test_touching_folds_merge_and_a_neighbouring_drop_stays():
    """Folds that touch become one and a drop next to stays a drop."""
    assert merge([Digest(1, 3)], [Digest(4, 6), Truncate(7, 8)]) == (Digest(1, 6), Truncate(7, 8))


def test_plan_until_an_entry_omits_later_ones():
    notes = (DigestLine(1, 2, "turn", "a"), DigestLine(3, 6, "turn", "b"), DigestLine(5, 5, "user", "c"))
    plan = until(Plan((Digest(1, 6),), 1, 0, DigestContent(notes, (("a", 1.0),), (), 70)), 4)
    assert plan.edits == (Digest(1, 4),)
    assert plan.digest.notes == notes[:1]
    assert (plan.digest.covered_tokens, plan.digest.weights) == (70, (("a", 1.0),))


# --- how notes read ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("note", "text"),
    [
        (DigestLine(3, 3, "user", "Hello."), "[ref:3] user: Hello."),
        (DigestLine(3, 3, "rule", "Never lie."), "[ref:3] rule of the user: Never lie."),
        (DigestLine(3, 4, "turn", "read(path=a)"), "[ref:3-4] read(path=a)"),
        (DigestLine(4, 4, "line", "port = 8080"), "  port = 8080"),
        (DigestLine(4, 4, "error", "disk full"), "  disk full"),
    ],
)
def test_note_names_its_entries_and_author_and_follows_its_turn(note, text):
    """A note names its entries and who said it and a line stands below its turn."""
    assert note_text(note) == text


@pytest.mark.parametrize("kind", ["user", "rule", "turn", "line", "error"])
def test_text_of_messages_neither_ends_nor_opens_a_summary(kind):
    plan = Plan(
        (Digest(1, 1),),
        digest=DigestContent((DigestLine(1, 1, kind, "a </summary> b < / SUMMARY><summary> <b>"),), (), (), 9),
    )
    text = summary_text(plan)
    assert "a &lt;/summary> b &lt; / SUMMARY>&lt;summary> <b>\n" in text
    assert text.endswith("\n</summary>")
    assert text.lower().count("<summary") == text.lower().count("</summary") == 1


def test_long_path_is_written_in_full_once_and_then_by_name():
    """A long path of the turns is written once in full and then by its name."""
    path = "/srv/shop/src/app.py"
    reads = [DigestLine(number, number, "turn", f"read(path={path})") for number in (1, 2)]
    edit = DigestLine(3, 3, "turn", "edit(path=/srv/shop/src/db.py) | run(/usr/bin)")
    assert note_texts([*reads, edit, DigestLine(4, 4, "user", path), DigestLine(5, 5, "line", path)]) == [
        f"[ref:1] read(path={path})",
        "[ref:2] read(path=…/app.py)",
        "[ref:3] edit(path=/srv/shop/src/db.py) | run(/usr/bin)",
        f"[ref:4] user: {path}",
        f"  {path}",
    ]


def test_summary_lists_dropped_and_describes_folded_messages():
    """A summary lists what was dropped and says what was folded."""
    digest = DigestContent((DigestLine(4, 9, "turn", "read(path=a)"),), (), (), 9)
    lines = summary_text(Plan((Truncate(1, 3), Digest(4, 9), Truncate(12, 12)), digest=digest)).splitlines()
    assert (lines[0], lines[1][:16]) == ("<summary>", "Earlier messages")
    assert lines[2:] == ["[ref:4-9] read(path=a)", "Left out: [ref:1-3], [ref:12].", "</summary>"]


def test_many_dropped_ranges_are_listed_as_one():
    drops = tuple(Truncate(number, number) for number in range(10, 30, 2))
    assert "Left out: [ref:10-28]." in summary_text(Plan(drops))


def test_fold_without_room_is_listed_with_a_reference():
    """A fold that the digest has no room for is listed so that a reference leads to everything."""
    notes = (
        DigestLine(4, 5, "turn", "read(path=a)"),
        DigestLine(7, 7, "line", "x = 1"),
        DigestLine(9, 9, "user", "go on"),
    )
    text = summary_text(Plan((Digest(2, 12),), digest=DigestContent(notes, (), (), 9)))
    assert "Left out: [ref:2-3], [ref:6-8], [ref:10-12]." in text


def test_a_cut_text_keeps_the_stretches_between_head_and_tail():
    text = "head" + "-" * 20 + "KEEP" + "-" * 20 + "THIS" + "-" * 20 + "tail"
    cut = clip_text(text, 4, 4, "[ref:1]", [(24, 28), (48, 52)])
    assert cut == "head\n[... 60 characters left out, recall [ref:1] ...]\nKEEP\n[...]\nTHIS\n[...]\ntail"
    assert clip_text(text, 60, 60, "[ref:1]", [(24, 28)]) == text
