"""What a proxy is set up with."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from backscroll.errors import ConfigurationError
from backscroll.integrations.proxy.paths import climbs
from backscroll.ports import Store

ANTHROPIC, OPENAI = "https://api.anthropic.com", "https://api.openai.com"
_LEAST_BUDGET = 1_000
_LEAST_TOKEN = 16
_PATH = re.compile(r"/(?:[^*?#]*/)?(?:\*|[^*?#/]*)")


@dataclass(frozen=True, slots=True)
class ProxySettings:
    """Where requests go, and how they are managed.

    Raises:
        ConfigurationError: A value can never work.
    """

    store: Store | None = None
    """Where conversations are stored. `None`: they are kept in memory."""
    budget: int | None = None
    """Input tokens of a request; at least 1,000. `None`: three quarters of what the client counts on or the
    model takes, whichever is less.
    """
    anthropic: str = ANTHROPIC
    """The address to which requests of Anthropic's Messages API go."""
    openai: str = OPENAI
    """The address to which requests of OpenAI's API go, and those of `allow_paths` without a credential."""
    shadow: bool = False
    """Send each request as it came, and report what would have been sent."""
    strict: bool = False
    """Refuse a request that cannot be managed because something failed here. Otherwise it is sent as it came."""
    token: str | None = None
    """A secret that requests have to bear: at least 16 characters, that a path can hold. `None`: they need none."""
    store_rest: float = 30.0
    """Seconds after a failure of the store for which conversations go on in memory; 0 or more. Twice as long after each
    further failure, up to ten minutes.
    """
    store_timeout: float = 5.0
    """Seconds after which a store that does not answer counts as failed; above 0."""
    client_timeout: float = 60.0
    """Seconds without a byte of a request that has not ended, after which it is refused; above 0."""
    allow_paths: Sequence[str] = ()
    """Paths that go on though neither API has them, such as `/v1/rerank`; with `/*` at the end also all below."""
    recall: bool = False
    """Add a tool that reads what views leave out to the requests of new conversations, and answer its calls here."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further options of `backscroll.AsyncContextManager`."""

    def __post_init__(self) -> None:
        """Check the values."""
        for name, address in (("anthropic", self.anthropic), ("openai", self.openai)):
            parts = urlsplit(address)
            if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
                raise ConfigurationError(
                    f"`{name}` must be an address such as 'https://api.example.com', without a query, not {address!r}"
                )
        if isinstance(self.allow_paths, str):
            raise ConfigurationError(f"`allow_paths` must be a list of paths, not {self.allow_paths!r}")
        for path in self.allow_paths:
            if not _PATH.fullmatch(path) or climbs(path.encode()):
                raise ConfigurationError(
                    "a path to allow must begin with a slash, have no query and no segment `..`, and a star only as "
                    f"its last segment, such as '/v1/rerank' or '/v1/rerank/*', not {path!r}"
                )
        if self.budget is not None and (type(self.budget) is not int or self.budget < _LEAST_BUDGET):
            raise ConfigurationError(f"`budget` must be at least {_LEAST_BUDGET:,} tokens, not {self.budget!r}")
        if not self.store_rest >= 0:
            raise ConfigurationError(f"`store_rest` must be 0 seconds or more, not {self.store_rest!r}")
        for name, seconds in (("store_timeout", self.store_timeout), ("client_timeout", self.client_timeout)):
            if not seconds > 0:
                raise ConfigurationError(f"`{name}` must be above 0 seconds, not {seconds!r}")
        if self.token is not None and (len(self.token) < _LEAST_TOKEN or not _fits_a_path(self.token)):
            raise ConfigurationError(
                f"`token` must have at least {_LEAST_TOKEN} letters, digits, hyphens or underscores, because clients "
                "send it as a part of the address"
            )


def _fits_a_path(token: str) -> bool:
    return token.isascii() and all(letter.isalnum() or letter in "-_" for letter in token)
