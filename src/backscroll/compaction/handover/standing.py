"""Distinguish lasting rules of the user from limits of one request, which end with it.

A limit that is over and is shown as a rule forbids the work that the user asked for since. So a sentence that may be
either is only in the entry of its turn.
"""

import re

_LASTS = re.compile(
    r"\b(?:never|always|from now on|going forward|in (?:the )?future|whenever|(?:every|each) time|at all times|"
    r"must(?:n['\u2019]?t)?|under no circumstances|forbidden|prohibited|policy|rules?|"
    r"until i say|unless i (?:say|ask))\b",
    re.IGNORECASE,
)
"""Words of a policy."""
_MOMENT = re.compile(
    r"\b(?:yet|for (?:now|the moment)|right now|at the moment|this time|(?<!from )now|today|first(?=\W*$)|"
    r"in this (?:step|turn|round|pass|message))\b|"
    r"\b(?:noch (?:nicht|nichts|kein\w*)|vorerst|erst ?mal|pour l['\u2019]instant|por ahora|todav\u00eda no)\b",
    re.IGNORECASE,
)
"""Words by which a limit is for the moment."""
_LOOKS = re.compile(
    r"\b(?<!n't )(?<!n\u2019t )(?<!not )(?:just|only) (?:to )?(?:validat|verif|check|look|read|review|analy|plan\b|"
    r"investigat|report|answer|discuss|explain|show|think|test|try|confirm|research|list|describ|give me|propos)",
    re.IGNORECASE,
)
"""An order that only asks for a look."""
_NOTHING = re.compile(
    r"\b(?:do not|don['\u2019]?t)\s+(?:(?:you|actually|just|please)\s+)?"
    r"(?:fix|change|edit|modify|implement|write|touch|"
    r"commit|push|merge|start|run|do|create|delete|make)\b"
    r"(?:\s+(?:any|anything|it|this|that|these|them|code|changes?|else|the|please|so|and|but|yet))*(?=\W|$)"
    r"(?!\s+[\w/])",
    re.IGNORECASE,
)
"""A limit without an object means the work that the same message asks for."""


def ends_with_request(rule: str) -> bool:
    """Return whether a sentence limits one request, and is over once the user asks for something else."""
    if _LASTS.search(rule):
        return False
    return any(pattern.search(rule) for pattern in (_MOMENT, _LOOKS, _NOTHING))
