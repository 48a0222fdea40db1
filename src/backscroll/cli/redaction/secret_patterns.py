"""Which texts `--redact` knows: the forms of keys, tokens and passwords, and of addresses for mail.

Each pattern begins where no earlier character can begin it, or consumes what it looked at, so that a text of any length
is searched in linear time. A form that is no more than likely would take away words of code: it is left out.
"""

import re
from typing import NamedTuple


class SecretPattern(NamedTuple):
    """How one kind of secret is written."""

    kind: str
    """What replaces it names this."""
    signs: tuple[str, ...]
    """A text that has none of these has no such secret. To look for them costs a hundredth of the pattern."""
    pattern: re.Pattern[str]
    """If it has a group, only the group is the secret."""


def _of(kind: str, signs: str, pattern: str) -> SecretPattern:
    return SecretPattern(kind, tuple(signs.split()), re.compile(pattern))


SECRETS = (
    _of("private key", "PRIVATE",
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z ]{0,40}-----|\Z)"),
    _of("API key", "sk-", r"(?<![\w-])sk-(?=[\w-]*\d)[\w-]{20,}"),  # Anthropic, OpenAI and those that follow them
    _of("API key", "sk_live_ sk_test_ rk_live_ rk_test_", r"(?<!\w)[rs]k_(?:live|test)_\w{16,}"),  # Stripe
    _of("API key", "AIza", r"(?<![\w-])AIza[\w-]{35}"),  # Google
    _of("AWS key", "AKIA ASIA", r"(?<![A-Za-z0-9])A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _of("token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"(?<!\w)(?:gh[opsur]|github_pat)_\w{22,}"),
    _of("token", "glpat-", r"(?<![\w-])glpat-[\w-]{20,}"),
    _of("token", "xox", r"(?<![\w-])xox[abeoprs]-[\w-]{10,}"),  # Slack
    _of("token", "hf_ npm_", r"(?<!\w)(?:hf|npm)_[A-Za-z0-9]{30,}"),
    _of("token", "pypi-", r"(?<![\w-])pypi-[\w-]{40,}"),
    _of("token", "eyJ", r"(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*"),  # JSON Web Tokens
    _of("token", "uthorization UTHORIZATION",
        r"""(?i:authorization)\\?["']?\s{0,4}[:=]\s{0,4}\\?["']?(?i:bearer|basic|token)\s{1,4}([\w.~+/=-]{8,})"""),
    _of("password", "://", r"""(?<=://)[^\s/:@"'<>]{0,80}:([^\s/:@"'<>\\]{1,200})@"""),
    _of("value", "SECRET TOKEN PASSWORD PASSWD API_KEY APIKEY ACCESS_KEY",  # a line of a file .env
        r"""(?:SECRET|TOKEN|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY)[A-Z0-9_]{0,40}=\\?["']?([^\s"'\\$<{(\[;]{8,})"""),
)  # fmt: skip

EMAILS = (
    _of("email", "@", r"(?<![\w.+%-])[\w.+%-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,8}\.[A-Za-z]{2,24}"),
)

KINDS = {"secrets": SECRETS, "emails": EMAILS}
"""What `--redact` takes."""
