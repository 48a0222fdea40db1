"""Streams of the real clients: refusals on their way, and the finished response at their end."""

import asyncio
from contextlib import ExitStack
from typing import Any

import pytest

from backscroll import AsyncContextManager, BackscrollWarning, ContextManager, MessageError, events
from backscroll.evaluation.fake_providers import reply
from backscroll.integrations.clients import stream_with_retry
from tests.fakes import count_quarter
from tests.integrations.clients.apis import OF_ALL, Anthropic, Chat, Responses, each
from tests.integrations.clients.event_streams import event
from tests.integrations.clients.provider_server import serving

LONG = "Nothing of note happened here, as on all other days. " * 20
CALLS = [("read", {"path": "naïve.py"}), ("read", {"path": "b.py"})]
REPLIES = [reply("I will look into both.", thinking="Two files.", calls=CALLS), "Done.", reply("", calls=CALLS[:1])]
refusals_expected = pytest.mark.filterwarnings("ignore:the provider refused a request")


@pytest.fixture
def serve():
    with ExitStack() as servers:
        yield lambda create: servers.enter_context(serving(create))


class Talk:
    """A conversation with one provider.

    Args:
        serve: Starts its server.
        api: Its API.
        open_name: The method of the API that opens a stream.
        budget: Input tokens of a request.
    """

    def __init__(self, serve: Any, api: Any, open_name: str = "open", *, budget: int = 50_000) -> None:
        self.api, self.heard = api, []
        self.server = serve(api.fake(replies=REPLIES).create)
        self.client = api.client(self.server.url, is_async=False)
        self.context = ContextManager(budget=budget, on_event=lambda name, _: self.heard.append(name))
        self.open = getattr(api, open_name)

    def ask(self, *said: str) -> Any:
        """Say something, and open the stream of the answer."""
        self.context.append(*[self.api.said(text) for text in said])
        return stream_with_retry(self.context, lambda view: self.open(self.client, view, [self.api.tool]))

    def appended(self, response: Any) -> list[Any]:
        """What a request sends of a response that was appended."""
        before = len(self.context.get_messages_for_request())
        self.context.observe_response(response)
        self.context.append(response)
        return self.context.get_messages_for_request()[before:]


@each()
@pytest.mark.parametrize("number", range(3))
def test_finished_response_is_the_one_that_is_not_streamed(serve, api, number):
    """As a view sends it, and with the same usage."""
    talk, other = Talk(serve, api), Talk(serve, api)
    for _ in range(number + 1):
        with talk.ask("Go on.") as stream:
            assert list(stream) != []
        other.context.append(api.said("Go on."))
        whole = api.send(other.client, other.context.get_messages_for_request(), [api.tool])
        talk.context.clear()
        other.context.clear()
    assert api.calls(stream.response) == api.calls(whole)
    assert api.cached(stream.response) == api.cached(whole)
    talk.context.append(api.said("Go on."))
    other.context.append(api.said("Go on."))
    assert talk.appended(stream.response) == other.appended(whole)
    assert events.USAGE_REJECTED not in talk.heard + other.heard


@each([api for api in OF_ALL if isinstance(api, Anthropic)])
def test_anthropic_raw_events_give_the_same_message(serve, api):
    """`create(stream=True)` and `client.messages.stream` of the client."""
    talk, other = Talk(serve, api, "open_raw"), Talk(serve, api)
    streams = talk.ask("Go."), other.ask("Go.")
    for stream in streams:
        list(stream)
    assert streams[0].response == streams[1].response
    assert [block["type"] for block in streams[0].response["content"]] == ["thinking", "text", "tool_use", "tool_use"]
    assert streams[0].response["content"][2]["input"] == {"path": "naïve.py"}


@each([api for api in OF_ALL if type(api) is Chat])
def test_chat_streams_of_the_clients_helper_are_read(serve, api):
    """`client.chat.completions.stream` wraps each chunk."""
    talk = Talk(serve, api)
    talk.open = lambda client, view, _: client.chat.completions.stream(
        model=api.model, messages=view, stream_options={"include_usage": True}
    )
    stream = talk.ask("Go.")
    list(stream)
    assert stream.response["choices"][0]["message"]["content"] == "I will look into both."
    assert api.cached(stream.response)[1] > 0


def refusing_events(api):
    """Streams in which an API refuses a request that it began to answer."""
    failed = {"code": "context_length_exceeded", "message": "Your input exceeds the context window of this model."}
    if isinstance(api, Responses):
        begun = {"id": "r", "object": "response", "status": "in_progress", "output": []}
        created: dict[str, Any] = {"type": "response.created", "sequence_number": 0, "response": begun}
        broken: dict[str, Any] = {
            "type": "response.failed",
            "sequence_number": 1,
            "response": {**begun, "error": failed},
        }
        error: dict[str, Any] = {"type": "error", "sequence_number": 1, **failed, "param": None}
        return [event(created, created["type"]) + event(last, last["type"]) for last in (broken, error)]
    return [event(api.streamed_error, "error" if isinstance(api, Anthropic) else None)]


@each([api for api in OF_ALL if api.format != "gemini"])
@refusals_expected
def test_refusal_in_a_stream_is_answered_by_a_shorter_request(serve, api):
    """Its status is 200, and the error comes out of the first iteration, or as an event."""
    talk = Talk(serve, api)
    talk.server.faults += [(200, stream) for stream in refusing_events(api)]
    stream = talk.ask(*[LONG] * 20)
    list(stream)
    assert api.calls(stream.response) != []
    sizes = [len(str(body)) for body in talk.server.bodies]
    assert len(sizes) == len(refusing_events(api)) + 1
    assert sizes == sorted(set(sizes), reverse=True)


@each()
@refusals_expected
def test_refusal_of_a_stream_is_answered_by_a_shorter_request(serve, api):
    """With a status of 400, as for other requests: the client raises it when the stream is opened or first read."""
    talk = Talk(serve, api)
    talk.server.faults += [api.too_long, api.too_long]
    with talk.ask(*[LONG] * 20) as stream:
        list(stream)
    assert api.calls(stream.response) != []
    assert talk.heard.count(events.OVERFLOW) == 2


@each()
def test_other_errors_of_a_client_pass_unchanged(serve, api):
    talk = Talk(serve, api)
    talk.server.faults.append(api.wrong)
    with pytest.raises(Exception, match=api.wrong[1]["error"]["message"]) as failed:
        list(talk.ask("Go."))
    assert type(failed.value).__module__.partition(".")[0] == api.package.partition(".")[0]
    assert len(talk.server.bodies) == 1
    assert talk.heard.count(events.OVERFLOW) == 0


@each([api for api in OF_ALL if isinstance(api, Responses)])
def test_failed_response_that_is_no_refusal_is_handed_on(serve, api):
    """The caller sees the client's own event; there is no response to append."""
    talk = Talk(serve, api)
    error = {"code": "server_error", "message": "The server had an error."}
    broken = {"id": "r", "object": "response", "status": "failed", "output": [], "error": error}
    failed: dict[str, Any] = {"type": "response.failed", "sequence_number": 0, "response": broken}
    talk.server.faults.append((200, event(failed, failed["type"])))
    stream = talk.ask("Go.")
    assert [each.type for each in stream] == ["response.failed"]
    with pytest.raises(MessageError, match="without a finished response"):
        _ = stream.response


@each()
def test_response_is_there_once_the_stream_has_ended(serve, api):
    stream = Talk(serve, api).ask("Go.")
    next(stream)
    with pytest.raises(MessageError, match="has not ended"):
        _ = stream.response
    list(stream)
    assert api.calls(stream.response) != []


@each([api for api in OF_ALL if type(api) is Chat])
def test_stream_that_breaks_off_has_no_response(serve, api):
    talk = Talk(serve, api)
    delta = {"index": 0, "delta": {"role": "assistant", "content": "I will"}, "finish_reason": None}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [delta]}
    talk.server.faults.append((200, event(chunk)))
    stream = talk.ask("Go.")
    list(stream)
    with pytest.raises(MessageError, match="without a finished response"):
        _ = stream.response


@each([api for api in OF_ALL if type(api) is Chat])
def test_usage_is_missing_where_it_was_not_asked_for(serve, api):
    """The warning says how to ask for it."""
    talk = Talk(serve, api)
    talk.open = lambda client, view, tools: api.send(client, view, tools, stream=True)
    stream = talk.ask("Go.")
    list(stream)
    with pytest.warns(BackscrollWarning, match="include_usage"):
        talk.appended(stream.response)


@each([api for api in OF_ALL if isinstance(api, Anthropic)])
@refusals_expected
@pytest.mark.parametrize("open_name", ["open", "open_raw"])
def test_cut_answer_is_recorded_and_not_asked_for_again(serve, api, open_name):
    """`model_context_window_exceeded` is no error: the answer is there, and later views leave room for one."""
    talk = Talk(serve, api, open_name)

    def create(**asked):
        """Answer with a window that has room for the prompt, and for little more."""
        window = api.fake().count_tokens(**asked)["input_tokens"] + 10
        return api.fake(replies=REPLIES, window=window).create(**asked)

    talk.server.create = create
    stream = talk.ask(*[LONG] * 20)
    list(stream)
    assert stream.response["stop_reason"] == "model_context_window_exceeded"
    before = talk.context.usage().used_upper_bound
    talk.appended(stream.response)
    assert len(talk.server.bodies) == 1
    assert talk.heard.count(events.OVERFLOW) == 1
    assert talk.context.usage().used_upper_bound < before


@each()
def test_asynchronous_stream_that_is_left_early_is_closed(serve, api):
    """No connection stays open: the client would warn."""

    async def work():
        server = serve(api.fake(replies=REPLIES).create)
        client = api.client(server.url, is_async=True)
        async with AsyncContextManager() as context:
            await context.append(api.said("Go."))
            opened = await stream_with_retry(context, lambda view: api.open(client, view, [api.tool]))
            async with opened as stream:
                await anext(stream)

    asyncio.run(work())


def test_a_stream_cancelled_before_its_first_event_is_closed():
    class Silent:
        left = False

        async def __aenter__(self):
            return self

        async def __aexit__(self, *error):
            self.left = True

        def __aiter__(self):
            return self

        async def __anext__(self):
            await asyncio.sleep(60)

    async def run():
        context = AsyncContextManager(tokenizer=count_quarter)
        await context.append({"role": "user", "content": "Hello."})
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(stream_with_retry(context, lambda view: silent), 0.01)

    silent = Silent()
    asyncio.run(run())
    assert silent.left
