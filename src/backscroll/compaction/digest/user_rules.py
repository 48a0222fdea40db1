"""Recognize what a user stated as a rule.

A lost rule is the most expensive loss of a compaction, while a sentence kept in vain costs a few tokens. So the markers
are wide, and cover imperative and modal words of several languages.
"""

import re
from functools import lru_cache

from backscroll.compaction.sampling import sampled

_SENTENCE = re.compile(
    r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n+"
)  # the last three end Chinese and Japanese sentences
_MARKERS = re.compile(
    r"\b(?:always|never|must|mustn't|shall|should|shouldn't|ought|do not|don't|dont|cannot|can't|only|avoid|ensure|"
    r"make sure|remember|require[sd]?|requirement|rule|constraint|forbidden|prohibited|allowed|prefer|please|"
    r"instead of|rather than|at least|at most|no more than|without|unless|until|except|before you|after you|when you|"
    r"whenever|from now on|for the rest|as of now|important|under no circumstances|use|keep|stick to|write every|"
    r"end every|reply|"
    r"niemals|nie|immer|muss|müssen|darf|dürfen|bitte|nur|kein|keine|ab jetzt|"
    r"jamais|toujours|doit|devez|il faut|ne pas|seulement|désormais|"
    r"nunca|siempre|debe|debes|hay que|solo|sólo|"
    r"sempre|mai|deve|devi|apenas|somente)\b"
    r"|不要|不得|不能|必须|務必|务必|请勿|禁止|总是|始终|一律|只能|以后|всегда|никогда|нельзя|должен|должны|только"
    r"|しないで|してはいけ|必ず|常に|ください",
    re.IGNORECASE,
)
_NO_RULE = re.compile(
    r"\bnever ?mind(?=\W*$|[.,!;:])|\b(?:thanks|thank you|yes|no),? please\b|\bcan(?:no|')t wait\b|"
    r"^(?:[A-Z][\w-]+|s?he|they|we|i)(?: (?:is|am|are|was|were|will be)|'s|'m|'re) (?!to\b|not\b)[^.;,]*?\buntil\b"
    r"(?= (?:\w+ )?(?:\w+day|tomorrow|tonight|noon|midnight|next \w+|\d|[A-Z]))",
    re.IGNORECASE,
)
"""What has a marker and is no rule: idioms, and who is away until when."""
_REMEMBERED = 2_000  # characters of a text that is worth caching: a digest's own are shorter
LONGEST_RULE = 600  # characters; a longer "sentence" is pasted, and a rule is at most a part of it


def rules_in(text: str) -> tuple[str, ...]:
    """Return the sentences of a user's text that may state a rule, word for word, in order, without duplicates. Only
    portions of a text too long to be typed are read (`compaction/sampling.py`).
    """
    return _known_rules(text) if len(text) <= _REMEMBERED else _rules_in(text)


def _rules_in(text: str) -> tuple[str, ...]:
    found = (sentence.strip() for sentence in _SENTENCE.split(sampled(text)))
    return tuple(dict.fromkeys(said for said in found if 3 < len(said) <= LONGEST_RULE and _states_rule(said)))


def _states_rule(sentence: str) -> bool:
    return _MARKERS.search(sentence) is not None and _MARKERS.search(_NO_RULE.sub(" ", sentence)) is not None


_known_rules = lru_cache(maxsize=1_024)(_rules_in)
"""The next digest reads a digest's words of users again."""
