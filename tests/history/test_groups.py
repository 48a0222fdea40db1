"""Which messages travel together: groups by call id, and a model test against a naive way of finding them."""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from backscroll.history.groups import GroupIndex, MessageGroup
from backscroll.messages import read_message, validated
from tests.builders import assistant, tool, user


def calls(*names: str) -> dict[str, Any]:
    listed = [{"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}} for name in names]
    return assistant(None, tool_calls=listed)


def answers(*names: str, text: str | None = None) -> dict[str, Any]:
    """One user message that answers several calls."""
    blocks = [{"toolResult": {"toolUseId": name, "content": []}} for name in names]
    return user(*blocks, *([{"text": text}] if text else []))


SAID: dict[str, Any] = {"role": "user", "content": "and?"}


def grouped(*messages: dict[str, Any]) -> list[MessageGroup]:
    """The groups of a conversation, in order; `seq`s count from 10, so that they are never list positions."""
    turns, found = GroupIndex(), dict[int, MessageGroup]()
    for seq, message in enumerate(messages, 10):
        group, merged = turns.add(seq, read_message(validated(message)))
        found[group.first] = group
        for other in merged:
            assert found.get(other.first) is not group
            found.pop(other.first, None)
    return [found[first] for first in sorted(found)]


def members(*messages: dict[str, Any]) -> list[list[int]]:
    return [group.members for group in grouped(*messages)]


def test_messages_without_calls_stand_alone() -> None:
    assert members({"role": "system", "content": "x"}, SAID, assistant("yes")) == [[10], [11], [12]]


def test_parallel_results_join_their_call_in_any_order() -> None:
    for order in ("abc", "cab", "bca"):
        groups = grouped(calls("a", "b", "c"), *[tool("x", name) for name in order], SAID)
        assert [group.members for group in groups] == [[10, 11, 12, 13], [14]]
        assert groups[0].open_calls == 0
        assert groups[0].answered == {(10, 0), (10, 1), (10, 2)}


def test_results_join_their_call_across_other_messages() -> None:
    assert members(calls("a", "b"), tool("x", "a"), SAID, assistant("wait"), tool("x", "b")) == [
        [10, 11, 14],
        [12],
        [13],
    ]


def test_two_rounds_that_interleave_stay_two_groups() -> None:
    assert members(calls("a"), calls("b"), tool("x", "a"), tool("x", "b")) == [[10, 12], [11, 13]]


def test_pending_and_never_answered_calls_stay_open() -> None:
    lost, pending = [group for group in grouped(calls("a", "b"), tool("x", "b"), SAID, calls("c")) if group.first != 12]
    assert (lost.open_calls, lost.answered) == (1, {(10, 1)})
    assert (pending.open_calls, pending.answered) == (1, set())


def test_result_of_a_reused_id_joins_the_nearest_earlier_call() -> None:
    """A result of a used up id goes to the nearest call before it."""
    assert members(calls("a"), tool("x", "a"), calls("a"), tool("x", "a")) == [[10, 11], [12, 13]]


def test_nearest_of_two_open_calls_is_answered_first() -> None:
    """Of two open calls of an id the nearest is answered first."""
    groups = grouped(calls("a"), SAID, calls("a"), tool("x", "a"), tool("late", "a"))
    assert [group.members for group in groups] == [[10, 14], [11], [12, 13]]


def test_equal_ids_within_one_message_are_answered_in_order() -> None:
    first, both = grouped(calls("a", "a"), tool("x", "a")), grouped(calls("a", "a"), tool("x", "a"), tool("x", "a"))
    assert (first[0].answered, first[0].open_calls) == ({(10, 0)}, 1)
    assert (both[0].answered, both[0].open_calls) == ({(10, 0), (10, 1)}, 0)
    assert both[0].members == [10, 11, 12]


def test_a_result_without_a_call_is_an_orphan_and_stands_alone() -> None:
    groups = grouped(tool("x", "a"), calls("b"), tool("x", "c"), tool("x", "b"), tool("again", "b"))
    assert [group.members for group in groups] == [[10], [11, 13], [12], [14]]
    assert [group.orphans for group in groups] == [{10: [()]}, {}, {12: [()]}, {14: [()]}]


def test_a_result_before_its_call_is_an_orphan() -> None:
    groups = grouped(tool("x", "a"), calls("a"))
    assert groups[0].orphans == {10: [()]}
    assert groups[1].open_calls == 1


def test_of_a_partly_orphaned_message_the_blocks_are_named() -> None:
    groups = grouped(calls("a"), answers("z", "a", "z", text="and"))
    assert [group.members for group in groups] == [[10, 11]]
    assert groups[0].orphans == {11: [("content", 0), ("content", 2)]}


def test_a_message_of_orphaned_blocks_only_stands_alone() -> None:
    groups = grouped(calls("a"), answers("y", "z", text="and"))
    assert [group.members for group in groups] == [[10], [11]]
    assert groups[1].orphans == {11: [("content", 0), ("content", 1)]}


def test_one_message_that_answers_two_groups_makes_them_one() -> None:
    for order in (("a", "b"), ("b", "a")):
        groups = grouped(calls("a", "c"), SAID, calls("b", "d"), answers(*order, "z"), tool("x", "d"), tool("x", "c"))
        assert [group.members for group in groups] == [[10, 12, 13, 14, 15], [11]]
        assert groups[0].open_calls == 0
        assert groups[0].answered == {(10, 0), (10, 1), (12, 0), (12, 1)}
        assert groups[0].orphans == {13: [("content", 2)]}


def test_orphans_of_merged_groups_stay_known() -> None:
    (group,) = grouped(calls("a", "c"), calls("b", "d"), answers("b", "y"), answers("a", "z"), answers("c", "d"))
    assert group.members == [10, 11, 12, 13, 14]
    assert group.orphans == {12: [("content", 1)], 13: [("content", 1)]}


def test_merged_groups_are_reported_so_members_can_move() -> None:
    """Merged groups are named so that their members can be moved."""
    turns = GroupIndex()
    one, _ = turns.add(0, read_message(calls("a")))
    two, _ = turns.add(1, read_message(calls("b")))
    three, _ = turns.add(2, read_message(calls("c")))
    group, merged = turns.add(3, read_message(answers("c", "b", "a")))
    assert group is one
    assert [id(other) for other in merged] == [id(three), id(two)]


# --- against a model -----------------------------------------------------------------------------------------------


@dataclass
class Call:
    seq: int
    number: int
    id: str
    answered: bool = False


@dataclass
class Model:
    """Looks through everything again for each result, and says which messages hang together at the end."""

    made: list[Call] = field(default_factory=list)
    links: list[tuple[int, int]] = field(default_factory=list)
    orphans: dict[int, list[Any]] = field(default_factory=dict)

    def add(self, seq: int, answered: list[tuple[str, Any]], called: list[str]) -> None:
        for name, path in answered:
            waiting = [call for call in self.made if call.id == name and not call.answered]
            if not waiting:
                self.orphans.setdefault(seq, []).append(path)
                continue
            newest = max(call.seq for call in waiting)
            chosen = min((call for call in waiting if call.seq == newest), key=lambda call: call.number)
            chosen.answered = True
            self.links.append((chosen.seq, seq))
        self.made += [Call(seq, number, name) for number, name in enumerate(called)]

    def groups(self, seqs: list[int]) -> list[set[int]]:
        sets = [{seq} for seq in seqs]
        for one, other in self.links:
            touched = [found for found in sets if one in found or other in found]
            sets = [found for found in sets if found not in touched] + [set().union(*touched)]
        return sorted(sets, key=min)


NAMES = st.sampled_from(["a", "b", "c", "d", ""])
STEPS = st.lists(
    st.one_of(
        st.lists(NAMES, min_size=1, max_size=3).map(lambda names: ("calls", names)),
        NAMES.map(lambda name: ("tool", [name])),
        st.lists(NAMES, min_size=1, max_size=4).map(lambda names: ("answers", names)),
        st.just(("said", list[str]())),
    ),
    max_size=20,
)


@given(STEPS)
def test_groups_are_those_that_a_naive_search_finds(steps: list[tuple[str, list[str]]]) -> None:
    turns, model = GroupIndex(), Model()
    home: dict[int, MessageGroup] = {}
    for seq, (kind, names) in enumerate(steps):
        message = {"calls": calls, "answers": answers}[kind](*names) if kind in ("calls", "answers") else SAID
        message = tool("x", names[0]) if kind == "tool" else message
        path = (lambda number: ()) if kind == "tool" else (lambda number: ("content", number))
        called = names if kind == "calls" else []
        answered = [] if kind in ("calls", "said") else [(name, path(number)) for number, name in enumerate(names)]
        model.add(seq, answered, called)

        group, merged = turns.add(seq, read_message(message))
        home[seq] = group
        for other in merged:
            home.update(dict.fromkeys(other.members, group))

        found = model.groups(list(home))
        groups = list({id(home[member]): home[member] for member in home}.values())
        assert [set(known.members) for known in sorted(groups, key=lambda known: known.first)] == found
        for known in groups:
            assert known.members == sorted(set(known.members))
            assert known.first == known.members[0]
            mine = [call for call in model.made if call.seq in known.members]
            assert known.answered == {(call.seq, call.number) for call in mine if call.answered}
            assert known.open_calls == sum(not call.answered for call in mine)
            assert known.orphans == {at: model.orphans[at] for at in known.members if at in model.orphans}
