"""The servers that the examples of the documents reach.

Their model recalls, if it can, and then answers. With a tool `read_log` it reads ten logs and names one. Asked why, it
recalls, and says what the result of the recall says.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from backscroll.evaluation.fake_providers import (
    FakeAnthropic,
    FakeGemini,
    FakeInteractions,
    FakeOpenAIChat,
    FakeOpenAIResponses,
    Reply,
    reply,
)
from tests.integrations.clients.provider_server import serving

CLIENTS = ("from anthropic import", "from openai import", "from google import genai")
"""How an example imports a client."""


LOGS = 10


def _of_logs(request: Any, asked: int) -> Reply:
    """What a model answers to the request of this number that reads logs."""
    if asked <= LOGS:
        return reply(calls=[("read_log", {"number": asked - 1})])
    if asked == LOGS + 1:
        return reply("Log 7 shows a crash.")
    if asked == LOGS + 2:
        return reply(calls=[("recall", {"query": "worker killed"})])
    last = next(request[key][-1] for key in ("messages", "input", "contents") if key in request)
    return reply("The disk was full." if "disk full" in str(last) else "I do not know.")


def _answers() -> Any:
    asked = 0

    def answer(request: Any) -> Reply:
        nonlocal asked
        asked += 1
        if "read_log" in str(request.get("tools")):
            return _of_logs(request, asked)
        if request.get("tools") and asked == 1:
            return reply(thinking="I do not know.", calls=[("recall", {"query": "error"})])
        return reply("The disk was full.")

    return answer


class _OpenAI:
    """Both of OpenAI's APIs, which have one address."""

    def __init__(self) -> None:
        self._chat, self._responses = FakeOpenAIChat(replies=_answers()), FakeOpenAIResponses(replies=_answers())

    def create(self, **asked: Any) -> dict[str, Any]:
        return (self._responses if "input" in asked else self._chat).create(**asked)


class _Gemini:
    """Both of Gemini's APIs, which have one address."""

    def __init__(self) -> None:
        self._contents, self._steps = FakeGemini(replies=_answers()), FakeInteractions(replies=_answers())

    def create(self, **asked: Any) -> dict[str, Any]:
        return (self._steps.create if "input" in asked else self._contents.generate_content)(**asked)


@contextmanager
def environment() -> Iterator[dict[str, str]]:
    """The variables by which clients find the servers."""
    providers = (FakeAnthropic(replies=_answers()), _OpenAI(), _Gemini())
    with ExitStack() as servers:
        anthropic, openai, gemini = [servers.enter_context(serving(each.create)).url for each in providers]
        urls = {
            "ANTHROPIC_BASE_URL": anthropic,
            "OPENAI_BASE_URL": f"{openai}/v1",
            "GOOGLE_GEMINI_BASE_URL": gemini,
        }
        yield urls | {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k", "GEMINI_API_KEY": "k"}
