"""The made-up chat of the benchmarks is the same each time, and its measurement finds what is kept."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def measured(*arguments):
    """Rows of the benchmark: its words and figures."""
    command = [sys.executable, "-W", "ignore", str(BENCHMARKS / "chats.py"), "--budgets", "2000", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return [line.split() for line in done.stdout.splitlines()[1:]]


@pytest.mark.long
def test_chat_of_a_seed_is_measured_the_same_twice():
    arguments = ("--lengths", "60", "--seed", "7")
    assert measured(*arguments) == measured(*arguments)
    assert measured(*arguments) != measured("--lengths", "60", "--seed", "8")


@pytest.mark.long
def test_facts_of_a_chat_are_found_and_not_stale():
    """The targets: 90 % of the current facts found, under 5 % of the replaced ones shown as current."""
    rows = {row[0]: [float(figure) for figure in row[4:]] for row in measured("--lengths", "400", "--seed", "9")}
    in_view, found, stale, false_marks, rules, tokens = rows["ours"]
    assert found >= 90
    assert stale < 5
    assert false_marks == 0
    assert rules == 100
    assert tokens <= 2_000
    assert in_view > rows["window"][0]
    assert rows["window"][1] < 50


@pytest.fixture
def chats(monkeypatch):
    """The module of the benchmark, which lives outside the packages."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import chats

    yield chats
    for name in [
        name for name in sys.modules if name.split(".")[0] in ("chats", "chat_facts", "chat_phrasings", "peers")
    ]:
        del sys.modules[name]


class Recalling:
    """A contender whose recall answers the same each time."""

    def __init__(self, answer):
        self.answer = answer

    def search(self, question):
        return self.answer


def fact(chats, *values):
    made = chats.Fact("Ida", ("Ida",), None, "code", list(values))
    made.question = "What is Ida's code?"
    return made


def shares(chats, view, answer, *values):
    return chats.measure(Recalling(answer), [{"role": "user", "content": view}], [fact(chats, *values)], seed=1)


def test_a_value_counts_only_with_its_subject_in_one_line(chats):
    assert shares(chats, "Ida's code is K7X.", None, "K7X").in_view == 100
    assert shares(chats, "Ida's code changed.\nMilo's is K7X.", None, "K7X").in_view == 0
    assert shares(chats, "Ida's code is K7XY.", None, "K7X").in_view == 0
    assert shares(chats, "Ida's code is YK7X.", None, "K7X").in_view == 0


def test_what_a_recall_brings_is_found_and_not_in_view(chats):
    found = shares(chats, "Nothing.", "[ref:3] Ida's code is K7X.\n", "K7X")
    assert (found.in_view, found.found) == (0, 100)
    assert shares(chats, "Nothing.", "Milo's is K7X.\nIda is well.", "K7X").found == 0


def test_an_old_value_is_stale_unless_marked_or_replaced(chats):
    assert shares(chats, "Ida's code is OLD.", None, "OLD", "NEW").stale == 100
    assert shares(chats, "Ida's code is OLD (replaced by a later one).", None, "OLD", "NEW").stale == 0
    assert shares(chats, "Ida's code is OLD.\nIda's code is NEW.", None, "OLD", "NEW").stale == 0
    assert shares(chats, "Nothing.", "[ref:3] Ida's code is OLD.\n", "OLD", "NEW").stale == 100
