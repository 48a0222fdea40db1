"""A view names, for each of its messages, the messages of the conversation that it represents."""

from hypothesis import given

from backscroll import ContextManager
from backscroll.manager.driver import run_sync
from backscroll.messages import copy_message, sendable
from backscroll.messages.dialects.response_items import in_a_row
from backscroll.session.request import request_with_indexes
from tests.builders import ASK, BUDGETS, LONG, MessageFactory, conversations, feed, session_after, tool
from tests.fakes import RecordingSession, count_quarter


def view_of(context, budget):
    return run_sync(context._opened, request_with_indexes(context._session, budget, "main"))


@given(conversations(), BUDGETS, ASK)
def test_indexes_name_what_each_message_represents(messages, budget, ask):
    session = RecordingSession()

    def step(_):
        if session.view(budget) is None:
            return
        found, stored = view_of(session.manager, budget), session.manager.get_messages()
        assert in_a_row([each.message for each in found]) == session.manager.view()
        for each in found:
            assert list(each.indexes) == sorted(set(each.indexes))
            if each.unchanged:
                assert each.message == sendable(stored[each.indexes[0]])
            for index in each.indexes:
                late = each.message["role"] == "user" and "<result>" in str(each.message)
                assert each.message["role"] == stored[index]["role"] or (late and stored[index]["role"] == "tool")
        represented = {index for each in found for index in each.indexes}
        statuses = session.manager.explain()
        assert represented >= {at for at, each in enumerate(statuses) if each.state == "whole"}
        assert represented <= {at for at, each in enumerate(statuses) if each.state not in ("digested", "left out")}

    feed(messages, ask, step, session)


def test_a_message_that_is_whole_is_unchanged_and_an_edit_is_not():
    context = session_after(60)
    found, stored = view_of(context, 6_000), context.get_messages()
    assert {each.unchanged for each in found} == {True, False}
    edited = [each for each in found if each.indexes and not each.unchanged]
    assert edited, "a long result is cut"
    for each in edited:
        assert each.message != stored[each.indexes[0]]
    written = [each for each in found if not each.indexes]
    assert any("<summary>" in each.message["content"] for each in written)


def test_indexes_count_messages_of_the_branch_after_a_rewind():
    context = session_after(3)
    context.rewind(4)
    context.append(tool("short", "c1"))
    found, stored = view_of(context, 100_000), context.get_messages()
    assert [each.indexes for each in found] == [(at,) for at in range(len(stored))]
    assert [each.message for each in found] == stored


def test_answers_to_open_calls_represent_nothing():
    context = session_after(1)
    stored = context.get_messages()
    context.rewind(2)
    context.append({"role": "user", "content": "go on"})
    found = view_of(context, 100_000)
    assert [each.indexes for each in found] == [(0,), (1,), (2,), (), (3,)]
    assert found[3].message["tool_call_id"] == stored[3]["tool_call_id"]


def test_what_only_responses_have_is_no_edit():
    spoken = {"type": "output_text", "text": "hello", "annotations": [], "logprobs": None}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [spoken]}
    context = ContextManager(tokenizer=count_quarter)
    context.append({"role": "user", "content": "hi"}, {"role": "assistant", "content": [item]})
    answer = view_of(context, 100_000)[1]
    assert answer.unchanged
    assert answer.message != context.get_messages()[1]


def test_results_shown_as_text_have_their_own_indexes():
    context = ContextManager(tokenizer=count_quarter)
    context.append({"role": "user", "content": "hi"}, MessageFactory("openai").call(["a", "b"], "", {}))
    context.append(tool("first", "a"), tool("again", "a"), tool("second", "b"))
    found = view_of(context, 100_000)
    assert [each.indexes for each in found] == [(0,), (1,), (2,), (), (3,), (4,)]
    assert [each.unchanged for each in found[3:]] == [False, False, False]
    assert [each.message["role"] for each in found[3:]] == ["tool", "user", "user"]


def test_a_changed_copy_does_not_change_the_session():
    context = session_after(2)
    before = copy_message({"all": context.get_messages()})
    for each in view_of(context, 100_000):
        each.message.clear()
    assert {"all": context.get_messages()} == before
    assert LONG[:20] in str(view_of(context, 100_000)[-1].message)
