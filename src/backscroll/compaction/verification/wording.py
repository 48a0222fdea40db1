"""Make words comparable: case, quotes, endings, near synonyms, and negation."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af"
WORD = re.compile(rf"[{_CJK}]|[^\W\d_{_CJK}]+|\d+")
"""The units of lookup: letters, digits, or one sign of a script without spaces."""
_SIGNS = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\u300c\u300d\u300e\u300f", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", ""),
        "\\": "/",
    }
)
YES, NO = 1, 2
"""What a clause says of a word; both if that depends."""
_ENDINGS = tuple("ations ation ments ment ings ing ions ion ied ies ers er ed es ly s e y".split())
_SHORTEST = 3  # letters of a word without its ending


def _alike(*families: str) -> dict[str, str]:
    return {stem(word): family.split()[0] for family in families for word in family.split()}


def tidy(text: str) -> str:
    """Return the text with one kind of quotes, dashes, slashes and digits."""
    return (text if text.isascii() else unicodedata.normalize("NFKC", text)).translate(_SIGNS)


def plain(text: str) -> str:
    """Return the tidy text in one case."""
    return tidy(text).casefold()


@lru_cache(maxsize=8_192)
def stem(word: str) -> str:
    """Return a word without its ending."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > _SHORTEST and word[-1] == word[-2] else word


_ALIKE = _alike(
    "fast faster speed quick quickly performance optimize optimise slow slower slowly",
    "delete remove drop delete clear rid wipe purge deletion removal",
    "add create make made write wrote written build built implement introduce new produce generate draft",
    "fix repair bug correct solve resolve fail failure failing error broken break broke crash problem issue wrong",
    "change modify edit update touch alter adjust touched untouched",
    "keep kept preserve retain stay remain", "omit leave left exclude",
    "find found locate search look check verify inspect investigate examine review see learn understand",
    "explain describe say tell told said mention state report word words",
    "move migrate port migration", "switch convert turn", "run ran execute start launch",
    "use used using", "send sent mail email", "buy bought purchase", "short brief concise small",
    "doc document documentation docs", "test tests testing", "answer reply respond response",
    "ask question asked", "name rename called call",
    "yes approve agree confirm accept ok okay sure lgtm approval ahead",
    "directory folder", "database db", "repository repo",
    "config configuration configure settings setting", "picture image screenshot", "refactor restructure reorganize",
    "push pushed", "deploy deployment", "display show shown print", "finish done complete end", "commit commits",
    "require required requirement need", "today now", "function method", "login log sign",
)  # fmt: skip
_FIRM = frozenset(
    stem(word)
    for word in (
        "push deploy publish release send pay buy merge force ignore disable enable commit overwrite reset kill stop "
        "allow share expose bypass skip revert rollback cancel refund grant revoke delete move switch yes downgrade "
        "upgrade install encrypt rewrite replace change fix add test"
    ).split()
)
_SOFT = frozenset(
    stem(word)
    for word in (
        "the a an this that these those it its they them their he she his her him i me my we us our you your and or "
        "but then also as at by for from in into of off on onto out over per so than to up upon with within via about "
        "be been being am is are was were do does did doing done have has had having will would shall should can could "
        "may might must ought need let get got make sure want wanted wish like please there here who whom whose which "
        "what when where why how whether if because since while after before until unless except only just still yet "
        "now already again very more most much many some any such other another same own one ones thing things stuff "
        "something anything agent assistant model user users human request requested requests rule rules instruction "
        "instructions explicitly clearly first later next last finally instead rather both either too well way task "
        "work working goal further given prior during use using used know always right available based "
        "through "
        "order requirement require required preference prefer preferred session rest conversation message messages t s"
        " always every each all everything whole entire without no not never nor neither none avoid"
    ).split()
)
_DENIES = frozenset(
    "not no never without nor neither none nothing avoid avoids avoided avoiding forbid forbids forbade forbidding "
    "prohibit prohibits prohibited prohibiting refuse refused refuses reject rejected rejects declined ban banned "
    "against stop".split()
)
_DENIES_ALL = frozenset("untouched unchanged alone intact unmodified forbidden limits".split())
_DEPENDS = frozenset("unless until except".split())
_PARTS = re.compile(r"(,\s*(?:\b(?:and|or|but|then|so)\b)?|\b(?:and|or|but|then|so)\b)", re.IGNORECASE)
_ORDERS = frozenset("use keep run always please only write make add fix show send answer do tell let drop move".split())
"""Words that start a new order, to which a negation before the comma does not apply."""
_DENIED = re.compile(rf"\b(?:(?:not|never) (?:to )?be|{'|'.join(sorted(_DENIES_ALL))})\b", re.IGNORECASE)
"""Words that negate all of their part of a clause."""
_THOUSANDS = re.compile(r"(?<=\d)[,_'](?=\d{3}(?!\d))")
_CLAUSE = re.compile(r"[.;:!?\n]+(?=\s|$)")


class Meant(NamedTuple):
    """A meaningful word of a statement."""

    stem: str
    says: int
    """`YES`, `NO` or both."""
    firm: bool
    """True if a statement without it is a different one: an action, a name or a number."""
    part: int
    """The part of the statement that contains it."""


def root(word: str) -> str:
    """Return a word's stem, or that of its family of near synonyms."""
    found = stem(word)
    return _ALIKE.get(found, found)


def meant(text: str) -> Iterator[Meant]:
    """Yield the meaningful words of a statement. `text` is tidy, and not yet in one case."""
    text = _THOUSANDS.sub("", text).replace("n't", " not").replace("cannot", "can not").replace("instead of", "without")
    text = text.replace("rather than", "without").replace("no longer", "never")
    part = 0
    for clause in _CLAUSE.split(text):
        depends = not _DEPENDS.isdisjoint(clause.casefold().split())
        says, first, comma = YES, True, False
        for piece in _PARTS.split(clause):
            part += 1
            tokens = WORD.findall(piece)
            if says != YES:
                says = YES if comma and tokens and tokens[0].casefold() in _ORDERS else YES | NO
            comma = piece.startswith(",")
            denied = _DENIED.search(piece) is not None
            for token in tokens:
                word = token.casefold()
                if word in _DENIES:
                    says = NO
                elif (found := stem(word)) not in _SOFT and word not in _DENIES_ALL:
                    firm = found in _FIRM or word.isdigit() or (token[0].isupper() and not first)
                    yield Meant(root(word), YES | NO if depends else NO if denied else says, firm, part)
                first = False


def weighty(word: str) -> bool:
    """Return whether a word has a meaning by itself."""
    return not word.isdigit() and stem(word) not in _SOFT
