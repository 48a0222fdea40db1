"""Token prices: a provider's, by name, or those of a file, relative to an input token that is neither read from a
prompt
cache nor written to one.
"""

import json
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backscroll.compaction.options import CachePricing
from backscroll.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Tariff:
    """Prices of input and output.

    Args:
        name: The name to show.
        input: Prices of the prompt cache.
        output: Price of an output token; at least 0.

    Sources: Anthropic has a cache of 5 minutes, renewed by each use (its documentation on prompt caching, October
    2025), and output at 5 times the input for all models since Claude 3 (its list of November 2025). OpenAI reads at
    0.1, writes at no extra price, and has output at 8 times the input for GPT-5 and its smaller forms (its list of
    November 2025: 1.25, 0.125 and 10 dollars per million). Its cache may drop what was unused for 5 to 10 minutes (its
    guide to prompt caching); the lower figure is used here. Older models of both differ: pass a file.
    """

    name: str
    input: CachePricing = field(default_factory=CachePricing)
    output: float = 5.0

    def __post_init__(self) -> None:
        """Check the range."""
        if type(self.output) not in (int, float) or not 0 <= self.output < float("inf"):
            raise ConfigurationError(f"`output` must be a price of at least 0, not {self.output!r}")


TARIFFS = {
    "anthropic": Tariff("anthropic"),
    "openai": Tariff("openai", CachePricing(read=0.1, write=1.0, ttl_seconds=300.0), 8.0),
}
_INPUT = ("read", "write", "ttl_seconds")


def tariff(given: str) -> Tariff:
    """Return the tariff of a name, or of the TOML or JSON file at a path.

    Args:
        given: The name or path. A file may hold `read`, `write`, `ttl_seconds` and `output`; missing prices are those
            of `anthropic`.

    Raises:
        ConfigurationError: The file cannot be read, or holds anything else.
    """
    if given in TARIFFS:
        return TARIFFS[given]
    held = read_table(Path(given))
    unknown = sorted(set(held) - {*_INPUT, "output"})
    if unknown:
        known = ", ".join((*_INPUT, "output"))
        raise ConfigurationError(f"{given}: {unknown[0]!r} is not a price; use {known}")
    own = {key: held[key] for key in _INPUT if key in held}
    try:
        return Tariff(given, CachePricing(**own), held.get("output", TARIFFS["anthropic"].output))
    except ConfigurationError as error:
        raise ConfigurationError(f"{given}: {error}") from error


def read_table(path: Path) -> dict[str, Any]:
    """Return the table that a TOML or JSON file holds.

    Raises:
        ConfigurationError: The file cannot be read, or holds no table.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        known = ", ".join(TARIFFS)
        raise ConfigurationError(f"{path}: no such file, and not the name of known prices: {known}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: cannot read the prices: {error}") from error
    try:
        held = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path}: not valid TOML or JSON: {error}") from error
    if not isinstance(held, dict):
        raise ConfigurationError(f"{path}: not a table of prices")
    return held
