"""Whose credentials a request bears, as far as they show it: `Credentials`."""

import re
from base64 import urlsafe_b64decode
from collections.abc import Iterable, Iterator

from backscroll.integrations.proxy.paths import Provider, decoded

_HEADERS = (
    (re.compile(rb"x-api-key"), Provider.ANTHROPIC, "`x-api-key`"),
    (re.compile(rb"anthropic-.*"), Provider.ANTHROPIC, "`anthropic-*`"),
    (re.compile(rb"openai-.*"), Provider.OPENAI, "`openai-*`"),
    (re.compile(rb"chatgpt-account-id"), Provider.OPENAI, "`chatgpt-account-id`"),
)
_KEYS = (
    (re.compile(rb"(?<![a-z0-9])sk-ant-", re.IGNORECASE), Provider.ANTHROPIC, "a key that begins with `sk-ant-`"),
    (re.compile(rb"(?<![A-Za-z0-9])sk-(?:proj|svcacct|admin|None)-|T3BlbkFJ"), Provider.OPENAI, "a key of OpenAI"),
)
"""Searched everywhere. Each key of OpenAI holds these eight letters, its name in base 64, however it begins."""
_ISSUERS = (
    (re.compile(rb"[/.]anthropic\.com"), Provider.ANTHROPIC, "a token of Anthropic"),
    (re.compile(rb"[/.]openai\.com"), Provider.OPENAI, "a token of OpenAI"),
)
"""Searched in log-in tokens (JSON Web Tokens): they name who issued them, and for whom, by addresses."""
_OTHER = re.compile(rb"(?<![A-Za-z0-9_-])sk-(?!ant-)", re.IGNORECASE)
"""Keys of gateways and of smaller providers begin with `sk-`, as OpenAI's do."""
_FOR_KEYS = frozenset((b"authorization", b"x-api-key", b"api-key"))
_IN_BASE_64 = re.compile(rb"[A-Za-z0-9_+/-]{8,}")


class Credentials:
    """Those of a request. Messages may show what is said of them: it holds nothing of their values.

    Args:
        headers: The headers.
        target: The path and query, as they came.
    """

    def __init__(self, headers: Iterable[tuple[bytes, bytes]], target: bytes) -> None:
        pairs = [(name.lower(), value) for name, value in headers if value]
        by_value = dict(_shown_by_values([*pairs, (b"", decoded(target) or target)]))
        by_name = {whose: shown for name, _ in pairs for named, whose, shown in _HEADERS if named.fullmatch(name)}
        self.shown: dict[Provider, str] = by_name | by_value
        """The providers to which one belongs, and how it shows that."""
        self.has_other_key = any(name in _FOR_KEYS and _OTHER.search(value) for name, value in pairs)
        """Whether there is a key that begins with `sk-` and not with `sk-ant-`."""
        names_anthropic = any(name.startswith(b"anthropic-") for name, _ in pairs)
        self.speaks_anthropic = names_anthropic and Provider.ANTHROPIC not in by_value
        """Whether a header `anthropic-*` is there, and no key of Anthropic."""


def _shown_by_values(pairs: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[Provider, str]]:
    for name, value in pairs:
        packed = _unpacked(value) if name in _FOR_KEYS else b""
        for text, patterns in ((value, _KEYS), (packed, (*_KEYS, *_ISSUERS))):
            yield from ((whose, shown) for pattern, whose, shown in patterns if pattern.search(text))


def _unpacked(value: bytes) -> bytes:
    """Return what a value says in base 64: a log-in token, or a key as the name or password of `Basic`."""
    parts = [part.translate(bytes.maketrans(b"+/", b"-_")) for part in _IN_BASE_64.findall(value)]
    return b" ".join(urlsafe_b64decode(part[: len(part) - (len(part) % 4 == 1)] + b"==") for part in parts)
