"""Summaries by Anthropic's models, through the client `anthropic`."""

from typing import Any

from backscroll.compaction.summarization import SummaryRequest
from backscroll.errors import ConfigurationError
from backscroll.integrations.summarizers.client import ClientSummarizer
from backscroll.messages import SYSTEM_ROLES


class AnthropicSummarizer(ClientSummarizer):
    """A summarizer for `AsyncContextManager(summarizer=...)`. Its arguments are those of `ClientSummarizer`.

    The client reads `ANTHROPIC_BASE_URL` and `ANTHROPIC_API_KEY` from the environment. With
    `Summarizer(reuse_prefix=True)` pass the agent's own `model`, `tools`, `system` (if its session does not hold it)
    and `cache_control`, so that the provider finds the conversation in its cache.
    """

    package = "anthropic"
    client_class = "AsyncAnthropic"
    install = "pip install 'backscroll[anthropic]'"

    def _check(self, client: Any) -> None:
        if not any(getattr(client, name, None) for name in ("api_key", "auth_token", "credentials")):
            raise ConfigurationError("the client anthropic has no key: set ANTHROPIC_API_KEY, or pass `api_key`")

    async def _ask(self, client: Any, request: SummaryRequest) -> Any:
        return await client.messages.create(
            model=self._model,
            **_asked(request),
            max_tokens=2 * request.max_tokens,  # a summary that is too long is rejected later, not cut
            **self._options,
        )

    def _text(self, made: Any) -> str:
        return "".join(block.text for block in made.content if block.type == "text")


def _asked(request: SummaryRequest) -> dict[str, Any]:
    """Return the prompt, or the conversation with one more turn; this API takes system messages separately."""
    turn = {"role": "user", "content": request.prompt}
    if not request.messages:
        return {"system": request.system, "messages": [turn]}
    system = [message["content"] for message in request.messages if message["role"] in SYSTEM_ROLES]
    kept = [
        {"role": message["role"], "content": message["content"]}
        for message in request.messages
        if message["role"] not in SYSTEM_ROLES
    ]
    texts = [text if type(text) is str else "\n".join(block["text"] for block in text) for text in system]
    return {"messages": [*kept, turn], **({"system": "\n\n".join(texts)} if texts else {})}
