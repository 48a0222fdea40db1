"""Results that join no group: second ones, late ones, and those of unknown calls; and what is foreseen of them."""

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from backscroll.history.groups import ALONE, GroupIndex, GroupPreview, Late, rebuild_groups
from backscroll.messages import ParsedMessage, read_message, validated
from tests.builders import MessageFactory
from tests.profiles import examples

Message = dict[str, Any]
TALK = MessageFactory("openai")
HOOK = TALK.say("user", "a reminder", {"source": "hook"})


class Branch:
    """Messages as a session adds them: foreseen, then grouped."""

    def __init__(self) -> None:
        self.index = GroupIndex()
        self.readings: dict[int, ParsedMessage] = {}
        self.joins: dict[int, tuple[int, ...]] = {}
        self.late: dict[int, Late] = {}
        self.answered: set[tuple[int, int]] = set()
        self.groups: dict[int, Any] = {}

    def foreseen(self, messages: list[Message]) -> list[tuple[tuple[int, ...], Late]]:
        """What the next messages join, before any of them is added."""
        preview, first = GroupPreview(self.index), len(self.readings)
        found = []
        readings = [read_message(validated(message)) for message in messages]
        for seq, reading in enumerate(readings, first):
            joining = preview.of(seq, reading)
            calls = {**self.readings, **dict(enumerate(readings, first))}
            late = tuple(
                (index, "", False) if call is None else (index, calls[call].call_parts[number].name or "", False)
                for index, call, number in joining.late
            )
            found.append((joining.firsts, late))
        return found

    def add(self, *messages: Message) -> None:
        """Add messages in one append; what was foreseen is what happens."""
        expected = self.foreseen(list(messages))
        for message, (firsts, late) in zip(messages, expected, strict=True):
            seq, reading = len(self.readings), read_message(validated(message))
            reading = self.index.named(reading) if reading.by_name else reading
            own = {id(group): group.first for group in self.groups.values()}
            group, merged = self.index.add(seq, reading, late)
            joined = {group.first, *(each.first for each in merged)} if group.members != [seq] else set()
            assert joined == set(firsts)
            assert all(first in own.values() or first == group.first for first in firsts)
            orphans = [reading.results[index][1] for index, _, _ in late]
            assert group.orphans.get(seq, []) == orphans
            self.readings[seq], self.joins[seq], self.late[seq] = reading, tuple(sorted(firsts)), late
            self.groups |= dict.fromkeys(group.members, group)

    def shape(self) -> list[Any]:
        return [_shape(self.groups[seq]) for seq in sorted(self.groups)]


def _shape(group: Any) -> Any:
    return group.first, group.members, group.open_calls, group.answered, group.orphans, group.serving


def result(name: str) -> Message:
    return TALK.results([(name, f"of {name}")])[0]


def call(*names: str) -> Message:
    return TALK.call(list(names), "I look.", {"path": "a.py"})


def said(role: str) -> Message:
    return TALK.say(role, "so it is")


def branch(*messages: Message) -> Branch:
    found = Branch()
    for message in messages:
        found.add(message)
    return found


def test_second_result_joins_no_group():
    found = branch(said("user"), call("a"), result("a"), result("a"))
    assert [found.groups[seq].first for seq in range(4)] == [0, 1, 1, 3]
    assert found.groups[3].orphans == {3: [()]}
    assert found.late[3] == ((0, "", False),)  # no open call has its id


def test_late_result_joins_no_group_and_its_call_is_not_open():
    for between in ([said("user")], [said("assistant"), said("user")], [said("user"), HOOK]):
        found = branch(said("user"), call("a"), *between, result("a"))
        assert found.groups[1].members == [1]
        assert found.groups[1].open_calls == 1  # its placeholder stays
        assert not found.index.waits
        assert found.late[len(found.readings) - 1] == ((0, "run", False),)


def test_result_behind_a_hook_or_in_one_answer_joins_its_call():
    for between in ([HOOK], [HOOK, HOOK], [said("assistant")], [call("b"), result("b")]):
        found = branch(said("user"), call("a"), *between, result("a"))
        last = len(found.readings) - 1
        assert found.groups[last] is found.groups[1]
        assert found.late[last] == ()


def test_result_behind_one_shown_as_text_is_shown_as_text_too():
    """The user's text is a turn, so the model answers what comes before it."""
    found = branch(said("user"), call("a"), result("nobody"), result("a"))
    assert found.late[2] == ((0, "", False),)
    assert found.late[3] == ((0, "run", False),)


def test_result_of_a_call_that_a_request_showed_open_is_late():
    """For a lane that sent the placeholder, though nothing else came between."""
    index = GroupIndex(frozenset({(1, 0)}))
    readings = [
        read_message(validated(message)) for message in (said("user"), call("a", "b"), result("a"), result("b"))
    ]
    groups = [index.add(seq, reading)[0] for seq, reading in enumerate(readings)]
    assert groups[2].first == 2
    assert [(at, waiting.seq, waiting.number) for at, waiting in index.late] == []
    assert groups[2].orphans == {2: [()]}
    assert groups[3] is groups[1]
    assert groups[1].answered == {(1, 1)}


NAMES = ("a", "b", "c", "nobody")
_kinds = st.one_of(
    st.lists(st.sampled_from(NAMES[:3]), min_size=1, max_size=3).map(lambda names: ("call", names)),
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True).map(lambda names: ("results", names)),
    st.sampled_from(["user", "assistant", "hook", "search", "found"]).map(lambda kind: (kind, [])),
)
SERVER_CALL = {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}}
SERVER_RESULT = {"type": "web_search_tool_result", "tool_use_id": "srv", "content": []}


def made(talk: MessageFactory, kind: str, names: list[str]) -> list[Message]:
    if kind == "call":
        return [talk.call(names, "I look.", {})]
    if kind == "results":
        return talk.results([(name, f"of {name}") for name in names])
    if kind == "hook":
        return [talk.say("user", "a reminder", {"source": "hook"})]
    if kind in ("search", "found"):
        block = SERVER_CALL if kind == "search" else SERVER_RESULT
        return [{"role": "assistant", "content": [block]}] if talk.dialect == "anthropic" else []
    return [talk.say(kind, "so it is")]


@given(
    st.sampled_from(["openai", "anthropic", "gemini"]),
    st.lists(st.tuples(_kinds, st.booleans()), max_size=14),
    st.integers(1, 4),
)
@settings(max_examples=examples(300), deadline=None)
@example(  # two groups become one within an append
    "anthropic",
    [
        (("user", []), False),
        (("user", []), False),
        (("call", ["a"]), False),
        (("call", ["b", "c"]), False),
        (("results", ["a", "b"]), False),
        (("results", ["a", "c"]), False),
    ],
    2,
)
def test_group_preview_foresees_what_the_group_index_does(dialect, steps, together):
    """For any sequence, one message after the other and several in one append; and the groups are rebuilt alike."""
    talk, found = MessageFactory(dialect), Branch()
    messages = [message for (kind, names), _ in steps for message in made(talk, kind, names)]
    for start in range(0, len(messages), together):
        found.add(*messages[start : start + together])
    again = rebuild_groups(found.readings, found.joins, found.late)
    for seq, group in found.groups.items():
        one, other = group, again[seq]
        assert (one.first, one.members, one.answered, one.orphans) == (
            other.first,
            other.members,
            other.answered,
            other.orphans,
        )
    single = Branch()
    for message in messages:
        single.add(message)
    assert single.shape() == found.shape()
    assert (single.joins, single.late) == (found.joins, found.late)


def test_message_without_calls_or_results_joins_nothing():
    assert GroupPreview(GroupIndex()).of(0, read_message(said("user"))) == ALONE
