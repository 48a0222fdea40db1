"""JSON cut to some of its values is valid JSON, and holds nothing but these and marks."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.messages.structure import cut_json, pieces_of
from backscroll.messages.structure.json_tree import DEEPEST, MOST, json_tree
from tests.present import present
from tests.views import is_cut_of, json_as_written

REF = "[ref:7.0]"
WORDS = st.text(st.characters(codec="utf-8", exclude_characters=".["), max_size=12)
LONG = st.lists(st.sampled_from(["plain", "\n", "\\", '"', "é", "\U0001f600", "\\n", "\\u00e9", " "]), max_size=90).map(
    "".join
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS | LONG
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(WORDS, inner, max_size=5), max_leaves=40
)
DOCUMENTS = st.lists(VALUES, min_size=1, max_size=5) | st.dictionaries(WORDS, VALUES, min_size=1, max_size=5)


@st.composite
def texts(draw):
    """JSON as tools write it: in one line or printed, escaped or not."""
    style = draw(st.sampled_from([{}, {"indent": 2}, {"indent": "\t"}, {"separators": (",", ":")}]))
    return json.dumps(draw(DOCUMENTS), ensure_ascii=draw(st.booleans()), **style)


@st.composite
def ranges(draw, text):
    """Any ascending, disjoint ranges: half of them at the borders of values."""
    pieces = (
        draw(st.lists(st.sampled_from(present(pieces_of(text)).pieces), max_size=4))
        if present(pieces_of(text)).pieces
        else []
    )
    free = draw(st.lists(st.tuples(*[st.integers(0, len(text))] * 2).map(sorted), max_size=3))
    found = []
    for start, end in sorted([(piece.start, piece.end) for piece in pieces] + [tuple(pair) for pair in free]):
        if start < end and (not found or found[-1][1] <= start):
            found.append((start, end))
    return found


@given(st.data())
def test_json_cut_anywhere_is_valid_and_of_the_original(data):
    text = data.draw(texts())
    cut = present(cut_json(text, 0, 0, data.draw(ranges(text)), REF))
    assert is_cut_of(json_as_written(cut), json_as_written(text))
    cut.encode()  # no half of a character


@given(st.data())
def test_json_cut_to_a_piece_holds_it(data):
    text = data.draw(texts())
    pieces = present(pieces_of(text)).pieces
    if pieces:
        piece = data.draw(st.sampled_from(pieces))
        inside = text[piece.start : piece.end]
        cut = present(cut_json(text, 0, 0, [(piece.start, piece.end)], REF))
        assert inside in cut or piece.end - piece.start > 100  # a part of a long string may end before an escape


@given(texts())
def test_json_pieces_together_hold_each_scalar(text):
    """Nothing is lost by splitting, and no two pieces overlap."""
    tree, pieces = present(json_tree(text)), present(pieces_of(text)).pieces
    assert all(one.end <= other.start for one, other in pairwise(pieces))
    covered = {at for piece in pieces for at in range(piece.start, piece.end)}
    leaves = [number for number in range(1, len(tree)) if tree.is_leaf(number)]
    for number in leaves:
        assert all(at in covered for at in range(tree.values[number] + 1, tree.ends[number] - 1))


@given(texts())
def test_json_cut_to_all_of_it_is_unchanged(text):
    assert cut_json(text, 0, 0, [(0, len(text))], REF) == text


@given(st.data())
def test_json_lines_cut_are_json_lines(data):
    rows = data.draw(st.lists(st.dictionaries(WORDS, SCALARS, max_size=4), min_size=2, max_size=5))
    text = "\n".join(map(json.dumps, rows))
    cut = present(cut_json(text, 0, 0, data.draw(ranges(text)), REF))
    assert is_cut_of(
        [json_as_written(line) for line in cut.splitlines()], [json_as_written(line) for line in text.splitlines()]
    )


def test_json_cut_says_what_is_left_out_and_where_it_is():
    rows = [{"id": number, "name": f"row {number}", "note": "x" * 30} for number in range(40)]
    text = json.dumps({"rows": rows, "status": "ok", "cursor": None})
    at = text.index('{"id": 1,')
    cut = json.loads(present(cut_json(text, 0, 0, [(at, text.index(', {"id": 2,'))], REF)))
    first, kept, more = cut["rows"]
    assert first.startswith("... 1 item left out; ")
    assert first.endswith(f" characters in all, recall {REF}")
    assert (kept, more) == (rows[1], "... 38 more like this")
    assert cut["..."] == "left out: status, cursor"


def test_json_cut_names_the_keys_of_a_shape_once():
    text = json.dumps([{"id": number, "name": "row", "note": "x"} for number in range(3)])
    spots = [text.index(f'"id": {number}') for number in range(3)]
    cut = json.loads(present(cut_json(text, 0, 0, [(at, at + 7) for at in spots], REF)))
    assert cut[0]["..."].startswith("left out: name, note; ")
    assert [each["..."] for each in cut[1:]] == [2, 2]


def test_json_with_a_key_of_three_dots_keeps_it():
    text = json.dumps({"...": 1, "a": 2, "b": 3})
    cut = present(cut_json(text, 0, 0, [(1, 9)], REF))
    assert json.loads(cut) == {"...": 1, "....": f"left out: a, b; {len(text) - 8} characters in all, recall {REF}"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1, 2",
        '{"a": 1,}',
        "[1 2]",
        '{"a" 1}',
        '{"a": 01}',
        '{"a": NaN}',
        '["\t"]',
        "[1] [2]",
        "1\n2",
        '{"a": "\\x"}',
        "plain",
    ],
)
def test_json_tree_of_something_else_is_none(text):
    assert json_tree(text) is None
    assert cut_json(text, 0, 0, [], REF) is None


def test_json_between_other_lines_is_found():
    text = 'Result:\n{"id": 12, "rows": [1, 2, 3]}\nexit code 0'
    found = present(pieces_of(text))
    assert (text[: found.head], text[len(text) - found.tail :]) == ("Result:\n", "\nexit code 0")
    cut = present(cut_json(text, found.head, found.tail, [(9, 17)], REF))
    assert cut.startswith('Result:\n{"id": 12,')
    assert cut.endswith("\nexit code 0")


@pytest.mark.parametrize("inside", ["\\ud83d\\ude00", "\\n", "\\\\", "\\u00e9"])
def test_json_string_cut_within_an_escape_ends_before_it(inside):
    """Wherever in it the cut is, also between the two escapes of one character."""
    text = f'["some words{inside} and more"]'
    for end in range(13, 12 + len(inside)):
        (cut,) = json.loads(present(cut_json(text, 0, 0, [(0, end)], REF)))
        assert cut.startswith("some words\n[... ")


def test_json_nested_without_end_is_cut_at_a_depth():
    text = '{"a":[' * 5_000 + "1" + "]}" * 5_000
    assert len(present(json_tree(text))) <= DEEPEST + 1
    assert json.loads(present(cut_json(text, 0, 0, [(0, 3)], REF)))["..."].startswith("left out: a; ")


def test_json_of_ten_megabytes_is_read_in_part():
    text = json.dumps([{"id": number, "name": "x" * 80} for number in range(100_000)])
    found = present(pieces_of(text))
    assert found.pieces[-1].end < MOST + 100
    cut = json.loads(present(cut_json(text, 0, 0, [(found.pieces[0].start, found.pieces[0].end)], REF)))
    assert cut[0]["id"] == 0
    assert cut[-1] == "... the rest left out"


def test_json_with_one_huge_string_is_cut_within():
    text = json.dumps({"stdout": "line of output\n" * 100_000, "code": 0})
    piece = present(pieces_of(text)).pieces[3]
    cut = json.loads(present(cut_json(text, 0, 0, [(piece.start, piece.end)], REF)))
    assert "line of output\n" in cut["stdout"]
    assert len(cut["stdout"]) < 300
