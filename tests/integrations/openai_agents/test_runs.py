"""Items in runs: each message of the core is one run, and only new items are read."""

from copy import deepcopy
from itertools import accumulate
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import ResponseFunctionToolCall

from backscroll.integrations.item_runs import Grouping
from backscroll.integrations.item_translation import ItemTranslation, items_of
from backscroll.messages.dialects.response_items import gathered, is_envelope
from tests.integrations.openai_agents.kinds import ITEMS

_ITEMS = st.lists(st.sampled_from(ITEMS), max_size=25)
KNOWN = [item for item in ITEMS if item.get("type") != "from_the_future"]


@given(_ITEMS, st.lists(st.integers(0, 25), max_size=6))
def test_runs_of_a_growing_list_are_those_of_the_whole(items, sizes):
    growing, whole = Grouping(), Grouping()
    for size in [*sorted(sizes), len(items)]:
        assert list(growing.runs(items[:size])) == list(whole.runs(items[:size], whole=True))
    runs = growing.runs(items)
    assert [item for run in runs for item in run] == items
    assert runs[:2] == list(runs)[:2]
    assert len(runs) == len(list(runs))
    assert growing.read <= 2 * len(items) + 25 * len(sizes)


@given(st.lists(st.sampled_from(KNOWN), max_size=25))
def test_runs_are_the_messages_that_the_core_makes(items):
    """But that a message behind a call begins a run: here nothing says where a response ended."""
    messages: list[Any] = gathered(deepcopy(items))
    runs = Grouping().runs(items)
    ends, kinds = set(accumulate(len(run) for run in runs)), [item.get("type", "message") for item in items]
    wanted = set(accumulate(len(message["content"]) if is_envelope(message) else 1 for message in messages))
    assert wanted <= ends
    for end in ends - wanted:
        follows = next(kind for kind in kinds[end:] if kind != "reasoning")
        assert ("function_call" in kinds[:end], follows) == (True, "message")


def test_message_behind_a_call_begins_a_run_with_its_reasoning():
    call, thought, said = ITEMS[4], ITEMS[3], ITEMS[2]
    runs = Grouping().runs([thought, call, call, thought, said, said, call, thought, call])
    assert list(runs) == [(thought, call, call), (thought, said, said, call, thought, call)]
    assert list(Grouping().runs([call, said, said])) == [(call,), (said,), (said,)]


@given(_ITEMS)
def test_a_message_gives_back_its_items(items):
    before = deepcopy(items)
    for run in Grouping().runs(items):
        message = ItemTranslation().to_message(run)
        assert items_of(message) == list(run)
        shown = ItemTranslation().to_native({**message, "metadata": None} | {"metadata": {}}, [run])
        assert all(one is other for one, other in zip(shown, run, strict=True) if "metadata" not in one)
    assert items == before


def test_only_new_items_are_read():
    items = [item for _ in range(500) for item in ITEMS]
    grouping = Grouping()
    grouping.runs(items)
    before = grouping.read
    grouping.runs([*items, ITEMS[0]])
    assert grouping.read - before <= 3


def test_notes_say_nothing_and_ids_that_name_something_do():
    says = ItemTranslation().says
    call = {"type": "function_call", "call_id": "c", "name": "order", "arguments": "{}"}
    assert says((call,)) == says(({**call, "id": "fc", "status": "completed"},))
    assert says((call,)) != says(({**call, "call_id": "d"},))
    assert says(({"role": "user", "content": "a"},)) != says(({"role": "user", "content": "b"},))
    for kind in ("item_reference", "mcp_approval_request"):
        assert says(({"type": kind, "id": "a"},)) != says(({"type": kind, "id": "b"},))


def test_objects_of_the_client_are_items():
    made = ResponseFunctionToolCall(type="function_call", call_id="c", name="order", arguments="{}")
    runs = Grouping().runs([{"role": "user", "content": "a"}, made])
    assert len(runs) == 2
    message = ItemTranslation().to_message(runs[1])
    plain = {"type": "function_call", "call_id": "c", "name": "order", "arguments": "{}"}
    assert message["content"] == [plain]
