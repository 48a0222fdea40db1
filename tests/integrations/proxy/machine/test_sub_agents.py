"""Agents of one client that begin alike: each keeps a conversation of its own, and no request passes for an edit."""

from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from backscroll.stores.memory import MemoryStore
from tests.integrations.proxy.harness import proxied
from tests.integrations.proxy.machine.apis import APIS, Api
from tests.integrations.proxy.machine.provider import NUMBER, Provider, wish
from tests.integrations.proxy.machine.talk import Talk
from tests.integrations.proxy.recording import recording
from tests.profiles import examples

pytestmark = pytest.mark.filterwarnings("ignore")  # of what does not fit
BUDGET = 6_000
LINE = "{name} line {at}: nothing of note happened here, d\u00e9j\u00e0 vu\n"
INDEX = st.integers(0, 99)
OPENING = 2
"""Turns with which all conversations begin, as those of Qwen Code do: a set-up, and the model's answer."""


class AgentsMachine(RuleBasedStateMachine):
    """A client that edits nothing, and begins sub-agents behind its opening."""

    api: Api

    @initialize(session=st.sampled_from(["s1", None]), marks=st.booleans())
    def begin(self, session: str | None, marks: bool) -> None:
        self.stack, self.running = ExitStack(), ExitStack()
        self.provider, self.store = Provider(self.api), MemoryStore()
        self.url = self.stack.enter_context(recording(self.provider)).url
        self.names = self.requests = 0
        self.sessions: dict[int, str] = {}
        """The conversation of each agent."""
        main = Talk(self.api, session, self.api.models[0], marks=marks and self.api.name == "anthropic")
        self.talks = [main]
        self.restart()
        main.user(self.api.said(self._text(1, 0)))
        self._ask(main)
        self.work(0, 3)

    def teardown(self) -> None:
        if hasattr(self, "url"):
            self.running.close()
            self.stack.close()

    def _text(self, lines: int, calls: int) -> str:
        self.names += 1
        name = f"k{self.names}k"
        return "".join(LINE.format(name=name, at=at) for at in range(lines)) + wish(name, 1, calls)

    def _ask(self, talk: Talk) -> None:
        self.requests += 1
        number, asked = str(self.requests), len(self.proxy.reports) + 1
        headers = {NUMBER: number} | ({"x-backscroll-session": talk.session} if talk.session else {})
        self.proxy.client.post(self.api.path, content=talk.request().body, headers=headers)
        self.proxy.outcomes(asked)
        (arrived,) = self.provider.arrived[number]
        assert arrived.response is not None, self.provider.refusals
        talk.model_says(self.api.answered(arrived.response))
        session = self.proxy.reports[-1].session
        assert self.sessions.setdefault(id(talk), session) == session

    @rule(number=INDEX, turns=st.integers(1, 6))
    def work(self, number: int, turns: int) -> None:
        talk = self.talks[number % len(self.talks)]
        for _ in range(turns):
            if waiting := talk.waiting():
                talk.user(self.api.results([(call, self._text(16, 2)) for call in waiting]))
            else:
                talk.user(self.api.said(self._text(8, 2)))
            self._ask(talk)

    @precondition(lambda self: len(self.talks) < 6)
    @rule(tools=st.integers(1, 3), prompt=st.sampled_from(["You help others.", ""]), turns=st.integers(2, 5))
    def sub_agent(self, tools: int, prompt: str, turns: int) -> None:
        """It has another system prompt or other tools, and may be one that worked before."""
        main = self.talks[0]
        if tools == main.tools and not prompt:
            return
        helper = main.branch(main.turns[:OPENING])
        helper.tools, helper.system = tools, prompt or main.system
        helper.drop_reasoning()
        self.talks.append(helper)
        self.work(len(self.talks) - 1, turns)

    @rule()
    def restart(self) -> None:
        """Another process goes on with the same store."""
        self.running.close()
        self.proxy = self.running.enter_context(proxied(self.url, budget=BUDGET, store=self.store))

    @invariant()
    def no_conversation_was_rewound(self) -> None:
        """Each agent has one of its own."""
        assert len(set(self.sessions.values())) == len(self.sessions), self.sessions
        for name in self.store.sessions():
            assert "rewind" not in [stored.record.kind for stored in self.store.read(name)], name
        assert self.provider.refusals == []
        assert self.provider.lost == []


def _case(name: str, number: int, steps: int) -> Any:
    """The machine for an API, so many times."""
    machine: Any = type(f"{name.title()}Agents", (AgentsMachine,), {"api": APIS[name]})
    found = machine.TestCase
    found.settings = settings(
        max_examples=examples(number), stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck)
    )
    return found


TestChatAgents = _case("chat", 3, 8)
TestAnthropicAgents = pytest.mark.long(_case("anthropic", 40, 20))
TestChatAgentsAtLength = pytest.mark.long(_case("chat", 40, 20))
TestResponsesAgents = pytest.mark.long(_case("responses", 40, 20))
