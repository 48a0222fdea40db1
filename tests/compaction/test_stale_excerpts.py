"""Lines that an edit removed leave excerpts and previews with the next compaction, and not before it."""

import json
from typing import Any

import pytest

from backscroll import ContextManager, Protection, ToolResultPreview, events
from tests.fakes import count_quarter

OLD, NEW = "    retry_limit = load_retry_limit(3_000)", "    retry_limit = load_retry_limit(5_000)"
FILE = "\n".join([f"    plain_{number} = compute_{number}(value)" for number in range(110)] + [OLD] + ["    pass"] * 40)


def call(context: ContextManager, number: int, name: str, arguments: dict[str, Any], result: str) -> None:
    function = {"name": name, "arguments": json.dumps(arguments)}
    asked = {"id": f"c{number}", "type": "function", "function": function}
    context.append({"role": "assistant", "content": None, "tool_calls": [asked]})
    context.append({"role": "tool", "tool_call_id": f"c{number}", "content": result})


@pytest.mark.parametrize("previews", [None, ToolResultPreview(400, 300, "arrival")], ids=["default", "configured"])
def test_old_line_leaves_a_preview_with_the_next_compaction(previews: ToolResultPreview | None) -> None:
    triggers: list[str] = []
    context = ContextManager(
        tokenizer=count_quarter, budget=2_800, tool_result_preview=previews, strategies=["excerpt"],
        protect=Protection(working_set=0.0),
        on_event=lambda name, payload: triggers.append(payload["trigger"]) if name == events.COMPACTION else None,
    )  # fmt: skip  # one thought
    context.append({"role": "user", "content": "Raise retry_limit in load_retry_limit."})
    call(context, 0, "read", {"path": "app.py"}, FILE)
    view = context.get_messages_for_request()
    assert OLD in view[2]["content"]
    assert "characters left out" in view[2]["content"]
    call(context, 1, "edit", {"path": "app.py", "old_string": OLD, "new_string": NEW}, "done")
    assert context.get_messages_for_request()[:3] == view, "the prefix is not rewritten between compactions"
    number = 2
    while "threshold" not in triggers:
        call(context, number, "run", {"command": f"step {number}"}, f"step {number} is done\n" + "all is well\n" * 60)
        number += 1
        view = context.get_messages_for_request()
    assert "characters left out" in view[2]["content"]
    assert "plain_0" in view[2]["content"]
    assert OLD not in view[2]["content"]
    assert FILE in {message["content"] for message in context.get_messages()}


def summary_of(view: list[dict[str, Any]]) -> str:
    return next((str(m["content"]) for m in view if str(m["content"]).startswith("<summary>\nEarlier")), "")


def worked_on(number: int) -> str:
    return "\n".join(f"job_{number}_{line} = run_step(queue_{number}, {line})" for line in range(20))


@pytest.mark.parametrize("written", ["edit", "write"])
def test_line_that_left_a_file_leaves_a_summary_that_showed_it(written: str) -> None:
    """A summary begins with the one before, except where that shows what is no longer true."""
    context = ContextManager(mode="facts", tokenizer=count_quarter, budget=3_000, protect=Protection(working_set=0.0))
    context.append({"role": "user", "content": "Raise retry_limit in load_retry_limit, and go on."})
    call(context, 0, "read", {"path": "app.py"}, "\n".join(["# retries", OLD, "    pass", "    return retry_limit"]))
    number = 1
    while OLD.strip() not in summary_of(context.get_messages_for_request()):
        call(context, number, "read", {"path": f"jobs/{number}.py"}, worked_on(number))
        number += 1
    if written == "edit":
        call(context, number, "edit", {"path": "app.py", "old_string": OLD, "new_string": NEW}, "done")
    else:
        call(context, number, "read", {"path": "app.py"}, "\n".join(["# retries", OLD, "    return retry_limit"]))
        number += 1
        call(
            context, number, "write", {"path": "app.py", "content": f"# retries\n{NEW}\n    return retry_limit"}, "done"
        )
    before = summary_of(context.get_messages_for_request())
    while (after := summary_of(context.get_messages_for_request())) == before:
        number += 1
        call(context, number, "read", {"path": f"jobs/{number}.py"}, worked_on(number))
    assert OLD.strip() not in after


def test_line_that_a_written_file_still_has_stays_in_a_summary() -> None:
    context = ContextManager(mode="facts", tokenizer=count_quarter, budget=3_000, protect=Protection(working_set=0.0))
    context.append({"role": "user", "content": "Raise retry_limit in load_retry_limit, and go on."})
    call(context, 0, "read", {"path": "app.py"}, f"# retries\n{OLD}\n    return retry_limit")
    call(context, 1, "write", {"path": "app.py", "content": f"{OLD}\n    return retry_limit + 1"}, "done")
    for number in range(2, 40):
        call(context, number, "read", {"path": f"jobs/{number}.py"}, worked_on(number))
        view = context.get_messages_for_request()
    assert OLD.strip() in str(view)
