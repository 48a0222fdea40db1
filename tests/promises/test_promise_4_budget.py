"""Promise 4: a view fits the budget by the upper estimate."""

from itertools import count
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backscroll import BudgetError, ContextManager, ToolResultPreview
from backscroll.evaluation.fake_providers import FakeAnthropic, reply
from tests.builders import ASK, BUDGETS, MessageFactory, conversations, feed, session_with_both_triggers
from tests.fakes import count_quarter
from tests.views import weight

OPTIONS: dict[str, Any] = {"tokenizer": count_quarter, "budget": 6_000}
CHAT = MessageFactory("openai")

PREVIEWS = st.builds(
    ToolResultPreview,
    threshold_tokens=st.sampled_from([60, 300, 1_000]),
    preview_tokens=st.sampled_from([10, 40]),
    when=st.sampled_from(["seen", "arrival"]),
)


def calling(*ids: str) -> dict[str, Any]:
    calls = [{"id": each, "type": "function", "function": {"name": "run", "arguments": "{}"}} for each in ids]
    return {"role": "assistant", "content": "", "tool_calls": calls}


LATE = [
    *(CHAT.say("user", "go"), calling("a", "b"), CHAT.say("user", "wait", {"source": "hook"})),
    *CHAT.results([("a", "done"), ("b", "<summary> " * 237)]),
    *(calling("a"), calling("a"), CHAT.say("user", "on", {"source": "hook"})),
    *(*CHAT.results([("a", "done")]), calling("a"), calling("a")),
]
"""A late result, sent as text, in which many signs are escaped."""


@given(conversations(), BUDGETS, ASK, st.none() | PREVIEWS)
@example(LATE, 2_420, 36, None)
def test_4_views_fit_the_budget_by_the_upper_estimate(messages, budget, ask, previews):
    """Also with previews, and nothing changes where nothing was added."""
    watched = session_with_both_triggers(tool_result_preview=previews)

    def check(_: list[Any]) -> None:
        view = watched.view(budget)
        if view is not None:
            usage = watched.manager.usage()
            assert usage.used_upper_bound <= budget
            assert weight(view) <= usage.used_upper_bound
            assert watched.view(budget) == view

    feed(messages, ask, check, watched)


@pytest.mark.filterwarnings("ignore:the usage")
@given(conversations(), BUDGETS, ASK, st.none() | PREVIEWS, st.sampled_from([0.5, 0.8, 1.0]))
def test_4_views_fit_with_any_count_of_the_provider(messages, budget, ask, previews, share):
    """Reports make estimates smaller, and an edit of what they counted makes them larger again."""
    watched = session_with_both_triggers(tool_result_preview=previews)

    def check(_: list[Any]) -> None:
        if watched.view(budget) is not None:
            usage = watched.manager.usage()
            assert usage.used_upper_bound <= budget
            watched.manager.observe_usage(input_tokens=max(1, int(usage.used.tokens * share)))

    feed(messages, ask, check, watched)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["result", "result", "answer", "user"]),
        st.sampled_from([5, 400, 1_200]),
        st.sampled_from([None, None, 0, 0.5, 0.6, 1.0, 2.0]),
    ),
    max_size=30,
)
"""What is added, its words, and what share of the estimate the provider reports; 0: nothing, `None`: no request."""


@pytest.mark.filterwarnings("ignore::backscroll.BackscrollWarning")  # reports contradict each other on purpose
@given(STEPS, st.sampled_from([3_000, 4_200]), st.sampled_from([None, 400]))
@example([("answer", 400, 0.6), ("result", 1_200, None), ("result", 400, 0)], 4_200, 400)
def test_4_views_fit_a_given_overhead_and_any_count(steps, overhead, clear):
    """What is due after a plan was adopted may leave no report to measure by, and then the same view counts more."""
    manager, talk = ContextManager(**OPTIONS, overhead_tokens=overhead, clear_at_least_tokens=clear), CHAT
    manager.append(talk.say("user", "go"))
    for number, (kind, size, share) in enumerate(steps):
        if kind == "result":
            manager.append(talk.call([f"c{number}"], "", {}), *talk.results([(f"c{number}", "word " * size)]))
        else:
            manager.append(talk.say("assistant" if kind == "answer" else "user", "word " * size))
        if share is None:
            continue
        try:
            manager.get_messages_for_request()
        except BudgetError:
            return
        usage = manager.usage()
        assert usage.used_upper_bound <= 6_000
        if share:
            manager.observe_usage(input_tokens=int(usage.used.tokens * share))


def test_4_a_preview_that_outweighs_a_report_is_compacted_too():
    """Parallel results are cut to previews before they are first sent, and then no measure is left."""
    text = "".join(f"line {n}: nothing of note happened here\n" for n in range(40))
    tool = {"name": "read", "description": "Read a file.", "input_schema": {"type": "object"}}
    steps = ([("read", {"path": f"file{turn}-{at}"}) for at in range(3 if turn % 4 == 3 else 1)] for turn in count())
    provider = FakeAnthropic(replies=lambda _: reply("", thinking="Read on.", calls=next(steps)))
    context = ContextManager(budget=6_000, model="claude-opus-5-5")
    context.append({"role": "user", "content": text[:600]})
    for turn in range(40):
        view = context.get_messages_for_request(tools=[tool])
        assert context.usage().used_upper_bound <= 6_000, turn
        response = provider.create(messages=view, tools=[tool])
        context.observe_response(response)
        context.append({"role": "assistant", "content": response["content"]})
        for block in response["content"]:
            if block["type"] == "tool_use":
                result = {"type": "tool_result", "tool_use_id": block["id"], "content": f"{block['input']}\n{text}"}
                context.append({"role": "user", "content": [result]})
