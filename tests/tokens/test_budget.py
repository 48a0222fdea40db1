"""The token budget of a request: who names it, what providers tell, and options that can never work."""

import asyncio
import inspect
from dataclasses import dataclass, fields
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll import BudgetError, BudgetOptions, ConfigurationError, ContextManager, Protection
from backscroll.compaction.options import CompactionOptions
from backscroll.ports import Ask
from backscroll.tokens.budget import Budget, provider_window, resolve_budget
from backscroll.tokens.windows import LaneWindows

resolved = partial(resolve_budget, known=LaneWindows(), lane="main")
WINDOW = {"context_window": 200_000, "max_output_tokens": 8_000}

# --- who names it --------------------------------------------------------------------------------------------------


@given(st.integers(1, 10**9), st.none() | st.just(WINDOW))
def test_an_explicit_budget_is_taken_as_it_is(tokens: int, window: Any) -> None:
    assert resolved(tokens, window, BudgetOptions()) == Budget(tokens, "token_budget")


@pytest.mark.parametrize("tokens", [0, -1])
def test_resolve_budget_not_positive_raises_budget_error(tokens: int) -> None:
    """A budget that holds nothing is a matter of the budget."""
    with pytest.raises(BudgetError, match="`token_budget` must be a positive whole number"):
        resolved(tokens, WINDOW, BudgetOptions())


@pytest.mark.parametrize(
    "tokens", ["16k", "8000", True, False, 1.0, 8000.0, float("nan"), float("inf"), [8000], object()]
)
def test_resolve_budget_wrong_type_raises_configuration_error(tokens: Any) -> None:
    """A budget of the wrong type is a matter of the caller's code, and names the parameter and the value."""
    with pytest.raises(ConfigurationError, match=r"^`token_budget` must be a whole number .* such as 16_000") as raised:
        resolved(tokens, WINDOW, BudgetOptions())
    assert str(raised.value).endswith(f"not {tokens!r:.80}")


def test_provider_window_is_reduced_by_output_and_margin() -> None:
    """A providers window is reduced by its output and the margin."""
    assert resolved(None, WINDOW, BudgetOptions()) == Budget(191_000, "provider")
    half = BudgetOptions(output_reserve=0.5, margin_tokens=4_096)
    assert resolved(None, WINDOW, half) == Budget(200_000 - 4_000 - 4_096, "provider")
    assert resolved(None, WINDOW, BudgetOptions(output_reserve=0)) == Budget(199_000, "provider")


@pytest.mark.parametrize("output", [None, 0, -5, "8000", 8000.0, True])
def test_invalid_output_size_reserves_the_contract_default(output: Any) -> None:
    """An output that is no number of tokens reserves what the contract says."""
    window = {"context_window": 200_000, "max_output_tokens": output}
    assert resolved(None, window, BudgetOptions()) == Budget(200_000 - 4_096 - 1_000, "provider")


@pytest.mark.parametrize("size", [None, 0, "200k"])
def test_an_output_without_a_window_is_taken_off_max_tokens(size: Any) -> None:
    window = {"context_window": size, "max_output_tokens": 8_000}
    assert resolved(None, window, BudgetOptions(max_tokens=50_000)) == Budget(41_000, "provider")


@pytest.mark.parametrize(
    "window", [None, {}, {"context_window": None}, {"context_window": 0}, {"context_window": True}]
)
def test_without_a_window_the_budget_is_max_tokens(window: Any) -> None:
    assert resolved(None, window, BudgetOptions(max_tokens=12_345)) == Budget(12_345, "max_tokens")


def test_window_used_up_by_reserves_is_refused_with_knobs() -> None:
    """A window that its own reserves use up is refused with the knobs to turn."""
    with pytest.raises(BudgetError, match=r"1,000.*output_reserve.*margin_tokens.*token_budget"):
        resolved(None, {"context_window": 1_000, "max_output_tokens": 500}, BudgetOptions())


def test_a_window_that_is_all_output_is_shared_with_the_input() -> None:
    window = {"context_window": 128_000, "max_output_tokens": 128_000}
    assert resolved(None, window, BudgetOptions()) == Budget(63_000, "provider")


# --- what providers tell -------------------------------------------------------------------------------------------


@dataclass
class Info:
    """What a provider answers, as an object."""

    context_window: Any = None
    max_output_tokens: Any = None
    defaults: Any = None


class Provider:
    """A provider with the methods it is given."""

    def __init__(self, **methods: Any) -> None:
        for name, method in methods.items():
            setattr(self, name, method)


def raising() -> Any:
    raise RuntimeError("no network")


async def raising_later() -> Any:
    raise RuntimeError("no network")


def telling(answer: Any) -> Any:
    return lambda: answer


def telling_later(answer: Any) -> Any:
    async def tell() -> Any:
        return answer

    return tell


def drive(provider: Any) -> Any:
    """Answers what the core asks, by hand: calls, awaits, and hands a failure back as an answer."""
    operation = provider_window(provider)
    answer: Any = None
    try:
        while True:
            question = operation.send(answer)
            assert isinstance(question, Ask)
            assert question.tolerant
            assert not question.heavy
            try:
                answer = question.function(*question.arguments)
                answer = asyncio.run(answer) if inspect.iscoroutine(answer) else answer
            except Exception as error:
                answer = error
    except StopIteration as stop:
        told, failures = stop.value
        assert all("failed" in failure for failure in failures)
        return told


TOLD = Info(200_000, 8_000)


@pytest.mark.parametrize("tell", [telling, telling_later], ids=["sync", "async"])
@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("get_model_info", TOLD),
        ("get_model_info", WINDOW),
        ("get_info", Info(defaults=WINDOW)),
        ("get_info", {"defaults": WINDOW}),
        ("get_info", Info(defaults=TOLD)),
        ("get_info", SimpleNamespace(defaults={**WINDOW, "model": "x"})),
        ("get_info", TOLD),
        ("get_model_info", Info(defaults=WINDOW)),
    ],
)
def test_window_is_found_in_every_provider_field(tell: Any, name: str, answer: Any) -> None:
    assert drive(Provider(**{name: tell(answer)})) == WINDOW


def test_the_models_own_info_goes_before_the_providers_defaults() -> None:
    provider = Provider(get_model_info=telling(Info(32_000, 1_000)), get_info=telling(Info(defaults=WINDOW)))
    assert drive(provider) == {"context_window": 32_000, "max_output_tokens": 1_000}


@pytest.mark.parametrize(
    "unhelpful",
    [
        raising,
        raising_later,
        lambda model: Info(1, 1),
        telling(None),
        telling("200k"),
        telling(RuntimeError("returned")),
        telling(Info("200000", "8000")),
        telling(Info(200_000.0)),
        telling(Info(True)),
        telling(Info(0)),
        telling(Info(-1)),
        telling(Info(defaults={})),
        "not a method",
        None,
    ],
)
def test_failing_or_silent_provider_source_is_skipped(unhelpful: Any) -> None:
    """A provider that fails or says nothing useful is asked on and then passed over."""
    assert drive(Provider(get_model_info=unhelpful, get_info=telling(Info(defaults=WINDOW)))) == WINDOW
    assert drive(Provider(get_model_info=unhelpful)) is None
    assert drive(Provider(get_info=unhelpful)) is None
    assert drive(Provider(get_model_info=unhelpful, get_info=unhelpful)) is None


@pytest.mark.parametrize("provider", [None, object(), "provider", 5, {}])
def test_what_is_no_provider_is_not_asked_at_all(provider: Any) -> None:
    assert drive(provider) is None


def test_window_without_an_output_size_is_reported_as_such() -> None:
    assert drive(Provider(get_model_info=telling({"context_window": 32_000}))) == {"context_window": 32_000}


def test_window_and_output_may_come_from_different_sources() -> None:
    """One figure may come from the model and the other from the providers defaults."""
    provider = Provider(
        get_model_info=telling({"context_window": 32_000}), get_info=telling(Info(defaults=WINDOW | {"model": "m"}))
    )
    assert drive(provider) == {"context_window": 32_000, "max_output_tokens": 8_000}


# --- options -------------------------------------------------------------------------------------------------------

SHARES = (
    (CompactionOptions, "compact_threshold"),
    (CompactionOptions, "target_usage"),
    (Protection, "recent"),
    (Protection, "working_set"),
    (BudgetOptions, "output_reserve"),
)
WHOLE = (
    (BudgetOptions, "max_tokens"),
    (BudgetOptions, "margin_tokens"),
    (CompactionOptions, "clear_at_least_tokens"),
    (CompactionOptions, "max_messages"),
    (CompactionOptions, "compact_at"),
    (CompactionOptions, "compact_to"),
    (Protection, "results"),
    (Protection, "first"),
    (Protection, "last"),
)


def test_the_defaults_are_those_of_the_design() -> None:
    budget, compaction = BudgetOptions(), CompactionOptions()
    assert budget.max_tokens is None
    assert resolved(None, None, budget) == Budget(200_000, "default")
    assert (compaction.compact_threshold, compaction.target_usage, compaction.protect.recent) == (0.92, 0.7, 0.15)
    names = {(type(group), each.name) for group in (budget, compaction, Protection()) for each in fields(group)}
    groups = {
        (CompactionOptions, "tool_result_preview"),
        (CompactionOptions, "protect"),
        (CompactionOptions, "digest"),
        (CompactionOptions, "plan_ahead"),
        (BudgetOptions, "windows"),
    }
    assert (compaction.compact_at, compaction.compact_to) == (None, None)
    assert names == {*SHARES, *WHOLE, *groups}


@pytest.mark.parametrize(("group", "name"), SHARES)
@pytest.mark.parametrize("value", [-0.01, 1.01, 85, float("nan"), float("inf"), True, "0.5", None])
def test_a_share_out_of_range_is_refused_by_name(group: Any, name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=name):
        group(**{name: value})


@pytest.mark.parametrize("name", ["compact_threshold", "target_usage"])
def test_a_threshold_and_a_target_of_nothing_are_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match=name):
        CompactionOptions(**{name: 0})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("group", "name", "value"),
    [
        *[(*each, value) for each in WHOLE for value in (-1, 1.5, 1000.0, True, "1000", float("nan"))],
        (BudgetOptions, "max_tokens", 0),
        (BudgetOptions, "margin_tokens", None),
        (Protection, "results", None),
        (CompactionOptions, "max_messages", 7),
        (CompactionOptions, "compact_at", 0),
        (CompactionOptions, "compact_to", 0),
    ],
)
def test_a_whole_number_that_is_none_is_refused_by_name(group: Any, name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=name):
        group(**{name: value})


@pytest.mark.parametrize("value", [-1, 1.5, True, "1000"])
def test_overhead_that_is_no_number_of_tokens_is_refused(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="overhead_tokens"):
        ContextManager(overhead_tokens=value)


@pytest.mark.parametrize(("target", "threshold"), [(0.5, 0.5), (0.6, 0.5), (1, 1)])
def test_target_not_below_the_threshold_is_refused(target: float, threshold: float) -> None:
    """A target at or above the threshold is refused with both names."""
    with pytest.raises(ConfigurationError, match=r"target_usage.*compact_threshold"):
        CompactionOptions(target_usage=target, compact_threshold=threshold)


def test_the_ends_of_the_ranges_are_allowed() -> None:
    BudgetOptions(max_tokens=1, margin_tokens=0, output_reserve=0)
    BudgetOptions(output_reserve=1)
    CompactionOptions(compact_threshold=1, target_usage=0.99, protect=Protection(recent=0))
    Protection(recent=1)
