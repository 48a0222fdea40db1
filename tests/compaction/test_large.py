"""Large messages: how much of one is read. Counts, no clocks."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import ContextManager, ToolResultPreview
from backscroll.compaction.digest.stale_lines import removed_lines, written_values
from backscroll.compaction.digest.terms import ordinary_words, pieces, spans, specific_words
from backscroll.compaction.digest.user_rules import rules_in
from backscroll.compaction.sampling import READ, portions, sampled
from backscroll.compaction.verification import Evidence
from backscroll.messages import same_json
from tests.builders import ASKED, FETCH, entry_of, lines_of
from tests.fakes import count_quarter
from tests.long_run import usually
from tests.profiles import examples

SIZE = 12 * READ


def solid_of(size: int) -> str:
    return "".join(f"part_{number}/" for number in range(size // 8))[:size]


TEXTS = {
    "lines": lines_of,
    "solid": solid_of,
    "blank": lambda size: " " * size,
    "cjk": lambda size: "上下文" * (size // 3),
}


# -- how much is read --


@settings(max_examples=examples(60))
@given(st.integers(0, 40_000), st.text("ab \n", min_size=1, max_size=300), st.integers(2_000, 9_000))
def test_what_is_read_is_in_order_apart_and_bounded(size, pattern, most):
    text = (pattern * (size // len(pattern) + 1))[:size]
    found = portions(text, 0, len(text), most)
    assert all(start <= end for start, end in found)
    assert all(one[1] <= other[0] for one, other in pairwise(found))
    assert sum(end - start for start, end in found) <= most
    assert found[0][0] == 0
    assert found[-1][1] == len(text)
    assert (sampled(text, most) == text) == (len(text) <= most)


@pytest.mark.parametrize("kind", TEXTS)
def test_lines_and_words_are_read_of_a_bounded_part(kind):
    text = TEXTS[kind](SIZE)
    assert sum(end - start for start, end in spans(text)) <= READ
    assert sum(map(len, pieces(text))) <= READ
    assert sum(map(len, rules_in(text.replace("part", "never. Use")))) <= READ
    assert sum(map(len, ordinary_words(text))) <= READ
    assert len(specific_words(text)) <= READ // 5


def test_beginning_and_end_of_a_large_text_are_read():
    text = lines_of(SIZE)
    words = specific_words(text)
    last = text.rsplit("\n", 1)[1].split(" ")[0]
    assert {"line_0", "line_999", last} <= set(words)


def test_ordinary_texts_are_read_whole():
    text = lines_of(READ)[:READ]
    assert pieces(text) == [line.strip() for line in text.splitlines()]
    assert "".join(text[start:end] for start, end in spans(text)) == text.replace("\n", "")


def test_arguments_too_long_to_read_are_not_parsed():
    """Parsing holds every thread up; what such an edit took out is then not known."""
    old = lines_of(1_000)
    edit = {"old_string": old, "new_string": "", "rest": "x"}
    assert removed_lines(json.dumps(edit)) != set()
    large = json.dumps({**edit, "rest": "x" * READ})
    assert removed_lines(large) == set()
    assert written_values(large) == [large]


class Watched(str):
    """A text that notes how many of its characters were taken out of it or looked through."""

    __slots__ = ("read",)
    read: int

    def __new__(cls, text: str) -> "Watched":
        made = super().__new__(cls, text)
        made.read = 0
        return made

    def __hash__(self) -> int:
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other)

    def __getitem__(self, key: Any) -> str:
        found = super().__getitem__(key)
        self.read += len(found)
        return found

    def encode(self, *arguments: Any) -> bytes:
        self.read += len(self)
        return super().encode(*arguments)

    def lower(self) -> str:
        self.read += len(self)
        return super().lower()

    def split(self, *arguments: Any, **named: Any) -> list[str]:
        self.read += len(self)
        return super().split(*arguments, **named)

    def splitlines(self, *arguments: Any, **named: Any) -> list[str]:
        self.read += len(self)
        return super().splitlines(*arguments, **named)


STRATEGIES = [None, ["deduplicate"], ["excerpt"], ["clear"], ["digest"], ["importance"], ["truncate"]]


@pytest.mark.parametrize("names", usually(STRATEGIES, 2), ids=str)
@pytest.mark.parametrize("previews", [None, ToolResultPreview()], ids=["whole", "previews"])
def test_a_compaction_reads_a_bounded_part_of_a_message(names, previews):
    """Of results, arguments, a user's words and an answer alike."""
    given = {} if names is None else {"strategies": names}
    manager = ContextManager(tokenizer=count_quarter, budget=20_000, tool_result_preview=previews, **given)
    text = lines_of(SIZE)
    write = {"name": "write_file", "arguments": json.dumps({"path": "src/a.py", "content": text})}
    manager.append({"role": "user", "content": "go"})
    for number in range(2):
        call = {"id": f"w{number}", "type": "function", "function": write}
        read = {**FETCH, "id": f"r{number}"}
        manager.append(
            {"role": "user", "content": text},
            {"role": "assistant", "content": text, "tool_calls": [call, read]},
            {"role": "tool", "tool_call_id": f"w{number}", "content": "done"},
            {"role": "tool", "tool_call_id": f"r{number}", "content": text},
        )
    manager.append({"role": "user", "content": "and?"}, {"role": "assistant", "content": "Nothing more."})
    watched = []
    for seq in manager._session.history.branch.between(0, len(manager._session.history.branch)):
        reading = entry_of(manager, seq).reading
        reading.parts = tuple(part._replace(text=Watched(part.text)) for part in reading.parts)
        watched += [part.text for part in reading.parts if len(part.text) > READ]
    assert len(watched) == 8
    assert manager.compact() is not None
    assert max(text.read for text in watched) <= 6 * READ  # some strategies one after the other, and a digest


def test_large_arguments_are_stubs_where_they_would_be_cut():
    """What is left of cut arguments has to be valid JSON, so that they would have to be parsed."""
    manager = ContextManager(tokenizer=count_quarter, budget=40_000, strategies=["excerpt"])
    manager.append({"role": "user", "content": "go"})
    for number, size in enumerate((30_000, 2 * READ)):
        made = {"name": "write_file", "arguments": json.dumps({"path": f"src/{number}.py", "content": lines_of(size)})}
        call = {"id": f"w{number}", "type": "function", "function": made}
        manager.append(
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"w{number}", "content": "done"},
        )
    for number in range(20):
        manager.append(
            {"role": "assistant", "content": f"{number} {'and so on ' * 90}"}, {"role": "user", "content": "go"}
        )
    view = manager.get_messages_for_request()
    calls = [message["tool_calls"][0]["function"] for message in view if "tool_calls" in message]
    first, second = (json.loads(call["arguments"]) for call in calls)
    assert first["path"] == "src/0.py"
    assert list(second) == ["left_out"]
    assert "recall [ref:3.0]" in second["left_out"]


def test_a_superseded_large_result_has_to_stand_in_the_later_one():
    def rounds(old: str, new: str) -> str:
        manager = ContextManager(
            tokenizer=count_quarter, budget=2_000_000, strategies=["deduplicate"], target_usage=0.01
        )
        manager.append({"role": "user", "content": "go"})
        for number, text in enumerate((old, new, "x", "y")):
            named = {"name": "read", "arguments": json.dumps({"path": "a.log" if number < 2 else "b", "at": number})}
            call = {"id": f"r{number}", "type": "function", "function": named}
            manager.append(
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": f"r{number}", "content": text},
            )
        manager.append({"role": "assistant", "content": "so " * 2_000_000}, {"role": "user", "content": "go on"})
        manager.compact()
        return manager.view()[2]["content"]

    text = lines_of(2 * READ)
    assert rounds(text, f"{text}\nand one more line").startswith("[tool result of")
    assert rounds(text, f"other {text[5:]}") == text


def test_a_summary_is_checked_against_a_bounded_part():
    manager = ContextManager(tokenizer=count_quarter)
    middle = "the word zanzibar_9 stands in the middle of all this"
    text = f"begin_1 {'x ' * SIZE}\n{middle}\n{'y ' * SIZE} end_1"
    manager.append({"role": "user", "content": "go"}, ASKED, {"role": "tool", "tool_call_id": "c1", "content": text})
    evidence = Evidence([[entry_of(manager, 2)]])
    assert evidence.names("begin_1")
    assert evidence.names("end_1")
    assert len(evidence._text) < 5 * READ


# -- comparing --

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, -0.0, 1.0, 2.5]) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=examples(200))
@given(JSON, JSON)
def test_the_same_json_is_what_is_written_the_same(one, other):
    def written(value: object) -> str:
        return json.dumps(value, sort_keys=True)

    assert same_json(one, other) == (written(one) == written(other))
    assert same_json(one, json.loads(json.dumps(one)))
