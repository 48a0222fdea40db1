"""A range too long for one page: an outline that says what each message is, opens some, and leads to all."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll import ContextManager, ReferenceNotFoundError
from backscroll.recall.references import Reference, parse_all, rest_of
from tests.builders import conversations, session_after
from tests.fakes import count_quarter

NAMED = re.compile(r"^\[ref:(\d+)(?:\.\d+)?\] ", re.MULTILINE)
LINE = re.compile(r"^\[ref:(\d+)\] ", re.MULTILINE)
ON = re.compile(r"\[more follows: recall ref ([\d,-]+)\]$")


def call(number, name, **arguments):
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}]}


def result(number, text):
    return {"role": "tool", "tool_call_id": f"c{number}", "content": text}


def work():
    """An order, a long file, a small edit, a failed test run, a long listing and a report."""
    manager = ContextManager(tokenizer=count_quarter, budget=4_000)
    manager.append(
        {"role": "user", "content": "Make the totals round."},
        call(1, "read_file", path="src/totals.py"),
        result(1, "def total(rows):\n" + "    rows = rows\n" * 600),
        call(2, "edit_file", path="src/totals.py", old_string="return total", new_string="return round(total, 2)"),
        result(2, "ok"),
        call(3, "bash", command="pytest -q tests/totals"),
        result(3, "F" * 3_000 + "\n1 failed, 12 passed in 0.41s"),
        call(4, "bash", command="ls -R src"),
        result(4, "src/file.py\n" * 700),
        {"role": "assistant", "content": "One test still expects three digits."},
    )
    return manager


def test_outline_names_each_message_and_opens_the_small_ones():
    manager = work()
    page = manager.recall("0-9", outline=True)
    assert count_quarter(page) <= 1_000
    assert [int(seq) for seq in NAMED.findall(page)] == list(range(10))
    assert [int(seq) for seq in LINE.findall(page)] == [2, 6, 8]
    assert re.search(r"^\[ref:2\] tool, 2,\d+ tokens: result of 1: def total\(rows\):$", page, re.MULTILINE)
    assert "[ref:0.0] user\nMake the totals round.\n" in page
    assert "return round(total, 2)" in page
    assert page.endswith("[ref:9.0] assistant\nOne test still expects three digits.\n")
    assert (page.next_offset, page.next_ref) == (None, None)
    manager.close()


def test_line_of_a_call_says_what_it_did_and_how_it_ended():
    manager = ContextManager(tokenizer=count_quarter, budget=4_000)
    long = "\n".join(f"    value_{number} = {number}" for number in range(900))
    path = "/srv/projects/of-the-shop/trunk/backend/src/orders/totals/rounding.py"
    manager.append(
        call(1, "write_file", path=path, content=f"def rounded():\n{long}"),
        result(1, "written"),
        call(2, "bash", command="pytest -q " + " ".join(f"tests/test_{number}.py" for number in range(900))),
        result(2, "2 failed, 7 passed in 0.41s"),
    )
    lines = manager.recall("0-3", outline=True).splitlines()
    assert next(line for line in lines if line.startswith("[ref:0]")).endswith(
        "tokens: created …/orders/totals/rounding.py: rounded"
    )
    assert re.fullmatch(
        r"\[ref:2\] assistant, [\d,]+ tokens: ran pytest -q tests/test_0\.py .*… -> FAILED: 2 failed, 7 passed.*",
        next(line for line in lines if line.startswith("[ref:2]")),
    )
    manager.close()


def test_what_changed_something_is_opened_before_look_ups():
    manager = ContextManager(tokenizer=count_quarter, budget=4_000)
    for number in range(8):
        manager.append(call(number, "read_file", path=f"f{number}.py"), result(number, "x = 1\n" * 60))
    manager.append(call(9, "edit_file", path="a.py", old_string="x = 1", new_string="y = 2\n" * 70), result(9, "ok"))
    page = manager.recall("0-17", outline=True)
    assert "[ref:16.0] assistant, call edit_file" in page
    assert any(f"[ref:{seq}] tool, " in page for seq in range(1, 16, 2))
    manager.close()


def test_small_range_and_a_plain_reading_stay_word_for_word():
    manager = work()
    for ref, options in (("3-5", {"outline": True}), ("0-9", {}), ("2", {"outline": True})):
        page = manager.recall(ref, **options)
        assert manager.recall(ref, limit=10**6).startswith(page)
    assert manager.recall("0-9", outline=True, offset=5) == manager.recall("0-9", offset=5)
    assert manager.recall("0-9", outline=True, lines=(1, 9)) == manager.recall("0-9", lines=(1, 9))
    assert manager.recall("0-9", outline=True, limit=50) == manager.recall("0-9", limit=50)
    manager.close()


def test_list_of_references_opens_them_in_order():
    manager = work()
    first, last = (
        "[ref:0.0] user\nMake the totals round.\n",
        "[ref:9.0] assistant\nOne test still expects three digits.\n",
    )
    assert manager.recall("9,0,3-4") == first + manager.recall("3-4") + last
    assert manager.recall("[ref:3], [ref:4]") == manager.recall("3-4")
    page = manager.recall("1-4,6,8-9", outline=True)
    assert [int(seq) for seq in dict.fromkeys(NAMED.findall(page))] == [1, 2, 3, 4, 6, 8, 9]
    for wrong in ("1,2.0", "1,x", ",", "1,99", ",".join(["1"] * 101)):
        with pytest.raises(ReferenceNotFoundError):
            manager.recall(wrong)
    manager.close()


def test_tool_leads_from_a_long_outline_to_the_next():
    manager = session_after(400)
    _, run = manager.recall_tool()
    ref: str | None = "0-801"
    seen, calls = list[int](), 0
    while ref:
        answer = run(ref=ref)
        assert count_quarter(answer) <= 4_000 + 20
        seen += [int(seq) for seq in dict.fromkeys(NAMED.findall(answer))]
        more = ON.search(answer)
        ref, calls = more and more[1], calls + 1
    assert seen == list(range(802))
    assert calls <= 8
    manager.close()


@given(conversations(), st.integers(200, 3_000), st.integers(1, 700))
def test_each_message_of_any_range_is_opened_in_few_calls(messages, budget, limit):
    """Whatever an outline closes, its own reference opens; outlines go on until each message was named."""
    manager = ContextManager(tokenizer=count_quarter)
    manager.append(*messages)
    last = len(manager.get_messages()) - 1
    ref: str | None = f"0-{last}"
    named, opened, calls = set[int](), set[int](), 0
    while ref:
        page = manager.recall(ref, limit=limit, outline=True)
        calls += 1
        assert count_quarter(page) <= limit or len(page) == 1
        assert calls <= last + 1
        if page.next_offset is not None:
            return  # too small a page for an outline: word for word, which has a test of its own
        found = {int(seq) for seq in NAMED.findall(page)}
        closed = {int(seq) for seq in LINE.findall(page)}
        if ref.isdigit():  # one message that is left is opened as it is, without its reference
            found, closed = {int(ref)}, set()
        named, opened = named | found, opened | (found - closed)
        ref = page.next_ref
    if last > 0:
        assert named == set(range(last + 1))
    for seq in named - opened:
        assert manager.recall(seq, limit=10**6)
    manager.close()


def test_same_range_has_the_same_outline():
    pages = set[str]()
    for _ in range(2):
        manager = work()
        pages |= {manager.recall("0-9", outline=True), manager.recall("0-9", outline=True)}
        manager.close()
    assert len(pages) == 1


def test_outline_of_a_range_with_rewound_messages_skips_them():
    manager = session_after(30)
    manager.rewind(20)
    manager.append(*session_after(30).get_messages()[2:])
    page = manager.recall("10-90", outline=True, limit=600)
    named = [int(seq) for seq in dict.fromkeys(NAMED.findall(page))]
    assert named[:3] == [10, 11, 12]
    assert not {21, 22} & set(named)
    manager.close()


def test_rest_of_references_names_what_is_left():
    refs = parse_all("3-9,12,20-31")
    assert refs == [Reference(3, 9), Reference(12, 12), Reference(20, 31)]
    assert rest_of(refs, [8, 9, 12, 20, 21]) == "8-9,12,20-21"
    assert rest_of(refs, [31]) == "31"
    assert rest_of(refs, []) == ""


def test_sealed_reasoning_is_in_no_outline():
    manager = ContextManager(tokenizer=count_quarter, budget=4_000)
    sealed = {"type": "redacted_thinking", "data": "c2VhbGVk" * 40}
    manager.append(
        {"role": "user", "content": "Go on."},
        {"role": "assistant", "content": [sealed, {"type": "tool_use", "id": "t1", "name": "ls", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a.py\n" * 4_000}]},
    )
    page = manager.recall("0-2", outline=True)
    assert NAMED.findall(page)
    assert "c2VhbGVk" not in page
    manager.close()
