"""What hosts and programs add to a result for their own use, and the result without it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.messages.clutter import LONGEST, code_spans, cut_spans, reminders_of, tidied, tidy_spans

REMINDER = "<system-reminder>\nLook twice at each file before you change it.\n</system-reminder>"
FILE = "".join(f"{number:>6}→def step_{number}(order):\n" for number in range(97, 125))
HITS = "".join(f"shop/cart/totals.py:{number}:    total += item[{number}]\n" for number in range(7))
AROUND = "".join(f"shop/cart/totals.py{sign}{number}{sign}  x = 1\n" for number, sign in enumerate("-:-:-:"))
COLOURED = "".join(f"\x1b[32m✓\x1b[39m total rounds \x1b[2m{number} ms\x1b[22m\n" for number in range(9))
FRAMED = (
    "Chunk ID: 4be1a0\nWall time: 0.2000 seconds\nProcess exited with code 1\nOriginal token count: 12\nOutput:\n"
    "1 failed\n"
)


def shown(text, newer=()):
    """What remains of a text, without the mark."""
    return "".join(text[start:end] for start, end in tidy_spans(text, newer))


def test_a_reminder_leaves_where_a_newer_result_has_it():
    text = f"total = 1\n\n{REMINDER}\n"
    assert reminders_of(text) == [REMINDER]
    assert shown(text, {REMINDER}) == "total = 1\n\n\n"
    assert tidy_spans(text) == ()


def test_codes_of_a_terminal_leave():
    assert shown(COLOURED) == "".join(f"✓ total rounds {number} ms\n" for number in range(9))


def test_a_drawn_rule_becomes_short():
    assert shown(f"{'⎯' * 70} 1 failed\n") == "⎯⎯⎯ 1 failed\n"


def test_lines_of_a_frame_leave_but_not_the_exit_code():
    assert shown(FRAMED) == "Process exited with code 1\n1 failed\n"


def test_of_ten_numbers_of_lines_one_stays():
    lines = shown(FILE + f"\n{REMINDER}\n").splitlines()
    assert lines[0] == "    97→def step_97(order):"
    assert lines[1] == "def step_98(order):"
    assert lines[3] == "   100→def step_100(order):"


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"{number * 7:>6}→total\n" for number in range(30)),
        "".join(f"{number}\torder {number}\n" for number in range(30)),
        "1→2 is one step\n" + "The order is paid once.\n" * 20,
        "Nothing to leave out here. " * 20,
        '{"text": "' + "\x1b[32m" * 40 + '"}',
        FILE * (LONGEST // len(FILE) + 1),
    ],
    ids=["a table", "a table by tabs", "one number", "prose", "JSON", "too long"],
)
def test_what_is_no_clutter_stays(text):
    assert tidy_spans(text) == ()


@pytest.mark.parametrize("text", [HITS, AROUND])
def test_a_path_before_each_hit_stays_once(text):
    assert shown(text).count("shop/cart/totals.py") == 1
    assert shown(text).count("\n") == text.count("\n")


def test_hits_in_another_file_name_it():
    text = HITS + HITS.replace("totals", "rates")
    assert shown(text).count("shop/cart/rates.py:0:") == 1


def test_a_tidy_text_says_what_it_left_out():
    text = tidied(COLOURED, tidy_spans(COLOURED), "[ref:4.0]", lead=": recall ")
    assert text.endswith("8 ms\n[... frames and repetitions left out: recall [ref:4.0] ...]")


def test_a_tidy_text_is_cut_between_its_ends():
    """At the ends of lines."""
    text = tidied(COLOURED, cut_spans(COLOURED, tidy_spans(COLOURED), 30, 30), "[ref:4.0]")
    assert text.startswith("✓ total rounds 0 ms\n[... ")
    assert text.endswith(" ...]\n✓ total rounds 8 ms\n")
    assert text.count("[...") == 1


def test_codes_leave_alone():
    text = COLOURED + "⎯" * 70
    assert "".join(text[start:end] for start, end in code_spans(text)).endswith("8 ms\n" + "⎯" * 70)
    assert code_spans(HITS) == ()


@given(st.text(st.sampled_from("a:1→\n\x1b[m -x.py/⎯"), max_size=400), st.integers(0, 300), st.integers(0, 300))
def test_ranges_ascend_within_the_text(text, head, tail):
    kept = tidy_spans(text)
    for spans in (kept, cut_spans(text, kept, head, tail)):
        flat = [at for span in spans for at in span]
        assert flat == sorted(flat)
        assert all(0 <= at <= len(text) for at in flat)
