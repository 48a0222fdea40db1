"""The words by which a text is found, and the terms of a query: names whole and taken apart.

`getUserId` is found whole and by `get`, `user`, `id`; `get_user_id` and `src/app/main.py` by their words, as a
whole, and by their ends. Every search index and the ranking cut words by these functions.
"""

import re
import unicodedata

_WORD = re.compile(r"\w+", re.UNICODE)
_PLAIN_WORD = re.compile(r"[^\W_]+")
_IDEOGRAPH = re.compile(r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])")
_CAMEL = re.compile(r"\b\w*[a-z0-9][A-Z]\w*")
_IN_CAMEL = re.compile(r"[a-z0-9][A-Z]")  # much faster than to find these names
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ESCAPED = re.compile(r"\\[nrt](\w+)")
_MOST_TERMS = 96
_FUNCTION_WORDS = frozenset(
    "a about all also am an and any are as at be been but by can cannot could did do does for from had "  # noqa: SIM905  reads better as text
    "has have he her him his how i if in into is it its just may me might mine must my no not of on or our ours shall "
    "she should so some than that the their them then there these they this those to too us was we were what when "
    "where which who why will with would you your yours".split()
)  # in texts of data they are rare, which would make them weigh most
_SHORTEST_PLURAL = 4  # letters: `is`, `has` and `gas` have no singular


def terms(query: str) -> list[str]:
    """Return the terms of a query: its words, joined words of names and paths, and parts of compound names. Function
    words of English count only in a query without others.

    A path also counts as a whole and by its end, because all files of a project share its beginning. A number also
    counts with the word before it: `case 15` names one thing, and `15` is in many texts.
    """
    singles: list[str] = []
    joined: list[str] = []
    before = ""
    for chunk in spaced(query).split():
        words = _WORD.findall(chunk)
        if words and words[0].isdecimal() and before.isalpha() and before.lower() not in _FUNCTION_WORDS:
            joined.append(f"{before} {words[0]}")
        before = words[-1] if words and chunk[-1] == words[-1][-1] else ""
        singles += words
        for word in words:
            joined += _HUMP.sub("_", word).split("_") if _HUMP.search(word) or "_" in word else ()
        if len(words) > 1:
            joined += [" ".join(words), " ".join(words[-2:]), " ".join(words[-3:])]
    found = [term for term in dict.fromkeys(singles + joined) if term]
    meant = [term for term in found if term.lower() not in _FUNCTION_WORDS]
    return (meant or found)[:_MOST_TERMS]


def spellings(term: str) -> tuple[str, ...]:
    """Return the term, and for a plain word also its other number: a request for `shoes` finds a `shoe`."""
    if len(term) < _SHORTEST_PLURAL or not (term.isascii() and term.isalpha()):
        return (term,)
    if term[-1] not in "sS":
        return (term, term + "s")
    return (term,) if term[-2] in "suiSUI" else (term, term[:-1])


def parts(text: str) -> str:
    """Return what an index would not find in a text by itself: the parts of names in camel case, and words that follow
    an escaped line end, as in the arguments of a call.
    """
    names = dict.fromkeys(_CAMEL.findall(text)) if _IN_CAMEL.search(text) else ()
    found = [_HUMP.sub(" ", name) for name in names]
    if "\\" in text:
        found += dict.fromkeys(_ESCAPED.findall(text))
    return spaced(" ".join(found))


def spaced(text: str) -> str:
    """Put spaces around each character of scripts that use none, so that each is a word."""
    return text if text.isascii() else storable(_IDEOGRAPH.sub(r" \1 ", text))


def storable(text: str) -> str:
    """Replace lone surrogates, which databases cannot store."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def folded(text: str) -> list[str]:
    """Return the words of a text without case and accents. An underscore separates words."""
    if not text.isascii():
        letters = unicodedata.normalize("NFKD", text)
        text = "".join(letter for letter in letters if not unicodedata.combining(letter)).casefold()
    return _PLAIN_WORD.findall(text.lower())
