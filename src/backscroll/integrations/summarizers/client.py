"""What the summarizers of all providers share: the client, the call and reading its response."""

from abc import ABC, abstractmethod
from importlib import import_module
from typing import Any, ClassVar

from backscroll.compaction.summarization import SummaryRequest, SummaryResponse
from backscroll.errors import ConfigurationError
from backscroll.tokens.responses import read_usage


class ClientSummarizer(ABC):
    """A summarizer for `AsyncContextManager(summarizer=...)` that calls a provider's official client.

    Args:
        model: Name of the model.
        base_url: Address of the API. `None`: as the client reads it from the environment.
        api_key: Key of the API. `None`: as the client reads it from the environment.
        timeout: Seconds of one attempt.
        max_retries: Further attempts after transient errors: 429 with its `retry-after`, 5xx, a lost connection.
        options: Passed unchanged with every call.

    Raises:
        ConfigurationError: The client's package is not installed, or there is no key.
    """

    package: ClassVar[str]
    """The package of the client."""
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
            raise ConfigurationError(f"this summarizer requires the client {self.package}: {self.install}") from error
        self._model, self._options = model, options
        self._settings = {"base_url": base_url, "api_key": api_key, "timeout": timeout, "max_retries": max_retries}
        try:
            client = self._client(**self._settings)
        except Exception as error:  # the client's own error classes are unknown here
            raise ConfigurationError(f"the client {self.package} cannot be created: {error}") from error
        self._check(client)

    async def __call__(self, request: SummaryRequest) -> SummaryResponse:
        """Make one call. A connection lives for one call, since each may come from another event loop."""
        async with self._client(**self._settings) as client:
            made = await self._ask(client, request)
        counted = read_usage(made)
        return SummaryResponse(
            self._text(made), made.model or self._model, counted and counted.prompt, counted and counted.answer
        )

    def _check(self, client: Any) -> None:  # noqa: B027  most clients check their settings when they are created
        """Raise `ConfigurationError` if a client was created but cannot make calls."""

    @abstractmethod
    async def _ask(self, client: Any, request: SummaryRequest) -> Any:
        """Return the provider's response to a request."""

    @abstractmethod
    def _text(self, made: Any) -> str:
        """Return the text of a response."""
