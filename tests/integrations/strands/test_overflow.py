"""When the provider says that a request is too long: shorter and shorter ones, and in the end an error that adds up."""

from itertools import pairwise
from typing import Any

import pytest
from strands.hooks import BeforeModelCallEvent
from strands.types.exceptions import ContextWindowOverflowException

from backscroll.errors import BudgetError
from backscroll.integrations.overflow_retry import MOST_REJECTIONS
from backscroll.integrations.strands import ContextManagerPlugin, ContextOffloader, RequestTooLarge
from tests.integrations.strands.agents import agent_of, refusals_expected
from tests.integrations.strands.scripted import Scripted, call, tokens_of

pytestmark = pytest.mark.frameworks

REACTIVE = {"compression": {"proactive": False}}


class Silent(Scripted):
    """Refuses without telling sizes."""

    async def stream(self, *args: Any, **kwargs: Any) -> Any:
        try:
            async for event in super().stream(*args, **kwargs):
                yield event
        except ContextWindowOverflowException:
            raise ContextWindowOverflowException("input is too long") from None


class Hopeless(Scripted):
    """Refuses everything."""

    async def stream(self, messages: Any, tool_specs: Any = None, *args: Any, **kwargs: Any) -> Any:
        self.refused += 1
        self.requests.append({"messages": messages, "tools": tool_specs, "system": ""})
        raise ContextWindowOverflowException("no")
        yield


def reading(request: Any, n: int) -> Any:
    return call("read", {"path": f"{n}.py", "lines": 100}) if n % 2 == 0 else "Done."


@pytest.mark.parametrize("kind", [Scripted, Silent])
def test_smaller_window_than_declared_is_found_by_refusals(kind: Any):
    model = kind(reading, window=8_000, told=100_000)
    agent = agent_of(model, ContextManagerPlugin("auto"))
    with refusals_expected():
        for turn in range(15):
            agent(f"Turn {turn}")
    assert 1 <= model.refused <= 6
    assert model.faults == []
    assert len(agent.messages) == 60


def test_without_proactive_compression_waits_for_the_full_window():
    """Without proactive nothing is compressed before the window is full."""
    model = Scripted(reading, window=20_000, told=20_000)
    agent = agent_of(model, ContextManagerPlugin({"compression": {"proactive": False, "window_size": 500}}))
    with refusals_expected():
        for turn in range(24):
            agent(f"Turn {turn}")
    sizes = [tokens_of(request) for request in model.requests]
    assert max(sizes) > 0.85 * 20_000
    assert min(sizes[sizes.index(max(sizes)) :]) < 0.75 * 20_000


def test_refusal_is_reported_by_a_warning():
    model = Scripted(["Done."], window=3_000, told=100_000)
    with pytest.warns(RuntimeWarning, match="the provider refused a request"):
        agent_of(model)("words " * 5_000)
    assert model.refused == 1


def test_what_cannot_fit_ends_in_an_error_that_adds_up():
    model = Scripted([call("read", {"path": "a.py", "lines": 3})], window=1_600)
    agent = agent_of(model)

    def grow(event: BeforeModelCallEvent) -> None:
        if len(agent.messages) == 3:
            agent.system_prompt = "Be brief. " * 2_000

    agent.add_hook(grow)
    with refusals_expected(), pytest.raises(BudgetError, match="tokens") as told:
        agent("Hello")
    assert isinstance(told.value, RequestTooLarge)
    assert not isinstance(told.value, ContextWindowOverflowException), "Strands would ask its own manager again"
    assert [message["role"] for message in agent.messages] == ["user", "assistant", "user"]


@pytest.mark.filterwarnings("ignore:5 messages of the user in a row:RuntimeWarning")
def test_the_ladder_is_bounded_and_each_rung_is_shorter():
    model = Hopeless(told=100_000)
    agent = agent_of(
        model, messages=[{"role": r, "content": [{"text": "words " * 800}]} for r in ["user", "assistant"] * 20]
    )
    with refusals_expected(), pytest.raises(BudgetError):
        agent("Hello")
    sizes = [tokens_of(request) for request in model.requests]
    assert 3 < len(sizes) <= MOST_REJECTIONS + 1
    assert all(later < earlier for earlier, later in pairwise(sizes))


def test_other_errors_are_nobodys_business_here():
    class Broken(Scripted):
        async def stream(self, *args: Any, **kwargs: Any) -> Any:
            raise RuntimeError("out of order")
            yield

    with pytest.raises(RuntimeError, match="out of order"):
        agent_of(Broken())("Hello")


def test_the_offloader_alone_leaves_refusals_to_others():
    model = Scripted(window=3_000, told=100_000)
    with pytest.raises(ContextWindowOverflowException):
        agent_of(model, ContextOffloader())("words " * 5_000)
