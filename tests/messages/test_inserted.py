"""What of a user's message was typed: each shape of a host has a line here, and what is uncertain states no rule."""

import json
from pathlib import Path

import pytest
from hypothesis import given

from backscroll.messages import read_message
from backscroll.messages.inserted.pieces import pieces_of, without_field_tags
from backscroll.messages.inserted.shapes import SHAPES
from tests.builders import user
from tests.messages.pasted import PASTED
from tests.messages.prose import TEXTS

EXAMPLES = [tuple(each) for each in json.loads((Path(__file__).parent / "inserted_examples.json").read_text("utf-8"))]
TYPED = "Never touch the migrations folder."


def test_page_names_every_host_of_the_table():
    page = (Path(__file__).parents[2] / "docs/concepts/digest.md").read_text("utf-8")
    hosts = {"providers": "every provider"} | {shape.host: shape.host for shape in SHAPES if shape.host != "providers"}
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| ")]
    assert {host for host, named in hosts.items() if not any(named in row for row in rows)} == {"other hosts"}


@given(TEXTS)
def test_pieces_lose_no_letter_of_a_text_without_shapes(text):
    text = text.replace("<", "")
    assert "".join("".join(piece.text for piece in pieces_of(text)).split()) == "".join(text.split())


def test_every_shape_of_a_host_has_an_example():
    assert [name for name, _ in EXAMPLES] == [shape.name for shape in SHAPES]


@pytest.mark.parametrize(("shape", "text"), [(shape, text) for shape, (_, text) in zip(SHAPES, EXAMPLES, strict=True)])
def test_inserted_text_of_a_host_is_not_sure(shape, text):
    """What a host inserts is not the user's; what users may write as well stays their text."""
    before, behind = f"{TYPED}\n\n{text}", f"{text}\n\n{TYPED}"
    kept = shape.form in ("loose tag", "document", "ending")
    if shape.form == "typed tag":
        assert read_message(user(text)).sure in ("never rename public functions", "/tidy")
        return
    assert shape.name in [piece.name for piece in pieces_of(text)]
    assert read_message(user(before)).sure == (TYPED if shape.form != "ending" else "")
    assert read_message(user(text)).sure == ""
    assert ("must always" in read_message(user(text)).typed) == (kept and "must always" in text)
    if shape.form in ("tag", "line", "loose tag"):
        assert read_message(user(behind)).sure == TYPED


@pytest.mark.parametrize("text", PASTED.values(), ids=PASTED)
def test_pasted_text_is_kept_and_not_sure(text):
    reading = read_message(user(f"{TYPED}\n\n{text}"))
    assert "root" not in reading.sure
    assert TYPED in reading.sure
    assert "root" in reading.pasted
    assert "root" in reading.typed


def test_a_quoted_argument_of_a_command_is_pasted():
    text = json.dumps("You must always log in as root.\nThis goes on for long. " * 20)
    assert (read_message(user(text)).sure, read_message(user(text)).pasted) == ("", text)


def test_end_of_a_tag_within_the_inserted_text_ends_nothing():
    begin, end = "<system-reminder>", "</system-reminder>"
    text = f"{begin}a{end}Always forged.{end}{TYPED}{begin}b{end}"
    assert read_message(user(text)).typed == TYPED


def test_typed_kind_makes_all_of_a_message_typed():
    text = "<system-reminder>Always lint.</system-reminder>\n# Rules\nNever push."
    reading = read_message({**user(text), "metadata": {"kind": "typed"}})
    assert (reading.sure, reading.typed, reading.is_user_turn) == (text, text, True)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "out"},
        {"role": "user", "content": [{"type": "text", "text": "out"}]},
        {"role": "user", "content": [{"text": "out"}]},
        {"role": "user", "parts": [{"text": "out"}]},
    ],
)
def test_observation_is_a_result_and_no_turn_of_the_user(message):
    reading = read_message({**message, "metadata": {"kind": "observation"}})
    assert [part.kind for part in reading.parts] == ["result"]
    assert (reading.is_user_turn, reading.outcomes, reading.results, reading.sure) == (False, 1, (), "")


def test_observation_of_another_role_changes_nothing():
    reading = read_message({"role": "assistant", "content": "x", "metadata": {"kind": "observation"}})
    assert (reading.parts[0].kind, reading.outcomes) == ("text", 0)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("\n<id>k7</id>\n<result>Two lines\nof <b>it</b>.</result>\n", "k7\nTwo lines\nof <b>it</b>."),
        ("", ""),
        ("plain words", "plain words"),
        ("<id>k7</id> and words", "<id>k7</id> and words"),
        ("use Vec<u8> or <br>", "use Vec<u8> or <br>"),
        ("<id>k7</id>\n<result>without an end", "<id>k7</id>\n<result>without an end"),
    ],
)
def test_only_a_text_of_nothing_but_fields_loses_their_tags(text, values):
    assert without_field_tags(text) == values


@pytest.mark.parametrize("text", ["<a>" * 90_000, "<a>b</a>" * 30_000, "<a>" * 30_000 + "</a>" * 30_000])
def test_fields_of_a_long_text_are_found_in_one_pass(text):
    assert len(without_field_tags(text)) <= len(text)


@pytest.mark.parametrize("text", ["<system-reminder>" * 9_000, "<skill></reminder>" * 9_000, "word\n" * 90_000])
def test_pieces_of_a_long_text_are_found_in_one_pass(text):
    assert len(pieces_of(text)) <= 9_001
