"""Odd histories in a loop of one's own: the request functions make what each provider accepts."""

import json
from copy import deepcopy
from typing import Any

import pytest

from backscroll import ContextManager
from backscroll.evaluation.fake_providers import (
    FakeAnthropic,
    FakeGemini,
    FakeInteractions,
    FakeOpenAIChat,
    FakeOpenAIResponses,
)
from backscroll.integrations.clients import (
    anthropic_request,
    chat_request,
    gemini_request,
    interactions_request,
    responses_request,
)
from backscroll.manager.importing import ImportingManager
from tests.integrations import odd_histories as odd
from tests.integrations.odd_histories import Called, Returned, Said, Situation
from tests.integrations.odd_wire import LACKS, built, said

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # odd messages warn
PROVIDERS: dict[str, Any] = {
    "anthropic": (FakeAnthropic, anthropic_request, {"model": "claude-opus-5-5", "max_tokens": 100}, "messages"),
    "chat": (FakeOpenAIChat, chat_request, {}, "messages"),
    "responses": (FakeOpenAIResponses, responses_request, {}, "input"),
    "gemini": (FakeGemini, gemini_request, {}, "contents"),
    "interactions": (FakeInteractions, interactions_request, {}, "input"),
}
NOT_APPENDED = ("result_is", "reasoning_alone")
"""What `append` refuses in most dialects, so that only an import holds it."""


class Loop:
    """A loop over one provider. Each request is kept as it was sent."""

    def __init__(self, dialect: str) -> None:
        fake, self.request, self.more, self.key = PROVIDERS[dialect]
        self.provider = fake()
        self.send = getattr(self.provider, "generate_content" if dialect == "gemini" else "create")
        self.requests: list[Any] = []

    def ask(self, context: ContextManager) -> Any:
        """Send a view and append the answer."""
        request = self.request(context.get_messages_for_request())
        self.requests.append(deepcopy(request[self.key]))
        context.append(self.send(**self.more, **{key: held for key, held in request.items() if held}))
        return self.requests[-1]


def cases() -> list[Any]:
    """Each situation in each dialect that has it."""
    return [
        pytest.param(each, dialect, id=f"{each.name}-{dialect}")
        for dialect, lacks in LACKS.items()
        for each in odd.situations(without=lacks)
    ]


@pytest.mark.parametrize(("situation", "dialect"), cases())
def test_odd_history_is_accepted_by_its_provider(situation, dialect):
    kind = ImportingManager if situation.name.startswith(NOT_APPENDED) else ContextManager
    loop, given = Loop(dialect), list[Any]()
    with kind() as context:
        for turn in situation.turns:
            steps = [message for step in turn.steps for message in built(step, dialect)]
            steps += [] if turn.prompt is None else [said(turn.prompt, dialect)]
            given += deepcopy(steps)
            context.append(*steps)
            loop.ask(context)
        kept = json.dumps(context.get_messages())
    assert odd.not_as_wanted(situation, json.dumps(loop.requests[-1], ensure_ascii=False)) == []
    assert odd.changed_prefixes(loop.requests) == 0
    values = [step.value for turn in situation.turns for step in turn.steps if isinstance(step, Returned)]
    assert [value for value in values if json.dumps(value)[1:-1] not in kept] == [], "the history keeps each result"


@pytest.mark.parametrize("dialect", LACKS)
@pytest.mark.parametrize("runs", [True, False], ids=["with the result", "without it"])
def test_killed_loop_goes_on_in_the_middle_of_a_turn(dialect, runs, tmp_path):
    """A new process finds the open call. It appends the result, which then follows its call, or asks without it."""
    store: dict[str, Any] = {"store": f"sqlite:///{tmp_path / 'agent.db'}", "session": "one"}
    with ContextManager(**store) as context:
        context.append(*built(Said("w0x Run the job."), dialect), *built(Called(("c1", "c2")), dialect))
        context.append(*built(Returned("c1", "w1x"), dialect))
    loop = Loop(dialect)
    with ContextManager(**store) as context:
        (call,) = context.open_calls()
        assert (call.id, call.tool, call.arguments, call.went_on) == ("c2", odd.TOOL, {"number": 1}, False)
        if runs:
            context.append(*built(Returned(call.id, "w2x"), dialect))
        sent = json.dumps(loop.ask(context))
        shown = ("w0x", "w1x", "w2x") if runs else ("w0x", "w1x", odd.WAITING)
        hidden = (odd.WAITING, "Later result") if runs else ()
        assert odd.not_as_wanted(Situation("", (), shown, hidden), sent) == []
        assert [call.id for call in context.open_calls()] == ([] if runs else ["c2"])
        context.append(*([] if runs else built(Returned("c2", "w2x"), dialect)), said("w3x And?", dialect))
        later = Situation("", (), (*shown, *(() if runs else ("Later result of run_job (c2)", "w2x")), "w3x"), hidden)
        assert odd.not_as_wanted(later, json.dumps(loop.ask(context))) == []
        assert odd.changed_prefixes(loop.requests) == 0
        assert context.open_calls() == []
