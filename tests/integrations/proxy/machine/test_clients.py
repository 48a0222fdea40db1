"""Whatever clients do, in any order: no request is refused, and each that fits arrives as it was sent."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, NamedTuple

import httpx
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from backscroll.stores.memory import MemoryStore
from tests.integrations.proxy.harness import Running, proxied
from tests.integrations.proxy.machine.apis import APIS, Api, dumped
from tests.integrations.proxy.machine.judge import problems
from tests.integrations.proxy.machine.provider import LEAVES, NUMBER, TOO_LONG, Arrived, Provider, wish
from tests.integrations.proxy.machine.stored import not_current, not_stored, texts_in
from tests.integrations.proxy.machine.talk import NAME, Request, Talk
from tests.integrations.proxy.recording import recording
from tests.profiles import examples

pytestmark = pytest.mark.filterwarnings("ignore")  # of refusals, and of what does not fit
BUDGET = 6_000
SURELY_FITS = BUDGET * 4 // 3
"""Bytes of a request that no way of counting can take for too many tokens."""
LINE = "{name} line {at}: nothing of note happened here, d\u00e9j\u00e0 vu\n"
LINES = st.sampled_from([1, 8, 16])
THOUGHTS, CALLS, INDEX = st.integers(0, 2), st.integers(0, 3), st.integers(0, 99)
STREAMED = st.booleans()
EXPECTED = {"as it came", "compacted", "counted", "left alone"}


class Sent(NamedTuple):
    """A request with its answer."""

    talk: Talk
    request: Request
    answer: httpx.Response | None
    """`None`: the client left before its end."""
    arrived: list[Arrived]


class ClientsMachine(RuleBasedStateMachine):
    """Clients of one API before one proxy."""

    api: Api

    @initialize(
        ids=st.lists(st.sampled_from(["s1", "s2", None]), min_size=1, max_size=2),
        marks=st.booleans(),
        turns=st.sampled_from([8, 0]),
    )
    def begin(self, ids: list[str | None], marks: bool, turns: int) -> None:
        self.stack = ExitStack()
        self.provider = Provider(self.api)
        self.server = self.stack.enter_context(recording(self.provider))
        self.store = MemoryStore()
        self.names = self.requests = self.reported = 0
        self.is_shortened = False
        """Whether the provider refused a request that fits: then no size does for sure."""
        self.edited: set[str | None] = set()
        """Sessions of which a view left something out: it stays out when the client goes back to what would fit."""
        self.said: list[str] = []
        """All that was ever sent."""
        self.talks: list[Talk] = []
        self.newest: dict[tuple[str | None, str], list[dict[str, Any]]] = {}
        """The messages of the newest request, by the client's id and the first message."""
        self.proxy = self._proxy()
        for session in ids:
            self._begin(session, self.api.models[0], marks=marks and self.api.name == "anthropic")
        self.work(0, turns, 16, 1, 3, streamed=False)

    def _proxy(self) -> Running:
        self.running = ExitStack()
        self.reported = 0
        return self.running.enter_context(proxied(self.server.url, budget=BUDGET, store=self.store))

    def teardown(self) -> None:
        if not hasattr(self, "proxy"):
            return
        try:
            self.proxy.outcomes(self.reported)
            asked = b" ".join(each.body for sent in self.provider.arrived.values() for each in sent).decode()
            said = [text for text in self.said if text[-12:-1] in asked]
            assert not_stored(self.store, said) == []
            assert not_current(self.store, list(self.newest.values())) == []
        finally:
            self.running.close()
            self.stack.close()

    # what a client says

    def _text(self, lines: int, thoughts: int, calls: int) -> str:
        self.names += 1
        name = f"k{self.names}k"
        text = "".join(LINE.format(name=name, at=at) for at in range(lines)) + wish(name, thoughts, calls)
        self.said.append(text)
        return text

    def _begin(self, session: str | None, model: str, *, marks: bool, text: str = "") -> Talk:
        talk = Talk(self.api, session, model, marks=marks)
        talk.user(self.api.said(text or self._text(1, 1, 1)))
        self.talks.append(talk)
        return talk

    def _talk(self, number: int) -> Talk:
        return self.talks[number % len(self.talks)]

    def _goes_on(self, talk: Talk, lines: int, thoughts: int, calls: int) -> None:
        """Let the user or the tools say something, if it is their turn."""
        if not talk.is_users_turn:
            return
        if waiting := talk.waiting():
            talk.user(self.api.results([(call, self._text(lines, thoughts, calls)) for call in waiting]))
        else:
            talk.user(self.api.said(self._text(lines, thoughts, calls)))

    # requests

    def _ask(self, talk: Talk, *, leaves: bool = False, path: str = "", **more: Any) -> Sent:
        self.requests += 1
        number = str(self.requests)
        request = talk.request(**more)
        headers = {NUMBER: number, "x-api-key": "secret"}
        headers |= {"x-backscroll-session": talk.session} if talk.session else {}
        headers |= {LEAVES: "1"} if leaves else {}
        with self.proxy.client.stream("POST", self.api.path + path, content=request.body, headers=headers) as answer:
            if leaves:
                next(answer.iter_raw())
            else:
                answer.read()
        if leaves:
            self.provider.left.set()
        self.reported += 1
        if not path:
            self.newest[talk.session, dumped(talk.history[0])] = talk.history
        return Sent(talk, request, None if leaves else answer, self.provider.arrived.get(number, []))

    def _judge(self, sent: Sent) -> None:
        """Judge what arrived."""
        assert self.provider.refusals == [], self.provider.refusals
        assert self.provider.lost == [], self.provider.lost
        (arrived,) = sent.arrived
        is_whole = not self.is_shortened and sent.talk.session not in self.edited
        if is_whole and len(sent.request.body) <= SURELY_FITS:
            assert arrived.body == sent.request.body, (len(sent.request.body), arrived.body.decode())
        if arrived.body != sent.request.body:
            self.edited.add(sent.talk.session)
            found = problems(sent.request, arrived.body, marks=sent.talk.marks, is_short=self.is_shortened)
            assert found == [], found
        if arrived.response is not None and "usage" in arrived.response:
            assert self.api.tokens(arrived.response) <= BUDGET * 1.01, self.api.tokens(arrived.response)
        if sent.answer is not None:
            assert (sent.answer.status_code, sent.answer.content) == (200, arrived.sent)
        assert set(self.proxy.outcomes(self.reported)) <= EXPECTED

    def _answered(self, sent: Sent) -> None:
        self._judge(sent)
        response = sent.arrived[0].response
        assert response is not None
        sent.talk.model_says(self.api.answered(response))

    # rules

    @rule(number=INDEX, turns=st.integers(1, 5), lines=LINES, thoughts=THOUGHTS, calls=CALLS, streamed=STREAMED)
    def work(self, number: int, turns: int, lines: int, thoughts: int, calls: int, streamed: bool) -> None:
        talk = self._talk(number)
        for _ in range(turns):
            self._goes_on(talk, lines, thoughts, calls)
            self._answered(self._ask(talk, stream=streamed))

    @rule(number=INDEX)
    def regenerate(self, number: int) -> None:
        """The last answer once more."""
        talk = self._talk(number)
        if talk.is_users_turn:
            talk.turns.pop()
        self._answered(self._ask(talk))

    @rule(number=INDEX, at=INDEX, lines=LINES)
    def edit(self, number: int, at: int, lines: int) -> None:
        """Another text in an old message; the client sends none of the reasoning behind it."""
        talk = self._talk(number)
        places = [place for place, turn in enumerate(talk.turns) if turn.is_of_user]
        place = places[at % len(places)]
        text = dumped(talk.turns[place].messages)
        *_, old = NAME.findall(text)
        self.names += 1
        new = f"k{self.names}k"
        messages = tuple(json.loads(text.replace(old, new)))
        talk.turns[place] = talk.turns[place]._replace(messages=messages)
        self.said += texts_in(messages)
        talk.drop_reasoning(place)
        self._goes_on(talk, lines, 1, 1)
        self._answered(self._ask(talk))

    @rule(number=INDEX, at=INDEX, lines=LINES)
    def rewind(self, number: int, at: int, lines: int) -> None:
        """The client goes back and asks something else, or the same again."""
        talk = self._talk(number)
        del talk.turns[1 + at % len(talk.turns) :]
        self._goes_on(talk, lines, 1, 1)
        self._answered(self._ask(talk))

    @precondition(lambda self: len(self.talks) < 6)
    @rule(number=INDEX, at=INDEX, lines=LINES)
    def branch(self, number: int, at: int, lines: int) -> None:
        """Both go on from now on."""
        talk = self._talk(number)
        other = talk.branch(talk.turns[: 1 + at % len(talk.turns)])
        self.talks.append(other)
        self._goes_on(other, lines, 0, 1)
        self._answered(self._ask(other))

    @rule(number=INDEX, at=INDEX)
    def look_back(self, number: int, at: int) -> None:
        """An earlier request once more, as it was; its answer is used for nothing."""
        talk = self._talk(number)
        ends = [place + 1 for place, turn in enumerate(talk.turns) if turn.is_of_user]
        self._judge(self._ask(talk.branch(talk.turns[: ends[at % len(ends)]])))

    @rule(number=INDEX, tools=st.integers(1, 4))
    def other_tools(self, number: int, tools: int) -> None:
        """All reasoning is bound to them, so the client sends none of it."""
        talk = self._talk(number)
        if tools != talk.tools:
            talk.tools = tools
            talk.drop_reasoning()

    @rule(number=INDEX, model=INDEX)
    def other_model(self, number: int, model: int) -> None:
        self._talk(number).model = self.api.models[model % len(self.api.models)]

    @rule(number=INDEX)
    def drop_reasoning(self, number: int) -> None:
        self._talk(number).drop_reasoning()

    @rule(number=INDEX, effort=st.sampled_from(["low", "high"]))
    def other_effort(self, number: int, effort: str) -> None:
        field = {"anthropic": "output_config", "chat": "reasoning_effort", "responses": "reasoning"}[self.api.name]
        self._talk(number).thinking = {field: effort if self.api.name == "chat" else {"effort": effort}}

    @precondition(lambda self: self.api.name == "anthropic")
    @rule(number=INDEX, lines=LINES)
    def count(self, number: int, lines: int) -> None:
        """The length of the next request is asked for; nothing comes of it."""
        talk = self._talk(number)
        known = len(self.said)
        other = talk.branch(talk.turns)
        self._goes_on(other, lines, 0, 0)
        del self.said[known:]
        self._judge(self._ask(other, path="/count_tokens"))

    @rule(number=INDEX, lines=LINES, keeps=st.booleans())
    def leave(self, number: int, lines: int, keeps: bool) -> None:
        """The client closes its connection in the middle of a stream; it may keep what it saw."""
        talk = self._talk(number)
        self._goes_on(talk, lines, 1, 0)
        self.provider.left.clear()
        self._judge(self._ask(talk, stream=True, leaves=True))
        if keeps:
            self.names += 1
            talk.model_says(self.api.partly(f"k{self.names}k seen in part"))

    @rule(numbers=st.lists(INDEX, min_size=2, max_size=3), lines=LINES, branches=st.booleans())
    def at_once(self, numbers: list[int], lines: int, branches: bool) -> None:
        """Several requests at the same time: of several conversations, of one, or of branches of one."""
        talks = [self._talk(number) for number in numbers]
        if branches:
            talks = [talk.branch(talk.turns) for talk in talks]
        for talk in talks:
            self._goes_on(talk, lines, 1, 0)
        with ThreadPoolExecutor(len(talks)) as pool:
            sent = list(pool.map(self._ask, talks))
        self.newest.clear()  # nobody knows which of them was the last
        for each in sent:
            self._judge(each)
        for each in {id(each.talk): each for each in sent}.values():
            self._answered(each)
        if branches:
            self.talks = [*self.talks, *talks][-6:]

    @rule(number=INDEX, lines=LINES)
    def too_long(self, number: int, lines: int) -> None:
        """The provider refuses a request as too long that fits, and gets a shorter one. Its window stays as large from
        then on, so it refuses no second time: each refusal is believed, until nothing is short enough.
        """
        talk = self._talk(number)
        self._goes_on(talk, lines, 1, 1)
        if len(talk.request().body) > SURELY_FITS and not self.is_shortened:
            self.provider.too_long, self.is_shortened = 1, True
        sent = self._ask(talk)
        if sent.arrived:
            self._answered(sent)
        else:  # nothing shorter can be made any more: the refusal is the client's
            assert sent.answer is not None
            assert (sent.answer.status_code, sent.answer.json()) == (400, TOO_LONG)

    @rule()
    def restart(self) -> None:
        """Another process goes on with the same store."""
        self.proxy.outcomes(self.reported)
        self.running.close()
        self.proxy = self._proxy()

    @rule(number=INDEX)
    def compact(self, number: int) -> None:
        """The client asks for a summary and begins again with it."""
        talk = self._talk(number)
        self._goes_on(talk, 1, 0, 0)
        if talk.waiting():
            return
        self._answered(self._ask(talk))
        summary = self._text(4, 1, 1)
        self.talks[self.talks.index(talk)] = begun = Talk(self.api, talk.session, talk.model, marks=talk.marks)
        begun.user(self.api.said(summary))
        self._answered(self._ask(begun))


def _case(name: str, number: int, steps: int) -> Any:
    """The machine for an API, so many times."""
    machine: Any = type(f"{name.title()}Clients", (ClientsMachine,), {"api": APIS[name]})
    found = machine.TestCase
    found.settings = settings(
        max_examples=examples(number), stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck)
    )
    return found


TestAnthropic = _case("anthropic", 4, 12)
TestChat = _case("chat", 3, 12)
TestResponses = pytest.mark.long(_case("responses", 50, 30))
TestAnthropicAtLength = pytest.mark.long(_case("anthropic", 50, 30))
TestChatAtLength = pytest.mark.long(_case("chat", 50, 30))
