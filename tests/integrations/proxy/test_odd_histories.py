"""Odd histories of a client through the proxy: where it makes views, what reaches the provider is accepted."""

import json
from typing import Any

import pytest

from backscroll.evaluation.fake_providers import FakeAnthropic, FakeOpenAIChat, FakeOpenAIResponses
from tests.integrations import odd_histories as odd
from tests.integrations.odd_histories import Called, Returned, Said, Situation
from tests.integrations.odd_wire import LACKS, built, said

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # odd messages warn
APIS: dict[str, tuple[str, str, Any]] = {
    "anthropic": ("/v1/messages", "messages", FakeAnthropic),
    "chat": ("/v1/chat/completions", "messages", FakeOpenAIChat),
    "responses": ("/v1/responses", "input", FakeOpenAIResponses),
}


class Client:
    """A client of one API that keeps its own history, which the proxy never changes."""

    def __init__(self, proxy: Any, provider: Any, dialect: str) -> None:
        self.proxy, self.provider, self.dialect = proxy, provider, dialect
        self.path, self.key, fake = APIS[dialect]
        self.fake = fake()
        self.history: list[Any] = []
        self.texts: list[str] = []
        """The messages of each request as they reached the provider."""

    def ask(self) -> str:
        """Send the history, judge what arrived, and take the answer into the history."""
        model = {"anthropic": "claude-opus-5-5", "chat": "gpt-5.4", "responses": "gpt-5.5"}[self.dialect]
        body = {"model": model, "max_tokens": 100, self.key: self.history}
        if self.dialect == "responses":
            del body["max_tokens"]
        self.proxy.client.post(self.path, content=json.dumps(body), headers={"session-id": "s1"})
        got = json.loads(self.provider.got[-1].body)
        self.texts.append(json.dumps(got[self.key], ensure_ascii=False))
        answer = self.fake.create(**got)
        if self.dialect == "responses":
            self.history += answer["output"]
        else:
            said = answer["content"] if self.dialect == "anthropic" else answer["choices"][0]["message"]["content"]
            self.history.append({"role": "assistant", "content": said})
        return self.texts[-1]

    def requests(self) -> list[Any]:
        """What reached the provider."""
        return [json.loads(text) for text in self.texts]


def cases() -> list[Any]:
    """Each situation in each dialect that has it."""
    return [
        pytest.param(each, dialect, id=f"{each.name}-{dialect}")
        for dialect in APIS
        for each in odd.situations(without=LACKS[dialect])
    ]


def begun(proxy_of: Any, provider: Any, dialect: str) -> Client:
    """A client in a conversation of which views leave something out."""
    client = Client(proxy_of(provider.url, budget=4_000), provider, dialect)
    for number in range(20):
        client.history.append(said(f"Question {number}. " + "The weather is of no interest. " * 40, dialect))
        client.history += built(Said(f"Answer {number}.", "assistant"), dialect)
    return client


@pytest.mark.parametrize(("situation", "dialect"), cases())
def test_odd_history_is_accepted_by_its_provider(situation, dialect, provider, proxy_of):
    client = begun(proxy_of, provider, dialect)
    for turn in situation.turns:
        client.history += [message for step in turn.steps for message in built(step, dialect)]
        client.history += [] if turn.prompt is None else [said(turn.prompt, dialect)]
        client.ask()
    assert client.proxy.outcomes(len(situation.turns)) == ["compacted"] * len(situation.turns)
    assert odd.not_as_wanted(situation, client.texts[-1]) == []
    assert odd.changed_prefixes(client.requests()) == 0


@pytest.mark.parametrize("dialect", APIS)
def test_killed_client_goes_on_with_the_late_result(dialect, provider, proxy_of):
    """A client writes the result directly behind its call, before what was said meanwhile. The call was sent without
    it, so a view keeps the placeholder.
    """
    client = begun(proxy_of, provider, dialect)
    client.history += [*built(Said("w0x Run the job."), dialect), *built(Called(("c1",)), dialect)]
    at = len(client.history)
    client.history.append(said("w1x Meanwhile, count.", dialect))
    client.ask()
    client.history[at:at] = built(Returned("c1", "w2x at last"), dialect)
    client.history.append(said("w3x And?", dialect))
    shown = ("w0x", odd.WAITING, "Later result of run_job (c1)", "w2x", "w1x", "w3x")
    assert odd.not_as_wanted(Situation("", (), shown), client.ask()) == []


@pytest.mark.parametrize("dialect", APIS)
def test_odd_history_that_fits_goes_on_as_it_came(dialect, provider, proxy_of):
    """The proxy changes nothing before it has to: what its provider refuses then is between the client and it."""
    proxy = proxy_of(provider.url)
    messages = [*built(Said("Run the job."), dialect), *built(Called(("c1",), odd.CUT), dialect)]
    body = json.dumps({"model": "gpt-5.4", APIS[dialect][1]: [*messages, said("", dialect)]}).encode()
    proxy.client.post(APIS[dialect][0], content=body)
    assert proxy.outcomes() == ["as it came"]
    assert provider.got[-1].body == body
