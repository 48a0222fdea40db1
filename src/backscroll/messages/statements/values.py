"""Find the value in the words behind a verb: dates, times, numbers and codes by their shapes, names by capitals."""

import re
from typing import NamedTuple

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)"
)
_SHAPES = (
    ("link", r"\b(?:https?://|www\.)\S+|\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    ("date", rf"\b\d{{4}}-\d\d-\d\d\b|\b{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?\b|"
             rf"\b(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}\b(?: \d{{4}}\b)?|"
             rf"\b\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}\b"),
    ("day", r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"),
    ("time", r"\b\d{1,2}:\d\d(?: ?[ap]\.?m\b\.?)?(?: o'clock)?|\b\d{1,2} ?[ap]\.?m\b\.?|\b\d{1,2} o'clock\b|"
             r"\b(?:noon|midnight)\b"),
    ("code", r"(?<![\w-])(?=[\w/-]*\d)(?=[\w/-]*[A-Za-z])[A-Za-z\d][\w/-]{2,}(?![\w-])|"
             r"(?<!\w)\+?\d[\d -]{5,}\d(?![\w-])"),
    ("number", r"(?:[$€£] ?)?\b\d[\d,.]*(?<![.,])(?:k\b| ?%)?(?: (?:dollars|euros|francs|pounds|bucks|percent|kilos|kg|"
               r"km|kilometers|miles|meters|cm|minutes|hours|days|weeks|months|years|people|guests|persons|degrees)\b)?"),
)  # fmt: skip  # a table
_SHAPED = re.compile("|".join(f"(?P<{kind}>{shape})" for kind, shape in _SHAPES), re.IGNORECASE)
_BEFORE = re.compile(
    r"^(?:(?:an?|the|in|on|at|to|for|by|as|called|named|now|still|currently|again|really|only|just|about|around|"
    r"approximately|roughly)\s+)+",
    re.IGNORECASE,
)
_BEHIND = re.compile(
    r"\s+(?:now|today|currently|again|after all|these days|nowadays|at the moment|anymore|any ?more|any longer|"
    r"from now on|from this \w+ on|since last \w+|instead|by the way|actually)$",
    re.IGNORECASE,
)
_NO_NAME = re.compile(
    r"[(),;]|\b(?:and|or|but|because|who|which|that|with|without|than|when|while|if|until|going|gone|to|very|so|too|"
    r"is|are|was|were|has|have|had|will|would|can|should|must|not|never|no|here|there|home|away)\b",
    re.IGNORECASE,
)
_LONGEST_NAME = 5  # words


class Value(NamedTuple):
    """What a statement says of its subject."""

    kinds: tuple[tuple[str, str], ...]
    """Each kind of value with its text in lower case, such as `("day", "monday")`; sorted."""
    rest: str
    """The words around values that are known by their shape: they belong to the subject."""


def value_in(words: str) -> Value | None:
    """Return the value in the words behind a verb. None if there is none that could be compared with another."""
    words = trimmed(words)
    shaped = list(_SHAPED.finditer(words))
    if not shaped:
        name = _BEFORE.sub("", words)
        if not name or len(name.split()) > _LONGEST_NAME or _NO_NAME.search(name):
            return None
        kind = "name" if any(one[0].isupper() for one in name.split()) else "other"
        return Value(((kind, name.lower()),), "")
    kinds: dict[str, str] = {}
    for found in shaped:
        kind = found.lastgroup or ""
        if kind in kinds:
            return None  # two of a kind are a list or a range, which one value does not replace
        kinds[kind] = found[0].lower().strip()
    return Value(tuple(sorted(kinds.items())), _SHAPED.sub(" ", words))


def trimmed(words: str) -> str:
    """Return words without the ends that say when they hold."""
    words = words.strip(" .!,;")
    while (shorter := _BEHIND.sub("", words)) != words:
        words = shorter.strip(" ,;")
    return words


def same_value(one: str, other: str) -> bool:
    """Return whether two texts name the same value, apart from articles and prepositions."""
    return _BEFORE.sub("", trimmed(one)).lower() == _BEFORE.sub("", trimmed(other)).lower()
