"""The handler among LiteLLM's callbacks: what it manages, what it lets pass, and what it warns of."""

import asyncio
from copy import copy, deepcopy
from typing import Any

import litellm
import pytest
from litellm.integrations.custom_logger import CustomLogger

from backscroll import BackscrollWarning
from backscroll.evaluation.validity import problems
from backscroll.integrations.litellm.sent_view import SentView
from tests.integrations.litellm import OURS
from tests.integrations.litellm.agents import handler_of, installed
from tests.integrations.litellm.provider import providing
from tests.integrations.litellm.recorder import turns

pytestmark = OURS


def asking(provider: Any, **more: Any) -> dict[str, Any]:
    named = {"api_base": provider.url, "api_key": "none", "litellm_session_id": "s", **more}
    return {"model": "openai/small-1", "messages": turns(60), **named}


class Seeing(CustomLogger):  # type: ignore[misc]  # LiteLLM's classes are untyped here
    """A callback behind ours that keeps what it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[Any] = []

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> None:
        self.messages.append(kwargs.get("messages"))


def test_the_callers_list_and_its_objects_stay():
    """LiteLLM copies the messages before its hooks: the view holds these very copies."""
    with providing() as provider, installed(handler_of()) as handler:
        before, behind = Seeing(), Seeing()
        litellm.callbacks = [before, handler, behind]
        call = asking(provider)
        history, same = list(call["messages"]), deepcopy(call["messages"])
        asyncio.run(litellm.acompletion(**call))
    assert call["messages"] == same
    assert all(each is here for each, here in zip(call["messages"], history, strict=True))
    ((given,), (view,)) = before.messages, behind.messages
    own = {id(message) for message in given}
    assert len(given) == 121
    assert sum(id(message) in own for message in view) > 2
    assert all(id(message) in own or message not in history for message in view)
    assert problems(provider.requests("small-1")[0], history) == []


def test_a_synchronous_call_sends_all_messages_and_warns_once():
    with providing() as provider, installed(handler_of()) as handler:
        with pytest.warns(BackscrollWarning, match="handler's own `completion`"):
            litellm.completion(**asking(provider))
        litellm.completion(**asking(provider))
        handler.completion(**asking(provider))
    assert [len(request) for request in provider.requests("small-1")][:2] == [121, 121]
    assert len(provider.requests("small-1")[2]) < 121


def test_messages_passed_by_position_are_sent_whole():
    with providing() as provider, installed(handler_of()):
        call = asking(provider)
        model, messages = call.pop("model"), call.pop("messages")
        with pytest.warns(BackscrollWarning, match="by position"):
            asyncio.run(litellm.acompletion(model, messages, **call))
        asyncio.run(litellm.acompletion(model, messages, **call))
    assert [len(request) for request in provider.requests("small-1")] == [121, 121]


def test_the_handlers_own_call_is_not_managed_twice():
    with providing() as provider, installed(handler_of()) as handler:
        asyncio.run(handler.acompletion(**asking(provider)))
        assert len(asyncio.run(handler.conversation("s").list_requests())) == 1
    (request,) = provider.requests("small-1")
    assert problems(request, turns(60)) == []


def test_the_handlers_own_synchronous_call_does_not_warn():
    with providing() as provider, installed(handler_of()) as handler:
        handler.completion(**asking(provider))
    assert len(provider.requests("small-1")[0]) < 121


def test_requests_of_other_kinds_pass():
    handler = handler_of()
    data = {"input": ["x"], "messages": turns(60), "litellm_call_id": "c"}
    for kind in (litellm.types.utils.CallTypes.aembedding, litellm.types.utils.CallTypes.anthropic_messages, None):
        assert asyncio.run(handler.async_pre_call_deployment_hook(data, kind)) is None


@pytest.mark.parametrize("named", [{"previous_response_id": "r"}, {"_agentic_loop_depth": 1}])
def test_requests_that_hold_no_whole_history_pass(named):
    handler = handler_of()
    data = {"model": "openai/m", "messages": turns(60), "litellm_call_id": "c", **named}
    kind = litellm.types.utils.CallTypes.acompletion
    assert asyncio.run(handler.async_pre_call_deployment_hook(data, kind)) is None


def test_a_router_gives_each_deployment_its_window():
    """What the proxy does: its Router calls `acompletion` with the deployment's `model_info`."""
    with providing() as provider, installed(handler_of(budget=None)) as handler:
        address = {"model": "openai/small-1", "api_base": provider.url, "api_key": "none"}
        info = {"max_input_tokens": 4_000}
        known = litellm.Router([{"model_name": "alias", "litellm_params": address, "model_info": info}])
        metadata = {"session_id": "s", "user_api_key_hash": "k"}
        asyncio.run(known.acompletion("alias", turns(60), metadata=metadata))
        found = handler._conversations.known("k:s")
    assert found.usage("openai/small-1").window == 4_000
    assert problems(provider.requests("small-1")[0], turns(60)) == []


def test_a_copy_of_a_view_knows_its_history():
    history = turns(1)
    conversation = handler_of().conversation("s")
    view = SentView(history, history, conversation, "openai/m")
    for made in (copy(view), deepcopy(view)):
        assert made == view
        assert made.history is history
        assert made.conversation is conversation
    assert deepcopy(view)[0] is not history[0]
