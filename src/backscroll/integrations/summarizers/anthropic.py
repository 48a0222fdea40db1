"""Summaries by Anthropic's models, through the client `anthropic`. Nothing else may live here."""

from importlib import import_module
from typing import Any

from backscroll.compaction.summarization import SummaryAnswer, SummaryRequest
from backscroll.errors import ConfigurationError
from backscroll.messages import SYSTEM_ROLES
from backscroll.tokens.responses import read_usage


class AnthropicSummarizer:
    """A summarizer for `AsyncContextManager(summarizer=...)`.

    - `model`: its name.
    - `base_url`, `api_key`: as the client takes them; None = as it reads them from the environment
      (`ANTHROPIC_BASE_URL`, `ANTHROPIC_API_KEY`).
    - `timeout`: seconds of one attempt.
    - `max_retries`: further attempts of the client after what may pass: 429 with its `retry-after`, 5xx, a lost
      connection.
    - `options` go into every call as they are. With `summary_as_turn` give the agent's own `model`, `tools`, `system`
      (where its session does not hold it) and `cache_control`, so that the conversation is found in the provider's
      cache.

    Raises `ConfigurationError` without the extra `anthropic`, and without a key.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 60.0,
        max_retries: int = 2,
        **options: Any,
    ) -> None:
        try:
            self._client: Any = import_module("anthropic").AsyncAnthropic
        except ImportError as error:
            raise ConfigurationError(
                "this summarizer needs the client anthropic: pip install 'backscroll[anthropic]'"
            ) from error
        self._model, self._options = model, options
        self._settings = {"base_url": base_url, "api_key": api_key, "timeout": timeout, "max_retries": max_retries}
        client = self._client(**self._settings)
        if not any(getattr(client, name, None) for name in ("api_key", "auth_token", "credentials")):
            raise ConfigurationError("the client anthropic has no key: set ANTHROPIC_API_KEY, or give api_key=")

    async def __call__(self, request: SummaryRequest) -> SummaryAnswer:
        """Asks once. A connection lives for one call, since each may come from another event loop."""
        async with self._client(**self._settings) as client:
            made = await client.messages.create(
                model=self._model,
                **_asked(request),
                max_tokens=2 * request.max_tokens,  # what is too long is refused later, and not cut
                **self._options,
            )
        text = "".join(block.text for block in made.content if block.type == "text")
        counted = read_usage(made)
        return SummaryAnswer(text, made.model, counted and counted.prompt, counted and counted.answer)


def _asked(request: SummaryRequest) -> dict[str, Any]:
    """A prompt of its own, or one more turn of a conversation, whose system messages stand apart in this protocol."""
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
