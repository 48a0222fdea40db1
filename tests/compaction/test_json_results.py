"""A JSON result that a view cuts stays valid JSON, whichever strategy cuts it."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import ContextManager, Protection, ToolResultPreview
from tests.builders import MessageFactory
from tests.fakes import count_quarter
from tests.profiles import examples
from tests.views import is_cut_of, json_as_written

TALK = MessageFactory("openai")
WORDS = st.text('abcdefgh é\\\n"', max_size=20)
ROWS = st.dictionaries(WORDS, WORDS | st.integers() | st.lists(WORDS, max_size=3) | st.none(), min_size=1, max_size=6)
STYLES = ({}, {"indent": 2}, {"separators": (",", ":")})
BUDGET = 2_000
WAYS: dict[str, Any] = {
    "preview on arrival": {"tool_result_preview": ToolResultPreview(600, 300, when="arrival")},
    "excerpt": {"strategies": ["excerpt"]},
    "last resort": {"strategies": None},
    "auto": {},
}


@st.composite
def documents(draw):
    """A document of about three budgets: rows as tools return them, alike but for their ids."""
    rows = draw(st.lists(ROWS, min_size=1, max_size=4))
    count = 1 + 3 * 4 * BUDGET // len(json.dumps(rows))
    many = [{"id": f"row_{number}_{at}", **row} for number in range(count) for at, row in enumerate(rows)]
    return draw(st.sampled_from([many, {"rows": many, "status": "ok", "next": None}, {"text": json.dumps(many)}]))


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=examples(30))
@given(documents(), st.sampled_from(STYLES), st.booleans())
def test_json_result_cut_in_a_view_is_valid_json(way, document, style, newest):
    """Its values are those of the original at the same places, and the view fits."""
    text = json.dumps(document, **style)
    manager = ContextManager(tokenizer=count_quarter, budget=BUDGET, **WAYS[way])
    manager.append(TALK.say("user", "What is the status of row_3_0?"), TALK.call(["c1"], "", {"table": "rows"}))
    seq = manager.append(*TALK.results([("c1", text)]))
    if not newest:
        manager.get_messages_for_request()
        manager.append(TALK.call(["c2"], "I look at row_3_0", {"id": "row_3_0"}), *TALK.results([("c2", "ok")]))
    view = manager.get_messages_for_request()
    shown = next((message["content"] for message in view if message.get("tool_call_id") == "c1"), None)
    assert sum(count_quarter(str(message["content"])) for message in view) <= BUDGET
    if shown is not None and not shown.startswith("[tool result of "):
        assert shown != text
        assert is_cut_of(json_as_written(shown), json_as_written(text))
        assert f"recall [ref:{seq}.0]" in shown


def test_json_result_keeps_what_was_asked_about():
    rows = [{"id": f"order_{number}", "status": "open", "note": f"note {number} " * 9} for number in range(200)]
    manager = ContextManager(
        tokenizer=count_quarter, budget=4_000, strategies=["excerpt"], protect=Protection(recent=0), target_usage=0.6
    )
    manager.append(TALK.say("user", "Where is order_117?"), TALK.call(["c1"], "", {"table": "orders"}))
    manager.append(*TALK.results([("c1", json.dumps({"orders": rows, "total": 200}))]))
    manager.append(TALK.call(["c2"], "I read it.", {}), *TALK.results([("c2", "ok")]))
    view = manager.get_messages_for_request()
    shown = json.loads(view[2]["content"])
    assert "order_117" in [row.get("id") for row in shown["orders"] if isinstance(row, dict)]
    assert shown["total"] == 200
