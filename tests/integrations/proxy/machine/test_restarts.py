"""After a restart all is as if there had been none: a proxy that restarts sends the bytes that its twin sends."""

from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from backscroll.stores.memory import MemoryStore
from tests.integrations.proxy.harness import Running, proxied
from tests.integrations.proxy.machine.apis import APIS, Api
from tests.integrations.proxy.machine.provider import NUMBER, Provider, wish
from tests.integrations.proxy.machine.talk import Talk
from tests.integrations.proxy.recording import recording
from tests.profiles import examples

pytestmark = pytest.mark.filterwarnings("ignore")  # of what does not fit
BUDGET = 6_000
LINE = "{name} line {at}: nothing of note happened here, d\u00e9j\u00e0 vu\n"
INDEX = st.integers(0, 99)


class Side:
    """A proxy with a provider and a store of its own."""

    def __init__(self, api: Api, stack: ExitStack) -> None:
        self.provider = Provider(api)
        self.url = stack.enter_context(recording(self.provider)).url
        self.store = MemoryStore()
        self.running = ExitStack()
        self.proxy: Running
        self.begin()

    def begin(self) -> None:
        """Begin, or begin again with the same store."""
        self.running.close()
        self.proxy = self.running.enter_context(proxied(self.url, budget=BUDGET, store=self.store))

    def ask(self, number: str, session: str | None, path: str, body: bytes) -> bytes:
        """Send a request. Returns what arrived."""
        headers = {NUMBER: number} | ({"x-backscroll-session": session} if session else {})
        asked = len(self.proxy.reports) + 1
        self.proxy.client.post(path, content=body, headers=headers)
        self.proxy.outcomes(asked)  # what the provider counted is read before the next request
        (arrived,) = self.provider.arrived[number]
        return arrived.body


class TwinsMachine(RuleBasedStateMachine):
    """Clients of one API before two proxies, of which one restarts."""

    api: Api

    @initialize(session=st.sampled_from(["s1", None]), marks=st.sampled_from([True, False]))
    def begin(self, session: str | None, marks: bool) -> None:
        self.stack = ExitStack()
        self.living, self.restarted = Side(self.api, self.stack), Side(self.api, self.stack)
        self.names = self.requests = 0
        main = Talk(self.api, session, self.api.models[0], marks=marks and self.api.name == "anthropic")
        main.user(self._said(1))
        self.talks = [main]
        self._ask(main)
        self.work(0, 8)  # more than fits
        self.restart()
        self.work(0, 2)

    def teardown(self) -> None:
        if hasattr(self, "restarted"):
            self.living.running.close()
            self.restarted.running.close()
            self.stack.close()

    def _text(self, lines: int, calls: int) -> str:
        self.names += 1
        name = f"k{self.names}k"
        return "".join(LINE.format(name=name, at=at) for at in range(lines)) + wish(name, 1, calls)

    def _said(self, lines: int) -> Any:
        return self.api.said(self._text(lines, 3))

    def _goes_on(self, talk: Talk) -> None:
        if talk.is_users_turn and (waiting := talk.waiting()):
            talk.user(self.api.results([(call, self._text(16, 3)) for call in waiting]))
        elif talk.is_users_turn:
            talk.user(self._said(8))

    def _ask(self, talk: Talk) -> None:
        self.requests += 1
        number, body = str(self.requests), talk.request().body
        arrived = [each.ask(number, talk.session, self.api.path, body) for each in (self.living, self.restarted)]
        told = [(each.proxy.reports[-1].session, each.proxy.reports[-1].what) for each in (self.living, self.restarted)]
        assert arrived[0] == arrived[1], told
        (answered,) = self.living.provider.arrived[number]
        if answered.response is None:  # `test_clients.py` judges refusals; here both get the same
            talk.drop_reasoning()
        else:
            talk.model_says(self.api.answered(answered.response))

    def _talk(self, number: int) -> Talk:
        return self.talks[number % len(self.talks)]

    @rule()
    def restart(self) -> None:
        self.restarted.begin()

    @rule(number=INDEX, turns=st.integers(1, 4))
    def work(self, number: int, turns: int) -> None:
        talk = self._talk(number)
        for _ in range(turns):
            self._goes_on(talk)
            self._ask(talk)

    @rule(number=INDEX, at=INDEX)
    def rewind(self, number: int, at: int) -> None:
        talk = self._talk(number)
        del talk.turns[1 + at % len(talk.turns) :]
        self._goes_on(talk)
        self._ask(talk)

    @precondition(lambda self: len(self.talks) < 5)
    @rule(number=INDEX, at=INDEX)
    def branch(self, number: int, at: int) -> None:
        talk = self._talk(number)
        self.talks.append(talk.branch(talk.turns[: 1 + at % len(talk.turns)]))
        self._goes_on(self.talks[-1])
        self._ask(self.talks[-1])

    @precondition(lambda self: len(self.talks) < 5)
    @rule(tools=st.integers(1, 3), prompt=st.sampled_from(["You help others.", ""]))
    def sub_agent(self, tools: int, prompt: str) -> None:
        """It begins as the main agent does."""
        main = self.talks[0]
        helper = main.branch(main.turns[:2])
        helper.tools, helper.system = tools, prompt or main.system
        helper.drop_reasoning()
        self.talks.append(helper)
        self.work(len(self.talks) - 1, 2)

    @rule(number=INDEX, at=INDEX)
    def look_back(self, number: int, at: int) -> None:
        """An earlier request once more; its answer is used for nothing."""
        talk = self._talk(number)
        ends = [place + 1 for place, turn in enumerate(talk.turns) if turn.is_of_user]
        self._ask(talk.branch(talk.turns[: ends[at % len(ends)]]))

    @rule(number=INDEX)
    def title(self, number: int) -> None:
        """Another prompt and other tools at the end of a conversation, which then goes on without it."""
        talk = self._talk(number)
        if talk.waiting():
            return
        other = talk.branch(talk.turns)
        other.tools, other.system = 1, "You name things."
        other.drop_reasoning()
        self._goes_on(other)
        self._ask(other)

    @rule(number=INDEX, tools=st.integers(1, 3))
    def other_tools(self, number: int, tools: int) -> None:
        talk = self._talk(number)
        if tools != talk.tools:
            talk.tools = tools
            talk.drop_reasoning()

    @rule(number=INDEX, model=INDEX)
    def other_model(self, number: int, model: int) -> None:
        self._talk(number).model = self.api.models[model % len(self.api.models)]


def _case(name: str, number: int, steps: int) -> Any:
    """The machine for an API, so many times."""
    machine: Any = type(f"{name.title()}Twins", (TwinsMachine,), {"api": APIS[name]})
    found = machine.TestCase
    found.settings = settings(
        max_examples=examples(number), stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck)
    )
    return found


TestAnthropicTwins = _case("anthropic", 4, 10)
TestAnthropicTwinsAtLength = pytest.mark.long(_case("anthropic", 40, 25))
TestChatTwinsAtLength = pytest.mark.long(_case("chat", 20, 25))
TestResponsesTwinsAtLength = pytest.mark.long(_case("responses", 20, 25))
