"""Whose credentials a request bears, as far as they show it: `Credentials`."""

import re
from base64 import urlsafe_b64decode
from collections.abc import Iterable

from backscroll.integrations.proxy.paths import Provider, decoded

_NAMES = (
    (re.compile(rb"^x-api-key$", re.MULTILINE), Provider.ANTHROPIC, "`x-api-key`"),
    (re.compile(rb"^anthropic-", re.MULTILINE), Provider.ANTHROPIC, "`anthropic-*`"),
    (re.compile(rb"^openai-", re.MULTILINE), Provider.OPENAI, "`openai-*`"),
    (re.compile(rb"^chatgpt-account-id$", re.MULTILINE), Provider.OPENAI, "`chatgpt-account-id`"),
)
"""Searched in the names of the headers, one a line."""
_KEYS = (
    (re.compile(rb"sk-ant-(?<![a-z0-9]sk-ant-)"), Provider.ANTHROPIC, "a key that begins with `sk-ant-`"),
    (re.compile(rb"sk-(?<![a-z0-9]sk-)(?:proj|svcacct|admin|none)-"), Provider.OPENAI, "a key of OpenAI"),
    (re.compile(rb"t3blbkfj"), Provider.OPENAI, "a key of OpenAI"),
)
"""Searched everywhere, in lower case. Each key of OpenAI holds these eight letters, its name in base 64, however it
begins. Each expression begins with letters, which makes its search ten times as fast.
"""
_ISSUERS = (
    (re.compile(rb"[/.]anthropic\.com"), Provider.ANTHROPIC, "a token of Anthropic"),
    (re.compile(rb"[/.]openai\.com"), Provider.OPENAI, "a token of OpenAI"),
)
"""Searched in log-in tokens (JSON Web Tokens): they name who issued them, and for whom, by addresses."""
_OTHER = re.compile(rb"sk-(?<![a-z0-9_-]sk-)(?!ant-)")
"""Keys of gateways and of smaller providers begin with `sk-`, as OpenAI's do."""
_IN_TEXT = re.compile(r"sk-[\w%-]{4,}", re.IGNORECASE)
_FOR_KEYS = frozenset((b"authorization", b"x-api-key", b"api-key"))
_IN_BASE_64 = re.compile(rb"[A-Za-z0-9_+/-]{8,}")


class Credentials:
    """Those of a request. Messages may show what is said of them: it holds nothing of their values.

    Args:
        headers: The headers.
        target: The path and query, as they came.
    """

    def __init__(self, headers: Iterable[tuple[bytes, bytes]], target: bytes) -> None:
        # some servers read `_` in a name as `-`
        pairs = [(name.lower().replace(b"_", b"-"), value) for name, value in headers if value]
        names = b"\n".join(name for name, _ in pairs)
        keys = _readable(value for name, value in pairs if name in _FOR_KEYS)
        said = _readable([target, *(value for _, value in pairs)]).lower()
        packed = _unpacked(keys).lower()
        by_value = _shown(packed, _ISSUERS) | _shown(said + b"\n" + packed, _KEYS)
        self.shown: dict[Provider, str] = _shown(names, _NAMES) | by_value
        """The providers to which one belongs, and how it shows that."""
        self.has_other_key: bool = _OTHER.search(keys.lower()) is not None
        """Whether there is a key that begins with `sk-` and not with `sk-ant-`."""
        self.speaks_anthropic: bool = b"\nanthropic-" in b"\n" + names and Provider.ANTHROPIC not in by_value
        """Whether a header `anthropic-*` is there, and no key of Anthropic."""


def without_keys(path: str) -> str:
    """Return a path for a line of the log, without the keys in it."""
    found = (decoded(path.encode()) or b"").decode("utf-8", "replace")
    return _IN_TEXT.sub("sk-...", found) if _IN_TEXT.search(found) else path


def _shown(text: bytes, patterns: Iterable[tuple[re.Pattern[bytes], Provider, str]]) -> dict[Provider, str]:
    return {whose: how for pattern, whose, how in patterns if pattern.search(text)}


def _readable(values: Iterable[bytes]) -> bytes:
    """Return values as they came and decoded, each on a line of its own."""
    given = list(values)
    return b"\n".join([*given, *(decoded(each) or b"" for each in given if b"%" in each)])


def _unpacked(text: bytes) -> bytes:
    """Return what is said in base 64: a log-in token, or a key as the name or password of `Basic`."""
    parts = [part.translate(bytes.maketrans(b"+/", b"-_")) for part in _IN_BASE_64.findall(text)]
    return b"\n".join(urlsafe_b64decode(part[: len(part) - (len(part) % 4 == 1)] + b"==") for part in parts)
