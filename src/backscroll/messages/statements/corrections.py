"""Rewrite a correction as a plain sentence with the new value: "lives no longer in Bern but in Basel" and its kin."""

import re
from typing import NamedTuple

_V = r"(?P<new>[^,;]+?)"
_OLD = r"(?P<old>[^,;]+?)"
_END = r"[.!]*$"
_BE = r"(?:it'?s|it is|that'?s|they'?re|(?:s?he|it) is|is|are|was)"
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # lives no longer in Bern but in Basel; is no longer tea, it is chai
        rf"(?P<start>.*?)\b(?P<verb>is|are|was|)\s*no longer (?P<verb2>\w+ (?:in|on|at|for) |\w+s |)"
        rf"{_OLD}(?:,? but (?:rather |now )?|[,;] (?:{_BE} )?(?:now )?){_V}{_END}",
        # isn't Bern anymore, it's Basel; doesn't work at Dunmore anymore, it's Westbrook
        rf"(?P<start>.*?)\b(?:(?P<verb>is|are)(?:n'?t| not)|does(?:n'?t| not) (?P<verb2>\w+ (?:in|on|at|for) |\w+ ))\s*"
        rf"{_OLD} any ?(?:more|longer)[,;] (?:but |{_BE} )?(?:now )?{_V}{_END}",
        # isn't Bern, it's Basel; is not 41 but 42
        rf"(?P<start>.*?)\b(?P<verb>is|are)(?:n'?t| not)(?P<verb2>) {_OLD}"
        rf"(?:,? but (?:rather |now )?|[,;] (?:{_BE} )){_V}{_END}",
        # was moved from Monday to Friday
        rf"(?P<start>.*?)\b(?P<verb>(?:was |were |has |have )?(?:been )?(?:moved|changed|switched|rescheduled|shifted|"
        rf"postponed|raised|lowered|cut|renamed))(?P<verb2>) from {_OLD} to {_V}{_END}",
        # is Basel, not Bern; is Basel and not Bern; is Basel instead of Bern; is Basel rather than Bern
        rf"(?P<start>.*?\b)(?P<verb>)(?P<verb2>)(?P<new>[^,;]+?)"
        rf"(?:,? and not|, not|,? instead of|,? rather than) {_OLD}{_END}",
    )
)
_SIGN = re.compile(r"no longer|any ?(?:more|longer)|(?:is|are)n'?t | not | from |instead of|rather than", re.IGNORECASE)
"""Every match of these contains one. The patterns are slow, and most sentences have no match."""
_WEAK = re.compile(
    r"\b(?:actually|correction|update|sorry|misheard|misspoke|mistaken|mistake|wrong|no longer|any ?more|instead|"
    r"now|new|these days|changed|moved|rescheduled|postponed|switched|renamed|scratch that|i meant|from now on|"
    r"after all|took over|turns out|rather|has been|was (?:moved|cut|raised|lowered|set))\b",
    re.IGNORECASE,
)


_FROM_TO = _PATTERNS[3]


class Corrected(NamedTuple):
    """A sentence without its mention of the old value."""

    text: str
    old: str
    """The value that it names as no longer valid. Empty: none."""
    corrects: bool
    """It says that something changed."""


def without_old_value(sentence: str) -> Corrected:
    """Return a sentence with its new value alone, and the old one."""
    corrects = _WEAK.search(sentence) is not None
    for pattern in _PATTERNS if _SIGN.search(sentence) else ():
        found = pattern.match(sentence)
        if found:
            verb = found["verb"] or found["verb2"].strip()
            towards = "to" if pattern is _FROM_TO else ""
            text = " ".join(f"{found['start']} {verb} {towards} {found['new']}".split())
            return Corrected(text, found["old"].strip(), corrects=True)
    return Corrected(sentence, "", corrects)
