"""Where nearly all of the budget must stay: compactions win little, which is said once, and are fewer."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import BackscrollWarning, BudgetError, Protection, events
from tests.fakes import RecordingSession
from tests.profiles import examples

BUDGET = 10_000


def count(text: str) -> int:
    return -(-len(text) // 4)


def words(tokens: float) -> str:
    return "w123 " * int(tokens * 4 / 5)


class FullSession(RecordingSession):
    """A session at work whose budget is nearly filled by what must stay."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"tokenizer": count, "budget": BUDGET, **options})
        self._calls = 0

    @property
    def little(self) -> list[dict[str, Any]]:
        return self.payloads(events.COMPACTION_WON_LITTLE)

    def go_on(self, steps: int, share: float = 0.02) -> None:
        """Calls whose results take this share of the budget each, and a request behind each."""
        for _ in range(steps):
            self._calls += 1
            name = f"c{self._calls}"
            call = {"id": name, "type": "function", "function": {"name": "read", "arguments": f'{{"n": "{name}"}}'}}
            lines = "".join(f"line {at} value_{name}_{at}\n" for at in range(int(BUDGET * share * 4) // 22))
            self.manager.append(
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": name, "content": lines},
            )
            self.manager.get_messages_for_request()
            assert self.manager.usage().used_upper_bound <= BUDGET


def pinned(watched: FullSession, share: float) -> int:
    said = {"role": "assistant", "content": words(BUDGET * share), "metadata": {"pinned": True}}
    return watched.manager.append({"role": "user", "content": "go"}, said, {"role": "user", "content": "on"}) - 1


def with_prompt(watched: FullSession) -> None:
    watched.manager.set_system_prompt_factory(lambda: words(BUDGET * 0.86))
    watched.manager.append({"role": "user", "content": "go"})


def with_system(watched: FullSession) -> None:
    watched.manager.append({"role": "system", "content": words(BUDGET * 0.86)}, {"role": "user", "content": "go"})


def with_user(watched: FullSession) -> None:
    watched.manager.append({"role": "user", "content": words(BUDGET * 0.86)})


def with_two(watched: FullSession) -> None:
    with_said = {"role": "user", "content": words(BUDGET * 0.36)}
    watched.manager.append({"role": "system", "content": words(BUDGET * 0.5)}, with_said)


Begin = Callable[[FullSession], object]
KINDS: dict[str, tuple[Begin, dict[str, Any], str, str]] = {
    "pins": (lambda watched: pinned(watched, 0.86), {}, "pinned or critical messages 8,", "unpin messages"),
    "prompt": (with_prompt, {}, "the system prompt 8,", "shorten the system prompt"),
    "system": (with_system, {}, "leading system messages 8,", "shorten the system messages"),
    "user": (with_user, {}, "the user's first and last message 8,", "put long material into a message of its own"),
    "first": (
        lambda watched: watched.manager.append(
            *({"role": "user", "content": words(n)} for n in (2, *[430] * 20, 2))  # none so long that it is cut
        ),
        {"protect": Protection(first=21)},
        "messages kept by `protect` 8,",
        "lower `first` or `last` of `protect`",
    ),
    "overhead": (
        lambda watched: watched.manager.append({"role": "user", "content": "go"}),
        {"overhead_tokens": 8_600},
        "tokens outside the messages 8,600",
        "give the model fewer or shorter tool definitions",
    ),
    "two": (
        with_two, {}, "leading system messages 5,",
        "shorten the system messages, or put long material into a message of its own",
    ),
}  # fmt: skip  # one thought each


@pytest.mark.parametrize("kind", KINDS)
def test_little_won_is_said_once_with_what_must_stay(kind):
    begin, options, made_of, remedy = KINDS[kind]
    watched = FullSession(**options)
    begin(watched)
    with pytest.warns(BackscrollWarning, match="win too little and follow each other") as heard:
        watched.go_on(30)
    assert len(watched.payloads(events.COMPACTION)) > 4
    (told,) = watched.little
    assert len([each for each in heard if "win too little" in str(each.message)]) == 1
    assert told["made_of"].startswith(made_of)
    assert told["remedy"] == remedy
    assert (told["lane"], told["budget"]) == ("main", BUDGET)
    assert told["tokens"] == sum(told["parts"].values()) >= 0.85 * BUDGET
    assert told["tokens"] < watched.payloads(events.COMPACTION)[-1]["after_tokens"] + 10


@pytest.mark.filterwarnings("ignore::backscroll.BackscrollWarning")
def test_little_won_is_said_again_once_it_was_better():
    watched = FullSession()
    seq = pinned(watched, 0.86)
    watched.go_on(20)
    assert len(watched.little) == 1
    watched.manager.unpin(seq)
    watched.go_on(20)
    assert len(watched.little) == 1
    pinned(watched, 0.86)
    watched.go_on(20)
    assert len(watched.little) == 2


@pytest.mark.filterwarnings("ignore::backscroll.BackscrollWarning")
def test_a_larger_budget_is_better_without_a_compaction():
    watched = FullSession()
    pinned(watched, 0.86)
    watched.go_on(20)
    watched.manager.get_messages_for_request(token_budget=2 * BUDGET)
    watched.go_on(20)
    assert len(watched.little) == 2


@pytest.mark.filterwarnings("ignore::backscroll.BackscrollWarning")
def test_each_lane_warns_by_itself():
    watched = FullSession()
    pinned(watched, 0.43)
    for _ in range(16):
        watched.go_on(1)
        watched.manager.get_messages_for_request(token_budget=BUDGET // 2, lane="small")
    assert [told["lane"] for told in watched.little] == ["small"]


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_nothing_is_said_where_one_result_takes_it_all(share):
    """It must stay until the model has seen it; the next compaction wins all of it."""
    watched = FullSession()
    watched.manager.append({"role": "user", "content": "go"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(4):
            watched.go_on(6, 0.06)
            watched.go_on(1, share)
    assert watched.payloads(events.COMPACTION)
    assert not watched.little


def test_a_compaction_waits_where_it_would_win_little():
    """As long as the view fits: it was made 12 times in 30 steps."""
    watched = FullSession()
    pinned(watched, 0.75)
    watched.go_on(30, 0.04)
    done = watched.payloads(events.COMPACTION)
    assert 0 < len(done) <= 9
    assert all(each["after_tokens"] > 0.8 * BUDGET for each in done)


@pytest.mark.filterwarnings("ignore::backscroll.BackscrollWarning")
@settings(max_examples=examples(25))
@given(st.floats(0.3, 0.97), st.floats(0.005, 0.3), st.integers(4, 14))
def test_views_fit_however_much_must_stay(floor, step, steps):
    watched = FullSession()
    pinned(watched, floor)
    try:
        watched.go_on(steps, step)
    except BudgetError:
        assert floor + step > 0.8
