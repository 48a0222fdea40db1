"""`BackscrollHandler`: LiteLLM's calls with views for messages, and a callback that does so inside LiteLLM."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

import litellm
from litellm.integrations.custom_logger import CustomLogger
from litellm.types.utils import CallTypes

from backscroll.errors import ConfigurationError, RequestTooLargeError
from backscroll.integrations.conversation import ModelCall
from backscroll.integrations.conversations import MOST, Conversations
from backscroll.integrations.litellm.async_stream import AsyncStream
from backscroll.integrations.litellm.call_arguments import conversation_key, is_counted, is_managed, key_of, tools_of
from backscroll.integrations.litellm.conversation import LiteLLMConversation
from backscroll.integrations.litellm.sent_view import SentView
from backscroll.integrations.litellm.stream import Stream
from backscroll.integrations.litellm.translation import as_dict
from backscroll.integrations.litellm.windows import budget_of, lane_of
from backscroll.notices import warn
from backscroll.recall.tool import tool_definition

_NO_NATIVE = (
    "LiteLLM's messages have no place for a provider's own compaction: leave `native` out, also of `strategies`"
)
_NO_MARKS = (
    "LiteLLM sets the marks for a provider's cache: leave `cache_marks` out, and pass it "
    "cache_control_injection_points=[{'location': 'message', 'index': -1}]"
)
_UNNAMED = (
    "a call names no session, so its view is made from nothing each time, `recall` finds nothing later, and the "
    "provider's prompt cache misses: pass litellm_session_id=..., or metadata={'session_id': ...}"
)
_POSITIONAL = (
    "Backscroll cannot see messages that are passed by position, so all of them are sent: call "
    "litellm.acompletion(model=..., messages=...)"
)
_SYNC = (
    "LiteLLM runs no hook that could change a synchronous call, so litellm.completion sends all messages: call the "
    "handler's own `completion`"
)

_OWN_CALL: ContextVar[bool] = ContextVar("backscroll_own_call", default=False)
"""Whether a handler calls LiteLLM right now. Its messages are a view then, of which LiteLLM makes copies."""


class BackscrollHandler(CustomLogger):  # type: ignore[misc]  # no types where checked
    """Gives each request of LiteLLM the best view of its conversation that fits. The caller's list never changes.

    Call `acompletion` or `completion` of this object instead of LiteLLM's. Or put it into `litellm.callbacks`, for a
    Router and for LiteLLM's proxy; then only asynchronous calls are managed.

    Args:
        client: What has `acompletion` and `completion`: a `litellm.Router`. `None`: LiteLLM itself.
        max_conversations: Conversations that stay open, at least 1.
        options: Options of `backscroll.AsyncContextManager`, but `native` and `cache_marks`. With a `store`, each
            conversation is a session named by its key, behind `session` and a slash if that is given.

    Raises:
        ConfigurationError: An option is unknown, or can never work.
    """

    def __init__(self, *, client: Any = None, max_conversations: int = MOST, **options: Any) -> None:
        super().__init__()
        strategies = options.get("strategies")
        if options.get("native") is not None or (isinstance(strategies, list) and "native" in strategies):
            raise ConfigurationError(_NO_NATIVE)
        if options.get("cache_marks") is not None:
            raise ConfigurationError(_NO_MARKS)
        self._client = litellm if client is None else client
        self._has_budget = options.get("budget") is not None
        self._conversations = Conversations(LiteLLMConversation, options, most=max_conversations)
        self._streamed: WeakValueDictionary[str, SentView] = WeakValueDictionary()
        """Views whose answers are streamed by LiteLLM, by the ids of their calls."""
        self._warned: set[str] = set()

    # -- what users call --

    async def acompletion(self, model: str, messages: Sequence[Any], **arguments: Any) -> Any:
        """Do what `litellm.acompletion` does, with a view of the messages.

        A request that the provider rejects as too long is sent again, each time with a shorter view.

        Args:
            model: As LiteLLM names it.
            messages: The whole conversation; it is not changed.
            arguments: Those of `litellm.acompletion`. `litellm_session_id`, or `session_id` of `metadata`, names the
                conversation; `agent_name` of `metadata` an agent in it.

        Returns:
            LiteLLM's response; with `stream=True` an iterator over its chunks, of which the first has arrived.

        Raises:
            RequestTooLarge: What must stay does not fit, or the provider rejected 24 requests in a row.
            ConfigurationError: An argument makes the provider shorten requests as well.
            StoreError: The store failed.
        """
        call = {**arguments, "model": model, "messages": messages}
        if not is_managed(call):
            return await self._client.acompletion(**call)
        with self._conversation_of(call) as conversation:
            wanted = self._request(call, messages)
            while True:
                sent = await conversation.sent(messages, wanted, counted=is_counted(call))
                self._check_name(call, sent)
                try:
                    with _own_call():
                        response = await self._client.acompletion(**{**call, "messages": sent})
                    if call.get("stream"):
                        return await AsyncStream(response, partial(conversation.answered, sent)).begin()
                except Exception as error:
                    if not conversation.refused(sent, error):
                        raise
                    wanted = wanted._replace(first=False)
                else:
                    conversation.answered(sent, response)
                    return response

    def completion(self, model: str, messages: Sequence[Any], **arguments: Any) -> Any:
        """Do the same as `acompletion`, for callers without an event loop: what `litellm.completion` does."""
        call = {**arguments, "model": model, "messages": messages}
        if not is_managed(call):
            return self._client.completion(**call)
        with self._conversation_of(call) as conversation:
            wanted = self._request(call, messages)
            while True:
                sent = conversation.sent_now(messages, wanted, counted=is_counted(call))
                self._check_name(call, sent)
                try:
                    with _own_call():
                        response = self._client.completion(**{**call, "messages": sent})
                    if call.get("stream"):
                        return Stream(response, partial(conversation.answered, sent))
                except Exception as error:
                    if not conversation.refused(sent, error):
                        raise
                    wanted = wanted._replace(first=False)
                else:
                    conversation.answered(sent, response)
                    return response

    def conversation(self, session: str, agent: str | None = None) -> LiteLLMConversation:
        """Return the manager of a conversation: `usage`, `pin`, `recall`, `window_report`.

        Args:
            session: What calls pass as `litellm_session_id`.
            agent: What they pass as `agent_name` in `metadata`. `None`: nothing.
        """
        return self._conversations.get(key_of(session, agent))

    @property
    def recall_tool(self) -> dict[str, Any]:
        """The definition of the tool `recall`, for `tools`."""
        return tool_definition("openai")

    async def answer_recall(self, call: Any, session: str, agent: str | None = None) -> dict[str, Any]:
        """Return the tool message that answers a call of `recall`, as it is in the response.

        Args:
            call: One of the response's `tool_calls`.
            session: As for `conversation`.
            agent: As for `conversation`.
        """
        said = _arguments_of(call)
        found = self.conversation(session, agent)
        return _tool_message(call, said if isinstance(said, str) else await found.answer_recall(said))

    def answer_recall_now(self, call: Any, session: str, agent: str | None = None) -> dict[str, Any]:
        """Do the same as `answer_recall`, for callers without an event loop."""
        said = _arguments_of(call)
        found = self.conversation(session, agent)
        return _tool_message(call, said if isinstance(said, str) else found.answer_recall_now(said))

    def close(self) -> None:
        """Store what is buffered and close all conversations. They open again when they are used."""
        self._conversations.close()

    # -- what LiteLLM calls --

    async def async_pre_call_deployment_hook(
        self, kwargs: dict[str, Any], call_type: CallTypes | None
    ) -> dict[str, Any] | None:
        """Replace the messages of an asynchronous chat call by a view, before each attempt.

        Raises:
            RequestTooLarge: What must stay does not fit.
            ConfigurationError: An argument makes the provider shorten requests as well.
            StoreError: The store failed.
        """
        given = kwargs.get("messages")
        if call_type is not CallTypes.acompletion or _OWN_CALL.get():
            return None
        if given is None:
            self._warn_once(_POSITIONAL)
            return None
        if not is_managed(kwargs):
            return None
        history = given.history if isinstance(given, SentView) else given
        with self._conversation_of(kwargs) as conversation:
            sent = await conversation.sent(history, self._request(kwargs, given), counted=is_counted(kwargs))
        self._check_name(kwargs, sent)
        if kwargs.get("stream"):
            self._streamed[kwargs["litellm_call_id"]] = sent
        return {**kwargs, "messages": sent}

    async def async_post_call_success_deployment_hook(
        self,
        request_data: dict[str, Any],
        response: Any,
        call_type: CallTypes | None,  # noqa: ARG002  LiteLLM's signature
    ) -> None:
        """Record the usage of an answer that is not streamed."""
        sent = request_data.get("messages")
        if isinstance(sent, SentView):
            sent.conversation.answered(sent, response)

    async def async_log_success_event(
        self,
        kwargs: dict[str, Any],
        response_obj: Any,
        start_time: Any,  # noqa: ARG002  LiteLLM's signature
        end_time: Any,  # noqa: ARG002  LiteLLM's signature
    ) -> None:
        """Record the usage of a streamed answer, once LiteLLM has read all of it."""
        sent = self._streamed.pop(str(kwargs.get("litellm_call_id")), None)
        if sent is not None:
            sent.conversation.answered(sent, response_obj)

    async def async_post_call_failure_deployment_hook(
        self,
        request_data: Mapping[str, Any],
        exception: Exception,
        call_type: CallTypes | None,  # noqa: ARG002  LiteLLM's signature
        fallback_depth: int | None = None,  # noqa: ARG002  LiteLLM's signature
    ) -> None:
        """Record a rejection, so that the Router's next attempt gets a shorter view."""
        sent = request_data.get("messages")
        if isinstance(sent, SentView) and sent.conversation.awaited is sent:
            with suppress(RequestTooLargeError):  # LiteLLM raises the provider's error
                sent.conversation.refused(sent, exception)

    def log_pre_api_call(self, model: str, messages: Any, kwargs: dict[str, Any]) -> None:  # noqa: ARG002  LiteLLM's
        """Warn of a synchronous call, which no hook of LiteLLM can change."""
        if kwargs.get("call_type") == CallTypes.completion.value and not _OWN_CALL.get():
            self._warn_once(_SYNC)

    # -- what both need --

    @contextmanager
    def _conversation_of(self, call: Mapping[str, Any]) -> Iterator[LiteLLMConversation]:
        key = conversation_key(call)
        if key is None:
            yield self._conversations.unnamed()
        else:
            with self._conversations.use(key) as found:
                yield found

    def _request(self, call: Mapping[str, Any], history: Sequence[Any]) -> ModelCall:
        """Describe a request. A turn begins with a message of the user: the whole history is then compared."""
        lane = lane_of(call)
        begins = bool(history) and not isinstance(history, SentView) and as_dict(history[-1]).get("role") == "user"
        return ModelCall(
            budget=None if self._has_budget else budget_of(call, lane), lane=lane, tools=tools_of(call), first=begins
        )

    def _check_name(self, call: Mapping[str, Any], sent: SentView) -> None:
        if conversation_key(call) is None and len(sent) != len(sent.history):
            self._warn_once(_UNNAMED)

    def _warn_once(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            warn(text)


@contextmanager
def _own_call() -> Iterator[None]:
    token = _OWN_CALL.set(True)
    try:
        yield
    finally:
        _OWN_CALL.reset(token)


def _arguments_of(call: Any) -> dict[str, Any] | str:
    """Return the arguments of a tool call, or what is wrong with them."""
    try:
        found = json.loads(as_dict(call)["function"]["arguments"] or "{}")
    except ValueError as error:
        return f"The arguments are no JSON: {error}"
    return found if isinstance(found, dict) else "The arguments must be a JSON object."


def _tool_message(call: Any, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": as_dict(call)["id"], "content": text}
