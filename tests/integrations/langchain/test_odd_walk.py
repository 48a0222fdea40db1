"""A long conversation of odd situations: every view is what a partner's provider accepts."""

import json

import pytest
from langchain_core.messages import HumanMessage

from backscroll.evaluation.fake_providers import FakeAnthropic, FakeOpenAIChat, FakeOpenAIResponses
from backscroll.integrations.langchain import LangChainConversation
from tests.fakes import count_quarter
from tests.integrations.langchain.bound_models import claude_wire, gpt_wire
from tests.integrations.langchain.odd_messages import LACKS, built, chat_wire
from tests.integrations.odd_histories import Returned
from tests.integrations.odd_walk import walk
from tests.long_run import usually

pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("ignore::RuntimeWarning")]  # odd messages warn


def sent(messages, dialect):
    """Send messages as a partner does. Returns the text of the request."""
    if dialect == "anthropic":
        wire = claude_wire(messages)
        FakeAnthropic().create(messages=wire, max_tokens=100)
    elif dialect == "responses":
        wire = gpt_wire(messages)
        FakeOpenAIResponses().create(input=wire)
    else:
        wire = list(map(chat_wire, messages))
        FakeOpenAIChat().create(messages=wire)
    return json.dumps(wire, ensure_ascii=False)


@pytest.mark.parametrize("seed", usually(range(3), 1))
@pytest.mark.parametrize("dialect", LACKS)
def test_long_odd_history_is_accepted_by_its_provider(dialect, seed):
    def messages_of(step):
        also = [HumanMessage(step.also)] if isinstance(step, Returned) and step.also else []
        return [built(step, dialect), *also]

    conversation = LangChainConversation({"tokenizer": count_quarter})
    lane = "claude-opus-5-5" if dialect == "anthropic" else "gpt-5.4"
    walk(conversation, messages_of, lambda view: sent(view, dialect), without=LACKS[dialect], seed=seed, lane=lane)
