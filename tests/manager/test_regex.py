"""Patterns that a model writes: what they find, and that no pattern can hold up everything or fill the memory."""

import dataclasses
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll import ConfigurationError, ContextManager
from backscroll.manager.regex import LONGEST, LimitedPattern, nodes
from tests.fakes import count_quarter

ENDLESS = "^(a|aa)*$"
VICTIM = f"{'a' * 60} and more"


def manager(*texts):
    made = ContextManager(tokenizer=count_quarter)
    made.append(*({"role": "user", "content": text} for text in texts))
    return made


def impatient(pattern):
    return LimitedPattern(pattern, limit=0.05)


@given(st.text(alphabet="ab.|()[]*+?\\d1{},^$ \n", max_size=12), st.text(alphabet="ab1.\n", max_size=30))
def test_what_python_finds_is_found(pattern, line):
    try:
        expected = re.search(pattern, line) is not None
    except (re.error, OverflowError, FutureWarning):
        return
    try:
        found = LimitedPattern(pattern)
    except ConfigurationError:  # the two differ in what they refuse, hardly ever in what they find
        return
    assert found.finds(line) is expected


def test_endless_pattern_is_stopped_and_stays_refused():
    """A pattern that would take for ever is stopped and stays so."""
    pattern = LimitedPattern(ENDLESS, limit=0.05)
    for _ in range(2):
        with pytest.raises(ConfigurationError, match=r"was stopped after 0\.05 seconds, at line 1: write it without"):
            pattern.finds(VICTIM)


def test_time_is_counted_over_all_lines():
    pattern = LimitedPattern(ENDLESS, limit=0.2)
    with pytest.raises(ConfigurationError, match="takes too long"):
        any(pattern.finds("a" * 22 + "b") for _ in range(100_000))


def test_patterns_that_do_no_harm_are_never_stopped():
    pattern = LimitedPattern(r"(?i)\berror\b.*\d{3}", limit=1)
    assert sum(pattern.finds(f"line {number}: Error {number % 1_000:03}") for number in range(2_000)) == 2_000


def test_search_of_many_lines_is_stopped_in_time():
    """A pattern that needs little for each line is stopped all the same: the session's lock is held meanwhile."""
    found = manager("\n".join(map(str, range(400_000))))
    found._opened = dataclasses.replace(found._opened, compile=lambda pattern: LimitedPattern(pattern, limit=0.1))
    start = time.process_time()
    with pytest.raises(ConfigurationError, match=r"stopped after 0.1 seconds, at line \d\d,\d+: .* by a `ref` such as"):
        found.recall(pattern="nothing")
    assert time.process_time() - start < 0.7  # splitting the text into lines is not counted


def test_bad_pattern_is_explained_to_the_model():
    found = manager(VICTIM)
    found._opened = dataclasses.replace(found._opened, compile=impatient)
    _, call = found.recall_tool()
    assert "takes too long" in call(pattern=ENDLESS)
    assert call(pattern="a and").endswith(f"{VICTIM}\n")


@pytest.mark.parametrize(
    "pattern",
    [
        "((a{1000}){1000}){1000}",
        "(?:(?:(?:ab){1000,}){1000,}){1000,}",
        "(?x)((a{1000}) # comment\n {1000}) {1000}",
        "((a{1000})(?#comment){1000})",
        "(ab){" + "9" * 4_900 + "}",
        "(a(?R)?)*",
        "(?P<x>a(?&x)?)*",
        "(a(?1)?)*",
        "(" * 4_000,
        "a" * (LONGEST + 1),
        "[a",
        r"\p{Nothing}",
        r"\L<names>",
    ],
)
def test_what_would_fill_the_memory_or_is_no_pattern_is_refused(pattern):
    with pytest.raises(ConfigurationError, match="is no regular expression"):
        LimitedPattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "most"),
    [
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", 36),
        (r"^\s*(?:INFO|WARN|ERROR)\s.{0,2000}timeout(?:\s\d{1,3}){4}", 100),
        (r"(?:(?:\d{4}-){20}){3}", 500),
        (r"[(]{3}\({2}", 5),
    ],
)
def test_ordinary_repetitions_are_not_taken_for_large_ones(pattern, most):
    assert nodes(pattern) <= most
    LimitedPattern(pattern)


def test_the_syntax_is_that_of_python_with_more():
    found = manager("naïve café\nplain", "x = 1\ny = 22")
    assert [hit.text for hit in found.recall(pattern=r"\p{L}+é\b").hits] == ["naïve café"]
    assert [hit.text for hit in found.recall(pattern=r"(?P<name>\w) = (?P<value>\d{2})").hits] == ["y = 22"]
