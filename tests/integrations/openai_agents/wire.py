"""OpenAI's own client with a fake of the API behind it: requests and errors go through the client's code."""

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
from agents import OpenAIChatCompletionsModel, OpenAIResponsesModel
from openai import AsyncOpenAI

from backscroll.evaluation.fake_providers import FakeOpenAIResponses, FakeProviderError

Body = dict[str, Any]


def responses_model(fake: FakeOpenAIResponses, name: str = "gpt-6.2-sol") -> OpenAIResponsesModel:
    """The SDK's model for the Responses API, answered by a fake of it."""
    return OpenAIResponsesModel(name, client(lambda body: fake.create(**_without_stream(body)), _events))


def chat_model(answer: Callable[[Body], Body], name: str = "gpt-5.1") -> OpenAIChatCompletionsModel:
    """The SDK's model for chat completions; `answer` returns the message of a request."""
    return OpenAIChatCompletionsModel(name, client(lambda body: _completion(answer(body)), _chunks))


def client(answer: Callable[[Body], Body], events: Callable[[Body], Iterator[Body]]) -> AsyncOpenAI:
    """A client whose requests are answered here. It sends each request once."""

    def handle(request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        try:
            found = answer(body)
        except FakeProviderError as error:
            return httpx2.Response(error.status_code, json=error.body)
        if not body.get("stream"):
            return httpx2.Response(200, json=found)
        lines = "".join(f"event: {event.get('type', 'x')}\ndata: {json.dumps(event)}\n\n" for event in events(found))
        return httpx2.Response(200, text=f"{lines}data: [DONE]\n\n", headers={"content-type": "text/event-stream"})

    transport = httpx2.AsyncClient(transport=httpx2.MockTransport(handle))
    return AsyncOpenAI(api_key="none", base_url="http://model.test/v1", http_client=transport, max_retries=0)


def _without_stream(body: Body) -> Body:
    return {key: value for key, value in body.items() if key not in ("stream", "include", "extra_headers")}


def _events(response: Body) -> Iterator[Body]:
    """The stream of a response, without deltas."""
    numbers = itertools.count()
    begun = {**response, "output": [], "status": "in_progress", "usage": None}
    yield {"type": "response.created", "sequence_number": next(numbers), "response": begun}
    yield {"type": "response.in_progress", "sequence_number": next(numbers), "response": begun}
    for at, item in enumerate(response["output"]):
        place = {"output_index": at, "item": item}
        yield {"type": "response.output_item.added", "sequence_number": next(numbers), **place}
        yield {"type": "response.output_item.done", "sequence_number": next(numbers), **place}
    yield {"type": "response.completed", "sequence_number": next(numbers), "response": response}


def _completion(message: Body) -> Body:
    reason = "tool_calls" if message.get("tool_calls") else "stop"
    choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": None, **message}}
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    return {
        "id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage,
    }  # fmt: skip  # one thought


def _chunks(completion: Body) -> Iterator[Body]:
    choice = completion["choices"][0]
    calls = [{**call, "index": at} for at, call in enumerate(choice["message"].get("tool_calls") or ())]
    delta = {**choice["message"], **({"tool_calls": calls} if calls else {})}
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
