"""The budget that follows from a model's name, and what an overflow leaves in the session."""

from itertools import pairwise
from typing import Any

import pytest

from backscroll import BackscrollWarning, BudgetError, BudgetOptions, ConfigurationError, ContextManager, events
from backscroll.stores.memory import MemoryStore
from backscroll.tokens.model_profiles import ModelProfile
from tests.fakes import count_quarter


class Provider:
    """A provider that reports its window."""

    def get_model_info(self):
        return {"context_window": 50_000, "max_output_tokens": 8_000}


def budget_of(lane: str = "main", call: int | None = None, provider: object = None, **options) -> int:
    """Return the tokens that a request of a new session may take."""
    with ContextManager(**options) as context:
        context.append({"role": "user", "content": "Where is the bug?"})
        context.get_messages_for_request(call, provider, lane=lane)
        return context.usage(lane).window


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("claude-opus-5-5", 1_000_000 - 128_000 - 1_000),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", 200_000 - 64_000 - 1_000),
        ("openai/gpt-6.2-sol", 1_050_000 - 128_000 - 1_000),
        ("gpt-5.4-mini", 271_000),
        ("grok-4.7", 250_000 - 1_000),
        ("llama-3.3-70b", 131_072 - 4_096 - 1_000),
    ],
)
def test_model_alone_gives_a_budget(model, tokens):
    assert budget_of(model=model) == tokens


def test_largest_input_is_the_upper_bound():
    assert budget_of(model="gpt-5.4-mini", budget=BudgetOptions(output_reserve=0)) == 272_000


def test_what_names_the_budget_first_decides():
    """The call, the provider, `max_tokens`, the lane's model, the session's model, in that order."""
    haiku: dict[str, Any] = {"model": "claude-haiku-4-5"}
    assert budget_of(call=7_000, provider=Provider(), budget=9_000, **haiku) == 7_000
    assert budget_of(provider=Provider(), budget=9_000, **haiku) == 41_000
    assert budget_of(lane="gpt-4o", budget=9_000, **haiku) == 9_000
    assert budget_of(lane="gpt-4o", **haiku) == 128_000 - 16_384 - 1_000
    assert budget_of(lane="title", **haiku) == 135_000
    assert budget_of(lane="title") == 200_000
    assert budget_of(model=ModelProfile("mine")) == 200_000


def test_own_windows_take_precedence_over_the_table():
    budget = BudgetOptions(windows={"my-model": 32_000, "claude-opus-5.5": 300_000})
    assert budget_of(model="my-model", budget=budget) == 32_000 - 4_096 - 1_000
    assert budget_of(model="gateway/My-Model", budget=budget) == 32_000 - 4_096 - 1_000
    assert budget_of(model="us.anthropic.claude-opus-5-5-20260922-v1:0", budget=budget) == 300_000 - 128_000 - 1_000


def test_unknown_model_gets_an_assumed_window_said_once():
    heard = []
    with ContextManager(model="my-model", on_event=lambda *event: heard.append(event)) as context:
        context.append({"role": "user", "content": "Where is the bug?"})
        with pytest.warns(BackscrollWarning, match=r"'my-model' is not known, and 128,000 .*`windows` of"):
            context.get_messages_for_request()
        context.get_messages_for_request()  # warns no more, or this would fail
        context.get_messages_for_request(lane="title")
        assert context.usage().window == 128_000 - 4_096 - 1_000
    payload = {"lane": "main", "model": "my-model", "window": 128_000}
    assert [event for event in heard if event[0] == events.WINDOW_ASSUMED] == [(events.WINDOW_ASSUMED, payload)]


@pytest.mark.parametrize("options", [{"budget": 9_000}, {"budget": BudgetOptions(windows={"my-model": 32_000})}])
def test_unknown_model_with_a_set_budget_warns_of_nothing(options):
    """Warnings are errors here."""
    assert budget_of(model="my-model", **options) < 32_000
    assert budget_of(model="my-model", call=4_000) == 4_000


@pytest.mark.parametrize("wrong", [{"my-model": 0}, {"my-model": "32k"}, {"": 1}, {3: 4}, ["my-model"], 32_000])
def test_windows_that_cannot_be_are_refused(wrong):
    with pytest.raises(ConfigurationError, match="`windows"):
        BudgetOptions(windows=wrong)


def test_window_used_up_by_the_margin_names_the_knobs():
    options = BudgetOptions(windows={"tiny": 900})
    with pytest.raises(BudgetError, match=r"model's window of 900 .*margin_tokens"):
        budget_of(model="tiny", budget=options)


def test_overflow_limit_holds_for_its_lane_after_a_restart(tmp_path):
    """What the provider's error said is part of the session, like a message."""
    address = f"sqlite:///{tmp_path / 'agent.db'}"
    with ContextManager(store=address, session="s", model="claude-opus-5-5") as context:
        context.append({"role": "user", "content": "Where is the bug?"})
        for number in range(20):
            context.append({"role": "assistant", "content": f"Step {number}. " + "It is near. " * 200})
        context.append({"role": "user", "content": "And?"})
        context.get_messages_for_request()
        context.observe_overflow(requested_tokens=context.usage().used.tokens, limit_tokens=4_000)
        with pytest.warns(BackscrollWarning, match="refused a request"):
            context.append({"role": "user", "content": "Go on."})
    with ContextManager(store=address, session="s", model="claude-opus-5-5") as context:
        context.get_messages_for_request()
        assert context.usage().used_upper_bound <= 4_000
        context.get_messages_for_request(lane="title")
        assert context.usage().free < 4_000 < 800_000 < context.usage("title").free


@pytest.mark.filterwarnings("ignore::backscroll.BackscrollWarning")
@pytest.mark.parametrize("outside", [0, 1_000, 5_000, 7_000])
@pytest.mark.parametrize("restarts", [False, True])
def test_each_view_after_a_refusal_is_shorter_or_an_error(outside, restarts):
    """Where the provider names no limit: also once nearly all of the budget seems to be outside the messages."""
    store, sizes = MemoryStore(), []
    options: dict[str, Any] = {"store": store, "session": "s", "budget": 8_000, "tokenizer": count_quarter}
    context = ContextManager(**options)
    context.append({"role": "user", "content": "Where is the bug?"})
    for number in range(20):
        context.append({"role": "assistant", "content": f"Step {number}. " + "It is near. " * 200})
        context.append({"role": "user", "content": f"And then {number}?"})
    with pytest.raises(BudgetError):  # noqa: PT012 - the last of the requests raises
        for number in range(40):
            view = context.get_messages_for_request()
            sizes.append(sum(len(message["content"]) for message in view))
            if number == 0:
                context.observe_usage(input_tokens=context.usage().used.tokens + outside)
            context.observe_overflow()
            if restarts:
                context.close()
                context = ContextManager(**options)
    context.close()
    assert len(sizes) > 3
    assert all(later < earlier for earlier, later in pairwise(sizes)), sizes
