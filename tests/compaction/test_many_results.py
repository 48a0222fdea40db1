"""Work that grows with the number of results and lines, and work that is done once. Counts, no clocks."""

import json
from itertools import count
from typing import Any

import pytest

from backscroll import ContextManager
from backscroll.compaction.digest.line_selection import FRAME, cover
from backscroll.messages import ParsedMessage, read_message
from backscroll.messages.parsed_message import NO_FLAGS
from backscroll.messages.structure import cut_json
from tests.calls import calls_of
from tests.fakes import count_quarter
from tests.long_run import usually

STARTS = count(0, 10_000)
"""Numbers of the first call: no session reads what another one has in a cache."""


def numbers(many: int) -> range:
    start = next(STARTS)
    return range(start, start + many)


def in_messages(number: int) -> list[dict[str, Any]]:
    """Calls of one message, answered by a message each."""
    each_of = numbers(number)
    named = [{"name": "read", "arguments": json.dumps({"path": f"src/part_{n}.py"})} for n in each_of]
    calls = [{"id": f"c{n}", "type": "function", "function": each} for n, each in zip(each_of, named, strict=True)]
    shown = [{"role": "tool", "tool_call_id": f"c{n}", "content": text_of(n)} for n in each_of]
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *shown]


def in_blocks(number: int) -> list[dict[str, Any]]:
    """Calls of one message, answered by the blocks of another."""
    each_of = numbers(number)
    uses = [{"type": "tool_use", "id": f"c{n}", "name": "read", "input": {"path": f"p_{n}.py"}} for n in each_of]
    shown = [{"type": "tool_result", "tool_use_id": f"c{n}", "content": text_of(n)} for n in each_of]
    return [{"role": "assistant", "content": uses}, {"role": "user", "content": shown}]


def text_of(number: int) -> str:
    return "\n".join(f"name_{line} = value_{(number + line) % 7}" for line in range(20))


@pytest.mark.parametrize("few", usually([100, 250], 1))
@pytest.mark.parametrize("made", usually([in_messages, in_blocks], 1))
def test_work_grows_with_the_number_of_results(made, few):
    def steps(number: int) -> list[int]:
        manager = ContextManager(tokenizer=count_quarter, budget=100 * number, plan_ahead=False)
        manager.append({"role": "user", "content": "Read them all."})
        manager.get_messages_for_request()
        messages = made(number)
        appended = calls_of(lambda: manager.append(*messages))
        requested = calls_of(manager.get_messages_for_request)
        manager.append({"role": "assistant", "content": "All read."}, {"role": "user", "content": "And?"})
        return [appended, requested, calls_of(manager.get_messages_for_request), calls_of(manager.compact)]

    first, many = steps(few), steps(4 * few)
    assert sum(many) <= 5 * sum(first)


def test_no_call_of_a_message_is_looked_for_among_all_others():
    class Id(str):
        __slots__ = ()
        compared = 0

        def __eq__(self, other: object) -> bool:
            Id.compared += 1
            return super().__eq__(other)

        __hash__ = str.__hash__

    uses = [{"type": "tool_use", "id": f"c{n}", "name": "read", "input": {}} for n in range(400)]
    parts = read_message({"role": "assistant", "content": uses}).parts
    named = tuple(part._replace(id=Id(part.id)) for part in parts)  # type: ignore[arg-type]  # not one of ours, to count
    reading = ParsedMessage("assistant", named, NO_FLAGS, rigid=False, answers=None)
    assert [part.id for part in reading.call_parts] == list(reading.calls)
    assert Id.compared <= 3 * 400


def test_lines_that_mention_the_same_are_weighed_a_few_times():
    def calls(number: int) -> int:
        lines = [(("db_pool", "error_17"), 9, 1.0, 2 / (9 + FRAME))] * number
        return calls_of(lambda: cover(lines, {"db_pool": 1.0, "error_17": 1.0}, 3 * number))

    assert calls(2_000) <= 5 * calls(500)


def test_long_json_that_is_counted_and_then_shown_is_cut_once():
    text = json.dumps([{"id": number, "name": f"n{number}"} for number in range(3_000)])

    def cut() -> str | None:
        return cut_json(text, 0, 0, ((1, 40_000), (50_000, 60_000)), "[ref:1.0]")

    first, again = calls_of(cut), calls_of(cut)
    assert first > 1_000
    assert again < 20
