"""What requests cost in dollars, where the prices of their model are known; a price is never guessed."""

from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from backscroll.errors import ConfigurationError
from backscroll.evaluation.compare.pricing import read_table
from backscroll.tokens.known_models import Prices, find_model

_PER = 1_000_000  # prices are per million tokens
_NEEDED, _OPTIONAL = ("input", "output"), ("cache_read", "cache_write")


@dataclass(frozen=True, slots=True)
class Money:
    """The prices of each lane.

    Args:
        model: The model of lanes that are not named after a model whose prices are known. `None`: not named.
        given: Prices of all lanes, which take precedence. `None`: not given.
    """

    model: str | None = None
    given: Prices | None = None

    def of(self, lane: str) -> tuple[str, Prices] | None:
        """Return whose prices those of a lane are, and these; `None` if they are not known."""
        if self.given is not None:
            return "--prices", self.given
        for name in (lane, self.model):
            row = find_model(name)
            if row is not None and row.prices is not None:
                return row.id, row.prices
        return None

    def cost(self, lane: str, tokens: int, read: int = 0, written: int = 0, answer: int | None = None) -> float | None:
        """Return the dollars of one request.

        Args:
            lane: Its lane.
            tokens: Its input, including what was read from a cache or written to one.
            read: Tokens that were read from a cache.
            written: Tokens that were written to one, where the provider asks a price for that.
            answer: Tokens of the answer. `None`: not known, and not in the cost.

        Returns:
            The dollars. `None`: a price that it needs is not known, or the request is longer than the prices hold for.
        """
        found = self.of(lane)
        if found is None:
            return None
        prices = found[1]
        if (prices.up_to is not None and tokens > prices.up_to) or (read and prices.cache_read is None):
            return None
        write = prices.input if prices.cache_write is None else prices.cache_write  # without one it is plain input
        dollars = (tokens - read - written) * prices.input + written * write + (answer or 0) * prices.output
        return (dollars + read * (prices.cache_read or 0)) / _PER

    def forecast(self, lane: str, tokens: int, kept: int, answer: int | None) -> float | None:
        """Return the dollars of a request of which a cache can hold `kept` tokens, and the rest is written to it."""
        found = self.of(lane)
        if found is not None and found[1].cache_read is None:
            return self.cost(lane, tokens, answer=answer)
        return self.cost(lane, tokens, kept, tokens - kept, answer)


def read_prices(path: str) -> Prices:
    """Return the prices that a TOML or JSON file holds, in dollars per million tokens: `input` and `output`, and
    `cache_read` and `cache_write` where the provider has these.

    Raises:
        ConfigurationError: The file cannot be read, or holds anything else.
    """
    held = read_table(Path(path))
    known = (*_NEEDED, *_OPTIONAL)
    for name in held:
        if name not in known:
            raise ConfigurationError(f"{path}: {name!r} is not a price; use {', '.join(known)}")
    for name in _NEEDED:
        if name not in held:
            raise ConfigurationError(f"{path}: {name!r} is missing: give it in dollars per million tokens")
    found = {name: _price(path, name, value) for name, value in held.items()}
    return Prices(found["input"], found["output"], found.get("cache_read"), found.get("cache_write"))


def _price(path: str, name: str, value: Any) -> float:
    if type(value) not in (int, float) or not isfinite(value) or value < 0:
        raise ConfigurationError(f"{path}: {name!r} must be dollars per million tokens, at least 0, not {value!r}")
    return float(value)
