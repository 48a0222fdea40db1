"""What tokens cost: a provider's prices by name, or those of a file. Figures are relative to an input token that is
neither read from a prompt cache nor written to one.
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
    """`name`: for people. `input`: of the prompt cache. `output`: of a token that the model writes; at least 0.

    Anthropic: cache of 5 minutes, which each use renews (its documentation on prompt caching, October 2025); output at
    5 times the input for all of its models since Claude 3 (its list of November 2025). OpenAI: reading at 0.1, writing
    at no extra price, output at 8 times the input, for GPT-5 and its smaller forms (its list of November 2025: 1.25,
    0.125 and 10 dollars for a million); what was not used for 5 to 10 minutes may be forgotten (its guide to prompt
    caching), of which the lower end stands here. Older models of both differ: give a file.
    """

    name: str
    input: CachePricing = field(default_factory=CachePricing)
    output: float = 5.0

    def __post_init__(self) -> None:
        """Checks the range."""
        if type(self.output) not in (int, float) or not 0 <= self.output < float("inf"):
            raise ConfigurationError(f"output is a price of at least 0, and not {self.output!r}")


TARIFFS = {
    "anthropic": Tariff("anthropic"),
    "openai": Tariff("openai", CachePricing(read=0.1, write=1.0, ttl_seconds=300.0), 8.0),
}
_INPUT = ("read", "write", "ttl_seconds")


def tariff(given: str) -> Tariff:
    """The tariff of that name, or of the TOML or JSON file at that path.

    A file holds any of `read`, `write`, `ttl_seconds` and `output`; what it does not name is
    as with `anthropic`. Raises `ConfigurationError` for a file that cannot be read or holds anything else.
    """
    if given in TARIFFS:
        return TARIFFS[given]
    held = _read(Path(given))
    unknown = sorted(set(held) - {*_INPUT, "output"})
    if unknown:
        known = ", ".join((*_INPUT, "output"))
        raise ConfigurationError(f"{given}: {unknown[0]!r} is no price; it may hold {known}")
    own = {key: held[key] for key in _INPUT if key in held}
    try:
        return Tariff(given, CachePricing(**own), held.get("output", TARIFFS["anthropic"].output))
    except ConfigurationError as error:
        raise ConfigurationError(f"{given}: {error}") from error


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        known = ", ".join(TARIFFS)
        raise ConfigurationError(f"{path}: no such file, and no known prices; known are {known}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: the prices cannot be read: {error}") from error
    try:
        held = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path}: neither TOML nor JSON: {error}") from error
    if not isinstance(held, dict):
        raise ConfigurationError(f"{path}: holds no table of prices")
    return held
