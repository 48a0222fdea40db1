"""Sessions in a store: what was stored happens and nothing else does; resumes; several workers on one session."""

import asyncio
import json
import random
from concurrent.futures import Future
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import backscroll
from backscroll import BackscrollError, ContextManager
from backscroll.errors import ConfigurationError, ConflictError, ReferenceNotFoundError, StoreUnavailableError
from backscroll.stores.memory import MemoryStore
from tests.builders import ASK, BUDGETS, MessageFactory, conversations, feed, session_with_both_triggers
from tests.fakes import FaultyStore, count_quarter
from tests.profiles import examples

TALK = MessageFactory("openai")


def opened(shelf, session="s", **options):
    usual: dict[str, Any] = {"tokenizer": count_quarter, "budget": 3_000, "clear_at_least_tokens": 150}
    return ContextManager(session=session, store=shelf, **usual | options)


def work(manager, rounds, start=0):
    for number in range(start, start + rounds):
        manager.append(TALK.call([f"c{number}"], "I look.", {"path": f"m{number}.py"}))
        manager.append(*TALK.results([(f"c{number}", f"value_{number} = {number * 7919}\n" * 40)]))
        manager.get_messages_for_request()


# -- resume --


@pytest.mark.filterwarnings("ignore:the .* tokens reported as usage")  # 40 more at each report can look like a total
@given(conversations(), BUDGETS, ASK, st.booleans())
@settings(max_examples=examples(40))
def test_resume_keeps_the_history_and_the_next_view(messages, budget, ask, observes):
    """After a resume the history and the next view are the same."""
    shelf = FaultyStore()
    watched = session_with_both_triggers(session="s", store=shelf)

    def step(_):
        if watched.view(budget) is not None and observes:
            watched.manager.observe_usage(input_tokens=watched.manager.usage().used.tokens + 40)

    feed(messages, ask, step, watched)
    watched.manager.close()
    resumed = session_with_both_triggers(session="s", store=shelf)
    assert resumed.manager.get_messages() == watched.manager.get_messages()
    assert resumed.view(budget) == watched.view(budget)


def test_dying_process_loses_nothing_and_sends_the_same_view():
    """A process that dies loses nothing that was acknowledged and sends the same view again."""
    shelf = FaultyStore()
    first = opened(shelf)
    first.append(TALK.say("user", "begin"))
    work(first, 30)
    view, kept = first.get_messages_for_request(), first.get_messages()
    again = opened(shelf)  # nobody closed the first
    assert again.get_messages_for_request() == view
    assert again.get_messages() == kept
    work(again, 5, start=30)
    assert opened(shelf).get_messages() == again.get_messages()


def test_pins_rewinds_ids_and_lanes_come_back():
    shelf = FaultyStore()
    first = opened(shelf)
    rule = first.append(TALK.say("user", "Never lie."), idempotency_key="rule")
    first.pin(rule)
    work(first, 20)
    first.get_messages_for_request(token_budget=1_500, lane="small")
    first.set_messages(first.get_messages()[:30])
    first.close()
    again = opened(shelf)
    assert again.append(TALK.say("user", "Never lie."), idempotency_key="rule") == rule
    assert again.explain()[0].reason == "pinned"
    assert len(again.get_messages()) == 30
    assert again.get_messages_for_request(token_budget=1_500, lane="small") == first.get_messages_for_request(
        token_budget=1_500, lane="small"
    )


def test_sessions_of_one_store_are_isolated_and_get_names():
    """Sessions of one store know nothing of each other and unnamed ones get a name of their own."""
    shelf: Any = FaultyStore()
    one, other = (ContextManager(store=shelf, tokenizer=count_quarter) for _ in range(2))
    one.append(TALK.say("user", "one"))
    other.append(TALK.say("user", "other"))
    assert one.session_id != other.session_id
    assert opened(shelf, one.session_id).get_messages() == [TALK.say("user", "one")]


def test_recall_finds_what_was_stored_before_a_resume():
    shelf = FaultyStore()
    opened(shelf).append(TALK.say("user", "the port is 5433"))
    again = opened(shelf)
    assert again.recall(0) == "the port is 5433"
    assert opened(shelf).recall(query="port").hits[0].seq == 0


def test_nothing_is_opened_before_the_first_use():
    shelf = FaultyStore()
    opened(shelf)
    assert (shelf.appends, shelf.ends, shelf.reads) == (0, 0, 0)


def test_append_is_one_write_and_a_plain_view_is_none():
    """One append is one write and a view between compactions is none."""
    shelf = FaultyStore()
    manager = opened(shelf, budget=1_000_000, clear_at_least_tokens=None)
    manager.append(TALK.say("user", "begin"))
    manager.get_messages_for_request()
    shelf.appends = 0
    for number in range(20):
        manager.append(TALK.say("assistant", f"{number}"), TALK.say("user", "and?"))
        manager.get_messages_for_request()
    assert shelf.appends == 20


def test_the_async_manager_waits_for_the_store_as_well():
    shelf: Any = FaultyStore()

    async def run():
        manager = backscroll.AsyncContextManager(session="s", store=shelf, tokenizer=count_quarter)
        await asyncio.gather(*(manager.append(TALK.say("user", str(number))) for number in range(20)))
        await manager.aclose()

    asyncio.run(run())
    assert [message["content"] for message in opened(shelf).get_messages()] == [str(number) for number in range(20)]


# -- a store that fails --


def test_what_could_not_be_stored_did_not_happen():
    shelf = FaultyStore()
    manager = opened(shelf)
    manager.append(TALK.say("user", "begin"))
    for change in (
        lambda: manager.append(TALK.say("assistant", "lost")),
        lambda: manager.set_messages([TALK.say("user", "other")]),
        lambda: manager.pin(0),
        manager.clear,
    ):
        shelf.fails = [StoreUnavailableError("no room")]
        with pytest.raises(StoreUnavailableError, match="no room"):
            change()
        assert manager.get_messages() == [TALK.say("user", "begin")]
    manager.append(TALK.say("assistant", "kept"))
    assert opened(shelf).get_messages() == manager.get_messages()
    assert opened(shelf).explain()[0].reason != "pinned"


def test_plan_that_cannot_be_stored_is_stored_later():
    """A plan that cannot be stored stops no request and is stored later."""
    shelf = FaultyStore()
    manager = opened(shelf, clear_at_least_tokens=None)
    manager.append(TALK.say("user", "begin"))
    number = 0
    while manager.usage().used_upper_bound < 2_500:
        work(manager, 1, start=number)
        number += 1
    manager.append(TALK.say("user", "word " * 1_000))
    shelf.fails = [StoreUnavailableError("no room")]
    with pytest.warns(RuntimeWarning, match="the store did not take the plan"):
        view = manager.get_messages_for_request()
    assert manager.usage().compactions == 1
    manager.append(TALK.say("assistant", "on we go"))
    assert opened(shelf).get_messages_for_request() == [*view, TALK.say("assistant", "on we go")]


def test_abandoned_append_is_found_in_the_session():
    """A caller that gave up while its message was stored finds it there."""
    shelf: Any = FaultyStore()
    release = Future()
    stored, shelf_append = [], shelf.append

    def slow(session, first, records, **named):
        stored.append(shelf_append(session, first, records, **named))
        return release

    async def run():
        manager = backscroll.AsyncContextManager(session="s", store=shelf, tokenizer=count_quarter)
        await manager.append(TALK.say("user", "begin"))
        await manager.get_messages_for_request()
        await manager.append(TALK.say("assistant", "yes"))
        manager.observe_usage(input_tokens=50)
        shelf.append = slow
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(manager.append(TALK.say("user", "are you there?")), 0.05)
        shelf.append = shelf_append
        await manager.append(TALK.say("assistant", "I am"))
        return manager

    manager = asyncio.run(run())
    texts = [message["content"] for message in asyncio.run(manager.get_messages())]
    assert texts == ["begin", "yes", "are you there?", "I am"]
    assert opened(shelf).get_messages() == asyncio.run(manager.get_messages())
    kinds = [record.kind for record in shelf.logs["s"]]
    assert kinds.count("usage") == kinds.count("lane") == 1


# -- several workers --


def test_two_workers_see_each_others_messages_and_keep_one_order():
    shelf = FaultyStore()
    one, other = opened(shelf, budget=1_000_000), opened(shelf, budget=1_000_000)
    chance = random.Random(3)
    for number in range(120):
        worker = chance.choice((one, other))
        match chance.randrange(4):
            case 0:
                worker.append(TALK.say("user", f"{number}?"), TALK.say("assistant", f"{number}!"))
            case 1:
                pair = [TALK.call([f"c{number}"], "", {}), *TALK.results([(f"c{number}", "fine")])]
                worker.append(TALK.say("user", f"{number}."), *pair, idempotency_key=f"pair-{number}")
            case 2:
                worker.get_messages_for_request()
            case 3:
                worker.pin(chance.randrange(len(worker.get_messages()) or 1)) if worker.get_messages() else None
    assert one.get_messages() == other.get_messages() == opened(shelf).get_messages()
    assert one.get_messages_for_request() == other.get_messages_for_request()


def test_a_plan_of_another_worker_is_taken_over():
    shelf = FaultyStore()
    one, other = opened(shelf), opened(shelf)
    one.append(TALK.say("user", "begin"))
    work(one, 30)
    assert other.get_messages_for_request() == one.get_messages_for_request()
    shelf.before = lambda: work(other, 12, start=100)
    work(one, 12, start=30)  # somewhere in here the other was first
    assert other.get_messages_for_request() == one.get_messages_for_request()


def test_message_that_still_follows_is_appended_after_the_other():
    """A message that still follows is added behind what came first."""
    shelf = FaultyStore()
    one, other = opened(shelf), opened(shelf)
    one.append(TALK.say("user", "begin"))
    shelf.before = lambda: other.append(TALK.say("assistant", "working"), TALK.say("user", "go on"))
    assert one.append(TALK.say("user", "and be quick")) == 3
    assert [m["content"] for m in one.get_messages()] == ["begin", "working", "go on", "and be quick"]


@pytest.mark.parametrize(
    ("theirs", "ours", "why"),
    [
        ([TALK.say("assistant", "my answer")], [TALK.say("assistant", "mine")], "answered already"),
        (TALK.results([("c", "theirs")]), TALK.results([("c", "ours")]), "were answered by another writer"),
        ([], [TALK.say("user", "wait")], "wait for their results"),
    ],
)
def test_message_that_no_longer_follows_is_refused_whole(theirs, ours, why):
    """What does not follow any more is refused and nothing of it is stored."""
    shelf = FaultyStore()
    one, other = opened(shelf), opened(shelf)
    one.append(TALK.say("user", "begin"))
    call = TALK.call(["c"], "", {})
    if why.startswith("were"):
        one.append(call)
    shelf.before = lambda: other.append(*(theirs or [call]))
    with pytest.raises(ConflictError, match=why):
        one.append(*ours)
    assert one.get_messages() == other.get_messages()
    assert ours[0] not in one.get_messages()


@pytest.mark.parametrize("seen", [True, False], ids=["seen", "raced"])
def test_open_calls_of_another_writer_are_waited_for(seen):
    """Whether this writer saw the calls before or lost the race to them, only their results may follow."""
    shelf = FaultyStore()
    one, other = opened(shelf), opened(shelf)
    one.append(TALK.say("user", "begin"))
    if seen:
        other.append(TALK.call(["c"], "", {}))
        one.get_messages()
    else:
        shelf.before = lambda: other.append(TALK.call(["c"], "", {}))
    for _ in range(3):
        with pytest.raises(ConflictError, match=r"calls \['c'\] of another writer wait for their results: append"):
            one.append(TALK.say("user", "wait"))
    other.append(*TALK.results([("c", "fine")]))
    one.append(TALK.say("user", "wait"))
    assert len(one.get_messages()) == 4


def test_results_of_another_writers_calls_can_be_appended():
    """A worker that is handed the calls of another one may answer them."""
    shelf = FaultyStore()
    one, other = opened(shelf), opened(shelf)
    one.append(TALK.say("user", "begin"))
    other.append(TALK.call(["c"], "", {}))
    one.get_messages()
    one.append(*TALK.results([("c", "fine")]))
    assert len(other.get_messages()) == 3


@pytest.mark.parametrize("resumed", [True, False])
def test_own_open_calls_block_no_writer(resumed):
    """Calls that this writer made, or that were there when it came, are not another writer's."""
    shelf = FaultyStore()
    one, other = opened(shelf), opened(shelf)
    one.append(TALK.say("user", "begin"), TALK.call(["c"], "", {}))
    writer = opened(shelf) if resumed else one
    writer.get_messages_for_request()
    shelf.before = lambda: other.pin(0)
    assert writer.append(TALK.say("user", "never mind")) == 2


def test_plan_of_another_writer_is_no_answer_of_it():
    """A second message of the assistant follows its first where others only compacted in between."""
    shelf = FaultyStore()
    one, other = opened(shelf), opened(shelf)
    one.append(TALK.say("user", "begin"), TALK.say("assistant", "one"))
    shelf.before = lambda: other.pin(0)
    assert one.append(TALK.say("assistant", "two")) == 2


def test_own_calls_whose_answer_was_lost_stay_own():
    """Calls that were stored although their caller gave up are not taken for another writer's."""
    shelf: Any = FaultyStore()
    append = FaultyStore.append

    def lost(session, first, records, **named):
        append(shelf, session, first, records, **named)
        raise StoreUnavailableError("the connection was lost on the way")

    one = opened(shelf)
    one.append(TALK.say("user", "begin"))
    shelf.append = lost
    with pytest.raises(StoreUnavailableError):
        one.append(TALK.call(["c"], "", {}))
    del shelf.append
    assert one.append(TALK.say("user", "never mind")) == 2
    assert len(one.get_messages()) == len(opened(shelf).get_messages()) == 3


def test_rewind_to_what_another_writer_took_back_is_refused():
    """A branch cannot end at a message that is not on it any more; a log that said so could never be read again."""
    shelf = FaultyStore()
    one, other = opened(shelf), opened(shelf)
    one.append(*[TALK.say("user", str(number)) for number in range(6)])
    shelf.before = lambda: other.rewind(2)
    with pytest.raises(ReferenceNotFoundError, match="message 4 is not on the current branch, whose last message is 2"):
        one.rewind(4)
    assert one.get_messages() == other.get_messages() == opened(shelf).get_messages()
    shelf.before = lambda: other.append(TALK.say("user", "6"))
    one.rewind(1)
    assert len(opened(shelf).get_messages()) == 2


def test_the_same_id_at_two_workers_is_added_once():
    shelf = FaultyStore()
    one, other = opened(shelf), opened(shelf)
    one.append(TALK.say("user", "begin"))
    shelf.before = lambda: other.append(TALK.say("user", "once"), idempotency_key="x")
    assert one.append(TALK.say("user", "once"), idempotency_key="x") == 1
    assert len(one.get_messages()) == 2


def test_a_writer_that_is_always_outrun_gives_up_and_says_so():
    shelf = FaultyStore()
    manager = opened(shelf)
    manager.append(TALK.say("user", "begin"))
    shelf.fails = [ConflictError("no")] * 50
    with pytest.raises(BackscrollError, match="faster 8 times"):
        manager.append(TALK.say("user", "hello?"))
    shelf.fails.clear()
    assert len(manager.get_messages()) == 1


class Counting(MemoryStore):
    """A store in which another worker may be first, time after time, and that counts turns."""

    faster = 0
    turns = 0
    other = None

    def append(self, *given, **more):
        if self.faster and self.other is not None:
            other, self.other, self.faster = self.other, None, self.faster - 1
            other.append(TALK.say("user", "first"))
            self.other = other
        return super().append(*given, **more)

    def turn(self, session):
        self.turns, self.faster = self.turns + 1, 0  # from here on nobody can be first
        return super().turn(session)


@pytest.mark.parametrize(("faster", "turns"), [(1, 0), (3, 0), (4, 1), (50, 1)])
def test_writer_that_lost_four_times_takes_a_turn(faster, turns):
    """To try again is quicker than a turn, in which all others wait; after a few times nobody is left behind."""
    store = Counting()
    one, store.other = opened(store), opened(store)
    one.append(TALK.say("user", "begin"))
    store.faster = faster
    one.append(TALK.say("user", "me too"))
    assert store.turns == turns
    assert len(one.get_messages()) == 2 + min(faster, 4)


def test_step_of_one_writer_asks_the_store_once_for_each_call():
    """To know whose log it is costs no question more: one look before a view, one append for a change, no reading."""
    shelf = FaultyStore()
    manager = opened(shelf, budget=1_000_000, clear_at_least_tokens=None)
    manager.append(TALK.say("user", "begin"))
    shelf.appends = shelf.ends = shelf.reads = 0
    work(manager, 20)
    assert (shelf.appends, shelf.ends, shelf.reads) == (40, 20, 0)


SCALARS = st.sampled_from([0, 1, 0.0, 1.0, False, True, -0.0, None, "1"])


@given(SCALARS, SCALARS, st.booleans())
@settings(max_examples=examples(100))
def test_messages_that_differ_in_a_type_are_different(one, other, nested):
    """1, 1.0 and True are three values in JSON, for `append(id=)` and `set_messages` alike."""
    first, second = (
        TALK.say("user", "x") | {"metadata": {"n": [value] if nested else value}} for value in (one, other)
    )
    manager = opened(MemoryStore())
    manager.append(first, idempotency_key="x")
    if json.dumps(one) == json.dumps(other):
        assert manager.append(second, idempotency_key="x") == 0
    else:
        with pytest.raises(ConflictError, match="was used before"):
            manager.append(second, idempotency_key="x")
    manager.set_messages([second])
    assert json.dumps(manager.get_messages()) == json.dumps([second])


# -- one writer --


def test_lease_keeps_other_writers_out_until_released():
    """A lease keeps others from writing until it is given back."""
    store = MemoryStore()
    one = opened(store, lease=600)
    other, third = opened(store, lease=600), opened(store)
    one.append(TALK.say("user", "begin"))
    with pytest.raises(ConflictError, match="is kept by"):
        other.append(TALK.say("user", "me too"))
    assert other.get_messages() == [TALK.say("user", "begin")]
    one.close()
    other.append(TALK.say("assistant", "now me"))
    third.append(TALK.say("user", "I lease nothing"))
    with pytest.raises(ConflictError, match="is not its end"):  # who leases takes in nobody else's writing
        other.append(TALK.say("assistant", "mine"))


def test_lost_lease_allows_close_and_erase_takes_a_new_one():
    """Who lost a lease can close and who deletes begins with a new one."""
    store = MemoryStore()
    one = opened(store, lease=600)
    one.append(TALK.say("user", "begin"))
    store._leases.clear()  # it ran out, and another one came
    store.lease("s", "another one", 600).result()
    one.close()
    with pytest.raises(ConflictError, match="is kept by 'another one'"):
        one.append(TALK.say("assistant", "me"))
    one.delete()
    one.append(TALK.say("user", "begin again"))
    assert store._leases["s"][0] != "another one"


@pytest.mark.parametrize("wrong", [0, -1, True, "600", 1e9])
def test_a_lease_that_cannot_be_is_refused_at_construction(wrong):
    with pytest.raises(ConfigurationError, match="`lease` must be a number of seconds"):
        opened(MemoryStore(), lease=wrong)


def test_a_lease_needs_a_store_that_can_keep_sessions():
    store: Any
    for store in (None, FaultyStore()):
        with pytest.raises(ConfigurationError, match="`lease` requires a store"):
            ContextManager(store=store, lease=5)
