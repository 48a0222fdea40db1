"""Events as they are stored: they come back equal, and make the same session again."""

import json
from base64 import b64encode
from zlib import compress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import ContextManager, CorruptionError
from backscroll.history.codec import _READERS, FORMAT, FORMATS, Codec
from backscroll.history.log import LaneOpened, LogEvent, MessageAdded, Overflowed, PlanRecorded, UsageObserved
from backscroll.history.plan import NO_DIGEST, Digest, DigestContent, DigestLine, Excerpt, LeftResult, Plan, Restate
from backscroll.history.soundness import plan_fault
from backscroll.ports import LOST, Record, Stored
from backscroll.stores.memory import MemoryStore
from backscroll.tokens.counts import Count
from tests.builders import ASK, BUDGETS, MessageFactory, conversations, feed, session_with_both_triggers
from tests.history.crafting import OPTIONS
from tests.history.golden import golden, golden_facts, golden_store
from tests.present import present
from tests.profiles import examples

pytestmark = pytest.mark.filterwarnings("ignore::backscroll.BackscrollWarning")  # asked for, to have such records
UNEDITED = {"number": 1, "after": None, "edits": []}


def written(events):
    codec = Codec()
    return [Stored(at, codec.encode(event, at)) for at, event in enumerate(events)]


def read(records):
    codec = Codec()
    return [codec.decode(record) for record in records]


@given(conversations(), BUDGETS, ASK)
@settings(max_examples=examples(40))
def test_every_event_of_a_session_comes_back_equal(messages, budget, ask):
    watched = session_with_both_triggers()
    manager = watched.manager
    feed(messages, ask, lambda _: watched.view(budget), watched)
    manager.observe_usage(input_tokens=10)
    manager.observe_overflow()
    manager.pin(0)
    manager.append(*messages[:2], idempotency_key="twice")
    manager.undo_compaction()
    manager.set_messages(messages[:1])
    events = list(present(manager._session.events))
    assert read(written(events)) == events
    assert [record.record.seq for record in written(events) if record.record.kind == "message"] == [
        event.seq for event in events if isinstance(event, MessageAdded)
    ]


@given(st.text(st.characters(categories=["Cs", "Lu", "Cc"]), max_size=12))
def test_any_text_round_trips_even_beyond_utf_8(text):
    """Any text comes back as it was also one that UTF-8 cannot hold."""
    manager = ContextManager(tokenizer=len)
    manager.append({"role": "user", "content": text})
    (event,) = read(written(manager._session.events))
    assert event.message["content"] == text


def test_unchanged_digest_is_stored_once_and_referenced():
    """A digest is written once and referred to while it stays the same."""
    one, other = (
        DigestContent((DigestLine(0, 1, "turn", text),), (("a_1", 0.5),), (), 9) for text in ("ls()", "cat()")
    )
    digests = [one, one, NO_DIGEST, one, other, other, one]
    events: list[LogEvent] = [LaneOpened("main", Plan(digest=one)), LaneOpened("small", Plan(digest=one))]
    events += [
        PlanRecorded("main", Plan((Digest(0, number),), number, 0, digest), (1, 2), 3, 4)
        for number, digest in enumerate(digests)
    ]
    plans = [json.loads(stored.record.body)["plan"] for stored in written(events)]
    assert [plan.get("digest_at", "told" if "digest" in plan else None) for plan in plans] == [
        "told", "told", 0, 0, None, 0, "told", 6, "told",
    ]  # fmt: skip
    assert read(written(events)) == events


def test_excerpt_of_json_round_trips_and_others_as_before():
    """What a text is cut as is stored where it is not cut as text: older records have no place for it."""
    plain, as_json = Excerpt(1, 0, 9, 9, Count(5), between=((12, 20),)), Excerpt(2, 0, 0, 0, Count(5), structure="json")
    event = PlanRecorded("main", Plan((plain, as_json), 1, 0), (1, 2), 3, 4)
    (stored,) = written([event])
    assert [len(edit) for edit in json.loads(stored.record.body)["plan"]["edits"]] == [8, 9]
    assert read([stored]) == [event]


def test_restated_results_round_trip():
    edits = (
        Restate(5, 0, 2, 1, whole=True, count=Count(9)),
        Restate(7, 1, 3, 0, whole=False, count=Count(9), by="floor"),
    )
    left = LeftResult(12, 2, 1), LeftResult(4_294_967_295, 3, 0)
    event = PlanRecorded("main", Plan(edits, 1, 0, left=left), (1, 2), 3, 4)
    assert read(written([event])) == [event]


def test_restated_result_that_comes_later_is_a_fault():
    later = Plan((Restate(5, 0, 6, 0, whole=True, count=Count(9)),), 1)
    assert plan_fault(later) == "an edit restates a later result"
    assert plan_fault(Plan(left=(LeftResult(1, -2, 0),))) == "a result that it leaves out has a negative number"


WORDS = st.text(max_size=8) | st.sampled_from(['"', '","', "\\", "\ud800", "a/b"])


@given(st.lists(st.tuples(WORDS, st.floats(allow_nan=False, allow_infinity=False)), max_size=6), WORDS)
def test_shown_digest_is_readable_in_storage_and_round_trips(weights, text):
    """What a view shows of a digest stands there to be read and the rest comes back."""
    note = DigestLine(0, 1, "line", text)
    event = PlanRecorded(
        "main", Plan((Digest(0, 1),), 1, 0, DigestContent((note,), tuple(weights), (note,), 9)), (1, 2), 3, 4
    )
    (stored,) = written([event])
    digest = json.loads(stored.record.body)["plan"]["digest"]
    assert (digest["notes"], digest["told"]) == ([[0, 1, "line", text]], 9)
    assert read([stored]) == [event]


def test_hidden_digest_state_takes_a_third_of_its_bytes():
    """What only the next digest is made of takes a third of its bytes."""
    weights = tuple((f"src/module_{number}.py", number / 16) for number in range(2_000, 0, -1))
    reserve = tuple(DigestLine(number, number, "line", f"value_{number} = {number * 7}") for number in range(500))
    (stored,) = written([PlanRecorded("main", Plan((), 1, 0, DigestContent((), weights, reserve, 9)), (1, 2), 3, 4)])
    assert len(stored.record.body) < len(json.dumps([weights, reserve])) / 3


def test_the_golden_session_holds_every_kind_of_event():
    assert {each.record.kind for each in golden(FORMAT)} == set(_READERS) - {"native"}  # test_native_records.py
    first = {each.record.kind for each in golden(1)}
    assert first == {"message", "id", "plan", "lane", "pin", "usage", "overflow", "rewind", "settled"}
    assert {type(event) for event in read(golden(1))} >= {LaneOpened, Overflowed, UsageObserved}


def test_the_golden_session_holds_late_results_and_plans_of_both():
    """What format 4 added: results that join no group, calls that a request showed open, and plans that do not heal."""
    assert FORMAT == 4
    records = list(golden(FORMAT))
    codec = Codec(records.__getitem__)
    events = [codec.decode(record) for record in records]
    late = [event.late for event in events if isinstance(event, MessageAdded) and event.late]
    assert {(tool, second) for results in late for _, tool, second in results} == {("run", False), ("run", True)}
    plans = [event.plan for event in events if isinstance(event, PlanRecorded)]
    assert {(bool(plan.waited), plan.heals) for plan in plans} == {(False, False), (False, True), (True, True)}
    bodies = [json.loads(each.record.body) for each in records if each.record.format == FORMAT]
    assert any(body.get("plan", {}).get("unhealed") for body in bodies)


@pytest.mark.parametrize("format", FORMATS)
def test_what_was_written_in_any_format_is_read_for_ever(format):
    manager = ContextManager(session="s", store=golden_store(format), **OPTIONS)
    told = golden_facts(format)
    assert manager.get_messages() == told["messages"]
    assert manager.get_messages_for_request() == told["view"]
    assert manager.history(at=30) == told["messages"][:31]


def test_session_of_any_old_format_continues_in_the_current_one():
    store = golden_store(1)
    manager = ContextManager(session="s", store=store, **OPTIONS)
    for number in range(60):
        manager.append(
            MessageFactory("openai").say("user", f"{number} " * 100),
            MessageFactory("openai").say("assistant", "ok " * 90),
        )
        view = manager.get_messages_for_request()
    manager.close()
    assert {each.record.format for each in store.read("s")} == {1, FORMAT}
    again = ContextManager(session="s", store=store, **OPTIONS)
    assert again.get_messages_for_request() == view
    assert again.get_messages() == manager.get_messages()


@pytest.mark.parametrize(
    "record",
    [
        Record("message", 0, b"{}", 1),
        Record("message", 0, b"not json", 1),
        Record("message", 0, b'{"seq": 0, "message": {}, "counts": [[]], "by": ""}', 1),
        Record("unheard", None, b"{}", 1),
        Record("rewind", None, b'{"to": 1}', 99),
        Record("plan", None, b'{"lane": "main", "plan": {"number": 1, "after": null, "edits": [], "digest_at": 7}}', 1),
        Record("lane", None, b'{"lane": "main", "plan": {"number": 1, "after": null, "edits": [["cut", 1, 2, 3]]}}', 1),
        *(
            Record("lane", None, json.dumps({"lane": "main", "plan": {"digest": digest} | UNEDITED}).encode(), 3)
            for digest in (
                {"notes": [], "told": 0, "rest": "no base64"},
                {"notes": [], "told": 0, "rest": "YWJj"},
                {"notes": [], "told": 0, "rest": b64encode(compress(b"{}")).decode()},
            )
        ),
    ],
)
def test_what_no_version_wrote_is_damage_and_says_where(record):
    with pytest.raises(CorruptionError, match="record 5"):
        Codec().decode(Stored(5, record))


# -- what was lost --


def lose(store, places):
    """A store whose records at these places were lost, as a repair leaves it."""
    mended = MemoryStore()
    records = [each.record for each in store.read("s")]
    for at in places:
        records[at] = Record(LOST, records[at].seq, b"its page was damaged", 0)
    mended.append("s", 0, records).result()
    return mended


@pytest.mark.filterwarnings("ignore::backscroll.BackscrollWarning")
@given(st.sets(st.integers(0, 179), min_size=1, max_size=12))
@settings(deadline=None)
def test_a_session_that_lost_some_records_goes_on_with_the_rest(places):
    manager = ContextManager(session="s", store=lose(golden_store(FORMAT), places), **OPTIONS)
    whole = golden_facts(FORMAT)["messages"]
    kept = manager.get_messages()
    gone = [message for message in kept if message.get("metadata", {}).get("lost")]
    assert [message for message in kept if message not in gone] == [message for message in whole if message in kept]
    assert manager.get_messages_for_request()
    assert manager.explain()
    manager.append(MessageFactory("openai").say("user", "and on"))
    assert manager.recall(query="value").hits
    assert manager.get_messages_for_request()[-1] == MessageFactory("openai").say("user", "and on")
