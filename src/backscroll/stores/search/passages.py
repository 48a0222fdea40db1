"""What an index of texts holds, and how it is asked: passages, their words, and FTS5's tables. Opens no connection.

Texts are indexed passage by passage, so that a hit is a few lines and not a whole file. A passage is found by its
words, by the parts of its compound names, and by what its text is about: a result by the call that it answers. Every
index that is made and asked by this file answers the same, wherever it is kept. A hit is verbatim: rows have checksums.
"""

import re
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any
from zlib import crc32

from backscroll.errors import CorruptionError
from backscroll.recall.pages import SearchHit
from backscroll.recall.retrieval import Source

PASSAGE = 800  # characters: a function or a paragraph; long enough to be understood, short enough for many in an answer
BATCH = 1_000_000  # characters that are indexed at once, besides what one message has more
_WORD = re.compile(r"\w+", re.UNICODE)
_IDEOGRAPH = re.compile(r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])")
_CAMEL = re.compile(r"\b\w*[a-z0-9][A-Z]\w*")
_IN_CAMEL = re.compile(r"[a-z0-9][A-Z]")  # told much faster than which names these are
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MOST_TERMS = 96

TABLES = (
    # the words without the text, which would else be there twice
    "create virtual table passage using fts5(text, parts, about, content='', tokenize='unicode61 remove_diacritics 2')",
    # text, parts, about: the part of a name is weaker evidence than the whole of it
    "insert into passage(passage, rank) values ('rank', 'bm25(1.0, 0.5, 1.0)')",
    "create table about (id integer primary key, words text not null, crc integer not null)",
    "create table shown (id integer primary key, seq integer not null, part integer not null, start integer not null, "
    "about integer, text text not null, crc integer not null)",
)
_BEST = (
    "select shown.id, seq, part, start, about, text, shown.crc, words, about.crc from "
    "(select rowid as found, rank as score from passage where passage match ? order by rank, rowid desc limit ?) "
    "join shown on shown.id = found left join about on about.id = shown.about order by score, found desc"
)


def batches(texts: Iterable[Source], upto: int) -> Iterator[tuple[list[Source], int]]:
    """Texts in pieces that fit the memory, each with the `seq` that it goes up to: a message is never cut in two."""
    batch: list[Source] = []
    size = 0
    for source in texts:
        if size >= BATCH and source.seq != batch[-1].seq:
            yield batch, source.seq
            batch, size = [], 0
        batch.append(source)
        size += len(source.text)
    yield batch, upto


def insert(connection: sqlite3.Connection, sources: Iterable[Source]) -> None:
    """Indexes texts behind those that are there. Texts must come as bytes from the connection."""
    last, about = connection.execute("select max(id), max(about) from shown").fetchone()
    number, about, told = last or 0, about or 0, ""
    for source in sources:
        if not source.text:
            continue
        if source.about and source.about != told:
            about, told = about + 1, source.about
            words = _storable(told)
            connection.execute("insert into about values (?, ?, ?)", (about, words, crc32(words.encode())))
        for at, text in passages(source.text):
            number += 1
            connection.execute(
                "insert into passage (rowid, text, parts, about) values (?, ?, ?, ?)",
                (number, spaced(text), parts(text), spaced(source.about)),
            )
            place, shown = (number, source.seq, source.part, at, about if source.about else None), _storable(text)
            connection.execute("insert into shown values (?, ?, ?, ?, ?, ?, ?)", (*place, shown, _sum(place, shown)))


def best(connection: sqlite3.Connection, query: str, most: int) -> list[tuple[SearchHit, str]]:
    """The best `most` passages with what they are about, best first; newer ones first among equals. Empty for a query
    without a word. Raises `CorruptionError` for a passage that is not as it was written.
    """
    match = " OR ".join(f'"{term}"' for term in terms(query))
    if not match:
        return []
    return [_found(row) for row in connection.execute(_BEST, (match, most))]


def _found(row: tuple[Any, ...]) -> tuple[SearchHit, str]:
    *place, text, crc, words, of_words = row
    try:
        shown, about = text.decode(), (words or b"").decode()
        good = _sum(tuple(place), shown) == crc and crc32(about.encode()) == (of_words or 0)
    except (AttributeError, UnicodeDecodeError):  # a value that turned into one of another type, or into no text
        good = False
    if not good:
        raise CorruptionError(f"passage {place[0]} is not what was written there")
    return SearchHit(place[1], place[2], place[3], shown), about


def _sum(place: tuple[Any, ...], text: str) -> int:
    return crc32(text.encode(), crc32(repr(place).encode()))


def terms(query: str) -> list[str]:
    """What a query is looked up by: its words, what joins them to a name or path, and the parts of compound names.

    A path counts once more as a whole and by its end, since its beginning is shared by every file of a project.
    """
    singles: list[str] = []
    joined: list[str] = []
    for chunk in spaced(query).split():
        words = _WORD.findall(chunk)
        singles += words
        for word in words:
            joined += _HUMP.sub("_", word).split("_") if _HUMP.search(word) or "_" in word else ()
        if len(words) > 1:
            joined += [" ".join(words), " ".join(words[-2:]), " ".join(words[-3:])]
    return [term for term in dict.fromkeys(singles + joined) if term][:_MOST_TERMS]


def parts(text: str) -> str:
    """The parts of names in camel case; those of other names are words of their own to the index."""
    names = dict.fromkeys(_CAMEL.findall(text)) if _IN_CAMEL.search(text) else ()
    return spaced(" ".join(_HUMP.sub(" ", name) for name in names))


def spaced(text: str) -> str:
    """Scripts without spaces are indexed character by character."""
    return text if text.isascii() else _storable(_IDEOGRAPH.sub(r" \1 ", text))


def _storable(text: str) -> str:
    """Lone surrogates cannot be stored."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def passages(text: str) -> Iterator[tuple[int, str]]:
    """The text in pieces of at most `PASSAGE` characters, each with its offset, cut at blank lines or at least at line
    ends where there are any, so that what belongs together stays together.
    """
    at = 0
    while at < len(text):
        end = at + PASSAGE
        if end < len(text):
            blank = text.rfind("\n\n", at + PASSAGE // 3, end)
            line = text.rfind("\n", at + PASSAGE // 2, end)
            end = blank + 2 if blank > 0 else line + 1 if line > 0 else end
        yield at, text[at:end]
        at = end
