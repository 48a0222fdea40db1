"""Summaries by any endpoint with OpenAI's chat API, through the client `openai`."""

from typing import Any

from backscroll.compaction.summarization import SummaryRequest
from backscroll.integrations.summarizers.client import ClientSummarizer


class OpenAISummarizer(ClientSummarizer):
    """A summarizer for `AsyncContextManager(summarizer=...)`. Its arguments are those of `ClientSummarizer`.

    The client reads `OPENAI_BASE_URL` and `OPENAI_API_KEY` from the environment. With `Summarizer(reuse_prefix=True)`
    pass the agent's own `model` and `tools`, so that the provider finds the conversation in its cache.
    """

    package = "openai"
    client_class = "AsyncOpenAI"
    install = "pip install 'backscroll[openai]'"

    async def _ask(self, client: Any, request: SummaryRequest) -> Any:
        return await client.chat.completions.create(
            model=self._model,
            messages=_messages(request),
            max_completion_tokens=2
            * request.max_tokens,  # reasoning counts too; a summary that is too long is rejected later
            **self._options,
        )

    def _text(self, made: Any) -> str:
        return made.choices[0].message.content or made.choices[0].message.refusal or "" if made.choices else ""


def _messages(request: SummaryRequest) -> list[dict[str, Any]]:
    """Return the prompt, or the conversation with one more turn, without the messages' metadata."""
    turn = {"role": "user", "content": request.prompt}
    if not request.messages:
        return [{"role": "system", "content": request.system}, turn]
    kept = [{name: value for name, value in message.items() if name != "metadata"} for message in request.messages]
    return [*kept, turn]
