"""The lines of the proxy's page by which a client is pointed at the proxy."""

import re
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).resolve().parents[2] / "docs/guides/proxy.md"
_ADDRESS = "http://127.0.0.1:8788"
_BLOCK = re.compile(r"^(?P<intro>[^\n`#|][^\n]*:)\n\n```\w+\n(?P<lines>.*?)^```$", re.DOTALL | re.MULTILINE)


class Lines(NamedTuple):
    """What a page says for one client."""

    variables: dict[str, str]
    """Of the environment."""
    files: dict[str, str]
    """Text of each file, by its path below the home."""


def lines_for(client: str, address: str) -> Lines:
    """Return what the page says for a client.

    Args:
        client: Its name, with which the sentence before the block begins.
        address: Where the proxy is, in place of the page's own address.
    """
    for found in _BLOCK.finditer(PAGE.read_text(encoding="utf-8")):
        if found["intro"].startswith(client):
            lines = found["lines"].replace(_ADDRESS, address)
            place = re.search(r"`~/([^`]+)`", found["intro"])
            return Lines({}, {place[1]: lines}) if place else Lines(_exported(lines), {})
    raise LookupError(f"{PAGE.name} has no lines for {client}")


def _exported(lines: str) -> dict[str, str]:
    """A key that the user has is the fake one."""
    return {name: value.replace("$OPENAI_API_KEY", "sk-fake") for name, value in re.findall(r"(\w+)=(\S+)", lines)}


def versions() -> dict[str, str]:
    """The version of each client in the page's table of what was run, by its package."""
    return dict(re.findall(r"^\| [^|]+ \| `([^`]+)` ([\d.]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
