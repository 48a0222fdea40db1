"""Recognize a short answer, and the question that it answers."""

import re
from functools import lru_cache

from backscroll.messages.prose import is_go_ahead, question_in

_ROOM = 600  # characters of a question with its options
_SHORT = 90  # characters of an answer that may need its question, if the agent asked one


_GOES_ON = re.compile(
    r"(?:(?:ok(?:ay)?|yes|yep|sure|good|great|please|and|just|now)\b[\s,.!]*)*"
    r"(?:continue|go on|go ahead|proceed|keep going|"
    r"carry on|resume|weiter|mach weiter|contin\u00faa|continuez|\u7ee7\u7eed|\u7d9a\u3051\u3066)"
    r"(?:\s+(?:please|now|then|with (?:it|this|that)|working|from where you (?:left off|stopped)))*[\s.!]*",
    re.IGNORECASE,
)


def goes_on(words: str) -> bool:
    """Return whether a user only says that the work before goes on."""
    return len(words) < _SHORT and _GOES_ON.fullmatch(words.strip()) is not None


def is_answer(words: str) -> bool:
    """Return whether a user's words may need the question that they answer."""
    return len(words) < _SHORT or is_go_ahead(words)


@lru_cache(maxsize=256)  # the newest reports are read at each compaction, for the state
def question_of(report: str) -> str:
    """Return the question that a report ends with, and its options; empty if it asks nothing."""
    return question_in(report, _ROOM)
