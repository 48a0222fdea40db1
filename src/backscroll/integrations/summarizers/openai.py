"""Summaries by any endpoint that speaks OpenAI's chat protocol, through the client `openai`."""

from typing import Any

from backscroll.compaction.summarization import SummaryRequest
from backscroll.integrations.summarizers.client import ClientSummarizer


class OpenAISummarizer(ClientSummarizer):
    """A summarizer for `AsyncContextManager(summarizer=...)`. Its arguments are those of `ClientSummarizer`.

    The client reads `OPENAI_BASE_URL` and `OPENAI_API_KEY` from the environment. With `summary_as_turn` give the
    agent's own `model` and `tools`, so that the conversation is found in the provider's cache.
    """

    package = "openai"
    client_class = "AsyncOpenAI"
    install = "pip install 'backscroll[openai]'"

    async def _ask(self, client: Any, request: SummaryRequest) -> Any:
        return await client.chat.completions.create(
            model=self._model,
            messages=_messages(request),
            max_completion_tokens=2 * request.max_tokens,  # reasoning counts too; what is too long is refused later
            **self._options,
        )

    def _text(self, made: Any) -> str:
        return made.choices[0].message.content or made.choices[0].message.refusal or "" if made.choices else ""


def _messages(request: SummaryRequest) -> list[dict[str, Any]]:
    """A prompt of its own, or one more turn of a conversation; what only concerns its keeping is not sent."""
    turn = {"role": "user", "content": request.prompt}
    if not request.messages:
        return [{"role": "system", "content": request.system}, turn]
    kept = [{name: value for name, value in message.items() if name != "metadata"} for message in request.messages]
    return [*kept, turn]
