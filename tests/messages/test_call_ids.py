"""Ids of calls: two are equal where they mean the same call, in every dialect."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll import ContextManager
from backscroll.messages import read_message
from backscroll.messages.pairing import matched
from backscroll.messages.parts import CallId
from tests.builders import MessageFactory

NAMES = st.text("abc_1:", min_size=1, max_size=4)
IDS = st.one_of(
    st.builds(CallId, NAMES),
    st.builds(CallId.of_function, NAMES),
    st.builds(CallId.of_function, NAMES, NAMES),
    st.builds(lambda function, number: CallId.of_function(function, number=number), NAMES, st.integers(0, 9)),
)


def called(*calls: dict[str, str]) -> tuple[CallId, ...]:
    """The ids of calls of Gemini."""
    return read_message({"role": "model", "parts": [{"functionCall": call} for call in calls]}).calls


def answered(*responses: dict[str, str]) -> list[CallId]:
    """What responses of Gemini name."""
    parts = [{"functionResponse": {**response, "response": {"output": "ok"}}} for response in responses]
    return [name for name, _ in read_message({"role": "user", "parts": parts}).results]


@pytest.mark.parametrize("dialect", ["openai", "amplifier", "anthropic", "bedrock", "responses", "gemini"])
def test_call_and_its_result_have_equal_ids(dialect):
    """Each message is read by itself, as a search reads what is no longer in memory."""
    talk = MessageFactory(dialect)
    calls = read_message(talk.call(["c1", "c2"], "", {"path": "a"})).calls
    results = [
        name for message in talk.results([("c1", "a"), ("c2", "b")]) for name, _ in read_message(message).results
    ]
    assert list(calls) == results
    assert dict(zip(calls, "ab", strict=True))[results[1]] == "b"
    assert calls[0] != results[1]


def test_id_decides_also_for_another_function():
    (call,), (answer, other) = called({"name": "run", "id": "c"}), answered({"name": "r", "id": "c"}, {"name": "run"})
    assert (call == answer, hash(call) == hash(answer), call == other) == (True, True, False)


def test_calls_without_an_id_differ_by_function_and_number():
    assert len(set(called({"name": "run"}, {"name": "run"}, {"name": "read"}))) == 3
    assert called({"name": "run"}) == called({"name": "run"})


def test_function_alone_may_mean_each_of_its_calls():
    (answer,) = answered({"name": "run"})
    calls = called({"name": "run"}, {"name": "run", "id": "c"}, {"name": "read"})
    assert [answer == call for call in calls] == [False, False, False]
    assert [answer.may_mean(call) for call in calls] == [True, True, False]
    assert [answer in call.names for call in calls] == [True, True, False]
    assert matched(
        [answer, *answered({"name": "run", "id": "c"})], [((0, at), call) for at, call in enumerate(calls)]
    ) == [
        calls[0],
        calls[1],
    ]


def test_ids_with_a_function_equal_no_other_ids():
    assert called({"name": "run", "id": "c"})[0] != CallId("c")
    (older,) = read_message({"role": "assistant", "function_call": {"name": "run", "arguments": "{}"}}).calls
    ((result, _),) = read_message({"role": "function", "name": "run", "content": "ok"}).results
    assert older == result


@given(IDS, IDS)
def test_equality_is_that_of_id_or_function_and_number(one, other):
    same = type(one.function) is type(other.function) and (
        one.given == other.given if one.given or other.given else one.record == other.record
    )
    assert (one == other) == same
    assert one != other or hash(one) == hash(other)


@given(IDS)
def test_recorded_id_is_the_same_as_before(call):
    again = CallId.recorded(call.record)
    assert (again, again.record, again.given) == (call, call.record, call.given)


def test_paired_response_keeps_what_it_ends_for_a_server():
    """The part is the second half of a pair, which a provider refuses without the first."""
    parts = [{"functionResponse": {"name": "run", "response": {}}}, {"toolResponse": {"id": "t"}}]
    reading = read_message({"role": "user", "parts": parts})
    made = reading.answering(called({"name": "run"}))
    assert (made.results[0][0], made.served) == (called({"name": "run"})[0], ("t",))


def test_logs_have_the_function_before_an_id():
    (call,) = called({"name": "run", "id": "c"})
    assert (call.record, call.given, CallId.recorded("function:run c")) == ("function:run c", "c", call)


def test_recall_knows_the_call_of_an_evicted_result(tmp_path):
    """A search names what a result is of, also where the result is read without its call."""
    talk = MessageFactory("gemini")
    with ContextManager(store=f"sqlite:///{tmp_path}/a.db", session="s") as manager:
        manager.append(talk.say("user", "go"))
        for at in range(12):
            manager.append(talk.call([f"c{at}"], "", {"path": f"file{at}.py"}))
            manager.append(*talk.results([(f"c{at}", f"lines of number{at}")]))
        found = manager.recall(query="file7.py")
        assert "number7" in str(found)
