"""Recognize what a user stated as a rule, and how strong it is.

A lost rule is the most expensive loss of a compaction, while a sentence kept in vain costs a few tokens. So the markers
(`rule_markers.py`) are wide. Where room ends, their strength decides which rule goes first.
"""

import re
from functools import lru_cache

from backscroll.compaction.digest.rule_markers import LANGUAGES, Markers
from backscroll.compaction.sampling import sampled
from backscroll.history.plan import DigestLine

PROHIBITION, STANDING, LIMIT, NO_RULE = 3, 2, 1, 0
_SENTENCE = re.compile(
    r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n+"
)  # the last three end Chinese and Japanese sentences
_REMEMBERED = 2_000  # characters of a text that is worth caching: a digest's own are shorter
LONGEST_RULE = 600  # characters; a longer "sentence" is pasted, and a rule is at most a part of it
_ASKS_TO = re.compile(r"(?:can|could|would|will) (?:you|we)\b", re.IGNORECASE)


def _any_of(field: str) -> re.Pattern[str]:
    """Return a pattern for a field of all languages."""
    bounded = "|".join(found for each in LANGUAGES.values() if each.bounded and (found := getattr(each, field)))
    others = "|".join(found for each in LANGUAGES.values() if not each.bounded and (found := getattr(each, field)))
    return re.compile(rf"\b(?:{bounded})\b|{others}" if others else bounded, re.IGNORECASE)


_STRENGTHS = tuple(zip((PROHIBITION, STANDING, LIMIT), map(_any_of, Markers._fields), strict=False))
_ONCE, _REMARK = _any_of("once"), _any_of("remark")


def rules_in(text: str) -> tuple[str, ...]:
    """Return the sentences of a user's text that may state a rule, word for word, in order, without duplicates. Only
    portions of a text too long to be typed are read (`compaction/sampling.py`).
    """
    return _known_rules(text) if len(text) <= _REMEMBERED else _rules_in(text)


def _rules_in(text: str) -> tuple[str, ...]:
    found = (sentence.strip() for sentence in _SENTENCE.split(sampled(text)))
    return tuple(dict.fromkeys(said for said in found if 3 < len(said) <= LONGEST_RULE and strength(said)))


@lru_cache(maxsize=4_096)
def strength(sentence: str) -> int:
    """Return how strong a rule a sentence states: `PROHIBITION`, `STANDING`, `LIMIT`, or `NO_RULE`, which is 0.

    An order that is carried out once is no rule, however polite. A question states none, unless it asks to do
    something; one that names what must not happen may.
    """
    sentence = sentence.replace("\u2019", "'")
    if not any(marker.search(sentence) for _, marker in _STRENGTHS):
        return NO_RULE
    left = _REMARK.sub(" ", sentence)
    found = next((strong for strong, marker in _STRENGTHS if marker.search(left)), NO_RULE)
    if found == LIMIT and _ONCE.search(left):
        return NO_RULE
    if sentence.endswith(("?", "\uff1f")) and _ASKS_TO.match(sentence) is None:
        return LIMIT if found == PROHIBITION else NO_RULE
    return found


def same_rule(sentence: str) -> str:
    """Return what two sentences share that state the same rule: its words."""
    return " ".join(re.findall(r"\w+", sentence.casefold()))


_known_rules = lru_cache(maxsize=1_024)(_rules_in)
"""The next digest reads a digest's words of users again."""


def rules_of(note: DigestLine) -> list[DigestLine]:
    """Return the rules in a user's words, which stay word for word if the words find no room."""
    return [
        DigestLine(first=note.first, last=note.last, kind="rule", text=rule, by=note.by) for rule in rules_in(note.text)
    ]
