"""Names taken apart: the words of a text and the terms of a query."""

import pytest

from backscroll.recall.names import folded, parts, spaced, spellings, terms


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("getUserId", ["getUserId", "get", "User", "Id"]),
        ("get_user_id", ["get_user_id", "get", "user", "id"]),
        ("HTTPServer", ["HTTPServer", "HTTP", "Server"]),
        ("os.path", ["os", "path", "os path"]),
        ("w/x/z.py", ["w", "x", "z", "py", "w x z py", "z py", "x z py"]),
        ("plain words", ["plain", "words"]),
        ("Case 15: case", ["Case", "15", "case", "Case 15"]),
        ("of 15, by 7", ["15", "7"]),
        ("port: 80", ["port", "80"]),
        ("?! --", []),
        ("数据", ["数", "据"]),
    ],
)
def test_terms_of_a_name_are_the_whole_and_its_parts(query, expected):
    assert terms(query) == expected


def test_terms_leave_out_function_words_if_there_are_others():
    assert terms("What is the port of this server?") == ["port", "server"]
    assert terms("to be or not to be") == ["to", "be", "or", "not"]


def test_terms_of_a_long_query_are_bounded():
    assert len(terms(" ".join(f"word{number}" for number in range(500)))) == 96


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("shoe", ("shoe", "shoes")),
        ("shoes", ("shoes", "shoe")),
        ("class", ("class",)),
        ("status", ("status",)),
        ("has", ("has",)),
        ("b2b3", ("b2b3",)),
        ("get user", ("get user",)),
        ("größe", ("größe",)),
    ],
)
def test_spellings_of_a_plain_word_are_both_numbers(term, expected):
    assert spellings(term) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("const getUserId = 1", ["get", "user", "id"]),
        ('{"new": "a\\nreturn b"}', ["return"]),
        ("get_user_id src/app", []),  # an index finds these by itself
    ],
)
def test_parts_are_what_an_index_does_not_find_itself(text, expected):
    assert folded(parts(text)) == expected


def test_folded_words_have_no_case_accents_or_underscores():
    assert folded("Crème_Brûlée STRASSE") == ["creme", "brulee", "strasse"]
    assert folded(spaced("日本語")) == ["日", "本", "語"]
