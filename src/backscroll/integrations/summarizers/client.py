"""What the summarizers of all providers share: the client, one call by it, and what is read from its response."""

from abc import ABC, abstractmethod
from importlib import import_module
from typing import Any, ClassVar

from backscroll.compaction.summarization import SummaryRequest, SummaryResponse
from backscroll.errors import ConfigurationError
from backscroll.tokens.responses import read_usage


class ClientSummarizer(ABC):
    """A summarizer for `AsyncContextManager(summarizer=...)` that asks by the official client of a provider.

    - `model`: its name.
    - `base_url`, `api_key`: as the client takes them; None = as it reads them from the environment.
    - `timeout`: seconds of one attempt.
    - `max_retries`: further attempts of the client after what may pass: 429 with its `retry-after`, 5xx, a lost
      connection.
    - `options` go into every call as they are.

    Raises `ConfigurationError` without the package of the client, and without a key.
    """

    package: ClassVar[str]
    """Of the client."""
    client_class: ClassVar[str]
    install: ClassVar[str]
    """The command that installs the package."""

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
            self._client: Any = getattr(import_module(self.package), self.client_class)
        except ImportError as error:
            raise ConfigurationError(f"this summarizer needs the client {self.package}: {self.install}") from error
        self._model, self._options = model, options
        self._settings = {"base_url": base_url, "api_key": api_key, "timeout": timeout, "max_retries": max_retries}
        try:
            client = self._client(**self._settings)
        except Exception as error:  # its own kinds of error, which only it can name
            raise ConfigurationError(f"the client {self.package} cannot be used so: {error}") from error
        self._check(client)

    async def __call__(self, request: SummaryRequest) -> SummaryResponse:
        """Asks once. A connection lives for one call, since each may come from another event loop."""
        async with self._client(**self._settings) as client:
            made = await self._ask(client, request)
        counted = read_usage(made)
        return SummaryResponse(
            self._text(made), made.model or self._model, counted and counted.prompt, counted and counted.answer
        )

    def _check(self, client: Any) -> None:  # noqa: B027  most clients refuse what they cannot use when they are made
        """Raises `ConfigurationError` for a client that was made, and cannot ask."""

    @abstractmethod
    async def _ask(self, client: Any, request: SummaryRequest) -> Any:
        """The provider's response to a request."""

    @abstractmethod
    def _text(self, made: Any) -> str:
        """What a response says."""
