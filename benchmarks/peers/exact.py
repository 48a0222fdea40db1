"""Exact counts of tokens, for peers that let one set how they count, and for those who judge their views."""

from functools import lru_cache

from backscroll.tokens.engines import resolve
from peers.base import Message, calls_of, plain

FRAME = 4
"""Tokens of a message beyond its texts, about what chat formats need."""
_ENGINE = resolve("o200k_base")


@lru_cache(20_000)
def tokens(text: str) -> int:
    """Return the tokens of a text."""
    return _ENGINE.count(text) if text else 0


def of_message(message: Message) -> int:
    """Return the tokens of an OpenAI message: its text, and names and arguments of its calls."""
    calls = sum(tokens(name) + tokens(arguments) for _, name, arguments in calls_of(message))
    return tokens(plain(message.get("content"))) + calls + FRAME
