"""One rule of a provider: its name, which odd situations of a history it refuses, and its check.

A fake takes its rules as a table, so that a test can leave one out and see what only that one refuses.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from backscroll.evaluation.fake_providers.errors import FakeProviderError

Request = TypeVar("Request")


class Rule(NamedTuple, Generic[Request]):
    """One thing that a provider refuses."""

    name: str
    """Stable, in kebab-case."""
    check: Callable[[Request], Iterator[FakeProviderError]]
    """Yields the errors of a request. It has to bear what other rules would have refused."""
    situations: tuple[str, ...] = ()
    """The odd situations of a history that it refuses, such as `late_result`."""


def refuse(rules: Iterable[Rule[Request]], request: Request) -> None:
    """Refuse a request for the first rule that it breaks.

    Raises:
        FakeProviderError: With the text of that rule.
    """
    for rule in rules:
        for error in rule.check(request):
            raise error


def is_encodable(value: Any) -> bool:
    """Return whether a JSON value can be sent: the clients encode it as UTF-8, which has no lone surrogates."""
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        return False
    return True


def parses(arguments: str) -> bool:
    """Return whether a text is the JSON of an object."""
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


def is_blank(text: Any) -> bool:
    """Return whether a text holds nothing but whitespace."""
    return isinstance(text, str) and not text.strip()
