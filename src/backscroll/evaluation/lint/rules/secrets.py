"""`secrets`: keys in what was sent. The finding never shows more than the beginning that all keys of the kind share.

Sources: the formats that the providers publish for scanners of secrets. A value counts only if it is as random as a key
and no placeholder.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from backscroll.evaluation.lint.costs import Costs
from backscroll.evaluation.lint.finding import Found, Rule
from backscroll.evaluation.lint.place import Place
from backscroll.evaluation.lint.same import bare
from backscroll.evaluation.lint.talk import Talk
from backscroll.messages.parts import compact

_KINDS: tuple[tuple[str, str], ...] = (
    ("an AWS access key", r"(?:AKIA|ASIA)[A-Z2-7]{16}"),
    ("a GitHub token", r"gh[pousr]_[A-Za-z0-9]{36,}"),
    ("a GitHub token", r"github_pat_[A-Za-z0-9_]{60,}"),
    ("a GitLab token", r"glpat-[A-Za-z0-9_-]{20,}"),
    ("an Anthropic key", r"sk-ant-[a-z]+\d\d-[A-Za-z0-9_-]{80,}"),
    ("an OpenAI key", r"sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{60,}"),
    ("an OpenAI key", r"sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}"),
    ("an OpenRouter key", r"sk-or-v1-[0-9a-f]{64}"),
    ("a Google API key", r"AIza[A-Za-z0-9_-]{35}"),
    ("a Slack token", r"xox[abprs]-\d{8,}-[A-Za-z0-9-]{20,}"),
    ("a Stripe key", r"[rs]k_live_[A-Za-z0-9]{20,}"),
    ("a Hugging Face token", r"hf_[A-Za-z0-9]{34,}"),
    ("an npm token", r"npm_[A-Za-z0-9]{36}"),
    ("a PyPI token", r"pypi-AgEI[A-Za-z0-9_-]{50,}"),
    ("a SendGrid key", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    ("a private key", r"-----BEGIN (?:RSA |EC |DSA |OPENSSH )?PRIVATE KEY-----(?:\\n|\s)+[A-Za-z0-9+/=\\\s]{200,}"),
)
_PATTERN = re.compile(
    "|".join(rf"(?P<k{at}>(?<![A-Za-z0-9_-]){text}(?![A-Za-z0-9]))" for at, (_, text) in enumerate(_KINDS))
)
_HINT = re.compile(r"AKIA|ASIA|gh[pousr]_|github_pat_|glpat-|sk-|AIza|xox|k_live_|hf_|npm_|pypi-|SG\.|PRIVATE KEY-----")
"""What every key has; most texts have none, and this is found faster."""
_PLACEHOLDER = re.compile(
    r"example|sample|dummy|fake|test|placeholder|your|redacted|secret|token|changeme|x{4}|\*{3}|0{5}|1234|abcd|(.)\1{4}",
    re.IGNORECASE,
)
_RANDOM = 3.0  # bits a character; keys have more, repeated words and counted-up digits less
_PREFIX = re.compile(
    r"^(?:AKIA|ASIA|gh[pousr]_|github_pat_|glpat-|sk-(?:ant|proj|svcacct|admin|or)?-?|AIza|xox.-|..._?live_|hf_|npm_|pypi-|SG\.|-----BEGIN)"
)


def _check(talk: Talk, costs: Costs) -> Iterator[Found]:
    found: dict[str, tuple[Place, str, int]] = {}
    for place, text in _texts(talk):
        if not _HINT.search(text):
            continue
        for match in _PATTERN.finditer(text):
            value = match[0]
            if _is_random(value):
                kind = _KINDS[int(str(match.lastgroup)[1:])][0]
                first, _, count = found.get(value, (place, "", 0))
                found[value] = (first, kind, count + 1)
    for value, (place, kind, count) in found.items():
        begins = _PREFIX.match(value)
        shown = f"{begins[0] if begins else ''}…, {len(value)} characters"
        yield Found(place, f"{kind} ({shown})", count=count)


def _texts(talk: Talk) -> Iterator[tuple[Place, str]]:
    """Yield every text once, with the place where it is first."""
    seen: set[str] = set()
    for request in talk.requests:
        heads: tuple[tuple[str, list[Any]], ...] = (("system", request.system), ("tools", request.tools))
        for name, values in heads:
            for at, value in enumerate(values):
                text = compact(bare(value))
                if text not in seen:
                    seen.add(text)
                    yield Place(f"{name}[{at}]", request.number), text
    for said in talk.said:
        yield from ((said.place, part.readable) for part in said.reading.parts if part.media is None)


def _is_random(value: str) -> bool:
    begins = _PREFIX.match(value)
    rest = value[begins.end() :] if begins else value
    if _PLACEHOLDER.search(rest) and not value.startswith("-----"):  # keys of OpenSSH have runs of one letter
        return False
    counts = Counter(rest)
    bits = -sum(count / len(rest) * math.log2(count / len(rest)) for count in counts.values())
    return bits >= _RANDOM


RULES = (
    Rule(
        "secrets",
        "error",
        "Revoke the key, and pass a function as `redact`, which removes keys before anything is stored or sent.",
        _check,
    ),
)
