"""The frames of hosts around results: each has a line here."""

import json
from pathlib import Path

import pytest

from backscroll.messages.deeds import without_envelope
from backscroll.messages.deeds.envelopes import unframed, unnumbered
from backscroll.messages.deeds.frames import FILE_NUMBERS, FRAMES, NUMBERS

EXAMPLES = json.loads(Path(__file__).with_name("frame_examples.json").read_text("utf-8"))
ROWS = [(row.host, row.form) for row in FRAMES] + [(host, "number") for host, _, _ in NUMBERS]


def test_every_frame_of_a_host_has_an_example():
    assert [(host, form) for host, form, *_ in EXAMPLES] == ROWS
    assert len({host for host, *_ in ROWS}) >= 9


@pytest.mark.parametrize(("text", "body", "code", "running"), [row[2:] for row in EXAMPLES])
def test_frame_is_taken_off(text, body, code, running):
    assert without_envelope(text) == (body, code, running)


@pytest.mark.parametrize(
    ("text", "body"),
    [("1: rate\n2: tax", "rate\ntax"), ("7. rate\n8. \n9. tax", "rate\n\ntax"), ("  3:rate\n  4:tax", "rate\ntax")],
)
def test_numbers_of_a_file_are_taken_off_only_there(text, body):
    assert len(FILE_NUMBERS) == len(NUMBERS) + 3
    assert unnumbered(text) == body
    assert without_envelope(text)[0] == text


def test_numbers_that_do_not_count_up_stay():
    assert unnumbered("3: rate\n9: tax\n4: sum") == "3: rate\n9: tax\n4: sum"


def test_a_frame_inside_a_result_stays():
    text = "Exit code 1\nfirst\nExit code 2\nlast"
    assert without_envelope(text) == ("first\nExit code 2\nlast", 1, "")


def test_codes_of_a_terminal_are_taken_off():
    text = "\x1b[1m\x1b[31mFAIL\x1b[0m a \x1b]0;title\x07b [32mc[39m rate(x[5m])"
    assert without_envelope(text)[0] == "FAIL a b c rate(x[5m])"


def test_result_inside_json_has_output_and_exit_code():
    assert without_envelope('{"output":"rate","metadata":{"exit_code":3}}') == ("rate", 3, "")
    assert without_envelope('{"output":"rate","a":1,"b":2,"c":3}')[0].startswith('{"output"')


def test_nested_and_open_reminders():
    begin, end = "<system-reminder>", "</system-reminder>"
    assert without_envelope(f"rate = 8\n{begin}\nKeep the list.\n{end}")[0] == "rate = 8"
    assert without_envelope(f"a {begin}x{begin}y{end} b")[0] == "a  b"
    assert without_envelope(f"a {begin}x")[0] == f"a {begin}x"


def test_frame_names_the_file():
    assert unframed("[File: /testbed/rate.py (9 lines total)]\nrate").file == "/testbed/rate.py"


def test_only_the_ends_of_a_long_result_are_read():
    text = "Exit code 3\n" + "x" * 500_000 + "\n<shellId: 1 completed with exit code 4>"
    body, code, _ = without_envelope(text)
    assert code == 4
    assert len(body) <= 40_010
