"""Summaries by any endpoint that speaks OpenAI's chat protocol, through the client `openai`. Nothing else may live
here.
"""

from importlib import import_module
from typing import Any

from backscroll.compaction.summarization import SummaryAnswer, SummaryRequest
from backscroll.errors import ConfigurationError
from backscroll.tokens.responses import read_usage


class OpenAISummarizer:
    """A summarizer for `AsyncContextManager(summarizer=...)`.

    - `model`: its name.
    - `base_url`, `api_key`: as the client takes them; None = as it reads them from the environment
      (`OPENAI_BASE_URL`, `OPENAI_API_KEY`).
    - `timeout`: seconds of one attempt.
    - `max_retries`: further attempts of the client after what may pass: 429 with its `retry-after`, 5xx, a lost
      connection.
    - `options` go into every call as they are. With `summary_as_turn` give the agent's own `model` and `tools`, so that
      the conversation is found in the provider's cache.

    Raises `ConfigurationError` without the extra `openai`, and without a key.
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
            self._client: Any = import_module("openai").AsyncOpenAI
        except ImportError as error:
            raise ConfigurationError(
                "this summarizer needs the client openai: pip install 'backscroll[openai]'"
            ) from error
        self._model, self._options = model, options
        self._settings = {"base_url": base_url, "api_key": api_key, "timeout": timeout, "max_retries": max_retries}
        try:
            self._client(**self._settings)
        except Exception as error:  # its own kinds of error, which only it can name
            raise ConfigurationError(f"the client openai cannot be used so: {error}") from error

    async def __call__(self, request: SummaryRequest) -> SummaryAnswer:
        """Asks once. A connection lives for one call, since each may come from another event loop."""
        async with self._client(**self._settings) as client:
            made = await client.chat.completions.create(
                model=self._model,
                messages=_messages(request),
                max_completion_tokens=2 * request.max_tokens,  # reasoning counts too; what is too long is refused later
                **self._options,
            )
        counted = read_usage(made)
        return SummaryAnswer(
            made.choices[0].message.content or made.choices[0].message.refusal or "" if made.choices else "",
            made.model or self._model,
            counted and counted.prompt,
            counted and counted.answer,
        )


def _messages(request: SummaryRequest) -> list[dict[str, Any]]:
    """A prompt of its own, or one more turn of a conversation; what only concerns its keeping is not sent."""
    turn = {"role": "user", "content": request.prompt}
    if not request.messages:
        return [{"role": "system", "content": request.system}, turn]
    kept = [{name: value for name, value in message.items() if name != "metadata"} for message in request.messages]
    return [*kept, turn]
