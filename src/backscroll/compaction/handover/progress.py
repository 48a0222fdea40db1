"""Recognize remarks that only say that the work goes on: the deeds next to them show it."""

import re

_WORDS = r"(?:[a-z'\u2019-]+ ){0,4}"
_ENDED = (
    r"(?:done|created|updated|patched|clean|green|passing|ready|in(?: place)?|added|applied|fixed|finished|complete|"
    r"completed|loaded|spawned|started|pushed|written|formatted)"
)
_CONFIRMS = re.compile(
    rf"(?:(?:ok|okay|good|great|perfect|now)[,.!]? )?(?:"
    rf"{_WORDS}(?:is|are|was|were|has been|have been)(?: now| all)? {_ENDED}(?: now| too| again)?"
    rf"|{_WORDS}(?:tests?|checks?|builds?|linter|lint) pass(?:es|ed)?(?: now| too| again)?"
    rf"|(?:now )?i (?:now )?(?:see|understand)(?: (?:it|that|the {_WORDS}[a-z]+))?(?: now)?"
    rf"|you(?:['\u2019]re| are) (?:absolutely )?right(?: to [a-z]+ [a-z]+)?"
    rf"|you raise a (?:valid|good|fair) point"
    rf")[.!:]?(?: …)?",
    re.IGNORECASE,
)
"""One short sentence in common words. One with a name, a number or a sign in it says more."""
_UNDER_WAY = re.compile(
    r"\b(?:so far|(?:still|almost|nearly) (?:running|done|finish\w*|building|in progress))\b",
    re.IGNORECASE,
)
_TROUBLE = re.compile(r"\b(?:fail(?:s|ed|ing)?|errors?|but|because|however|except)\b", re.IGNORECASE)
_SHORT = 160  # characters of a remark on what runs: a longer one, or a second sentence, says more than that


def is_progress(remark: str) -> bool:
    """Return whether a remark next to calls only confirms a deed, or says that something still runs."""
    if _CONFIRMS.fullmatch(remark):
        return True
    if len(remark) > _SHORT or ". " in remark:
        return False
    return bool(_UNDER_WAY.search(remark)) and not _TROUBLE.search(remark)
