"""Passages, their FTS5 index, and queries.

Texts are indexed by passage, so that a hit is a few lines and not a whole file. A passage is found by its words, by the
parts of its compound names, and by its context: a result by the call that it answers. All indexes that use this file
return the same passages. Hits are verbatim: rows have checksums.
"""

import re
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any
from zlib import crc32

from backscroll.errors import CorruptionError
from backscroll.recall.pages import SearchHit
from backscroll.recall.retrieval import Source

PASSAGE = 800  # characters: about a function or a paragraph, so that many fit in an answer
BATCH = 1_000_000  # characters per transaction; a message may exceed it
_WORD = re.compile(r"\w+", re.UNICODE)
_IDEOGRAPH = re.compile(r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])")
_CAMEL = re.compile(r"\b\w*[a-z0-9][A-Z]\w*")
_IN_CAMEL = re.compile(r"[a-z0-9][A-Z]")  # much faster than to find these names
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MOST_TERMS = 96

TABLES = (
    # without the text, which `shown` has
    "create virtual table passage using fts5(text, parts, about, content='', tokenize='unicode61 remove_diacritics 2')",
    # text, parts, about: a part of a name is weaker evidence than the whole
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
    """Yield texts in batches that fit the memory, each with the `seq` behind it. Never splits a message."""
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
    """Index texts behind the existing ones. The connection must return texts as bytes."""
    last, about = connection.execute("select max(id), max(about) from shown").fetchone()
    number, about, latest = last or 0, about or 0, ""
    for source in sources:
        if not source.text:
            continue
        if source.about and source.about != latest:
            about, latest = about + 1, source.about
            words = _storable(latest)
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
    """Return the best `most` passages with their context, best first; newer ones first among equals.

    Empty for a query without a word. Raises `CorruptionError` for a passage that fails its checksum.
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
    except (AttributeError, UnicodeDecodeError):  # damage changed the type or the encoding of a value
        good = False
    if not good:
        raise CorruptionError(f"passage {place[0]} is not what was written there")
    return SearchHit(place[1], place[2], place[3], shown), about


def _sum(place: tuple[Any, ...], text: str) -> int:
    return crc32(text.encode(), crc32(repr(place).encode()))


def terms(query: str) -> list[str]:
    """The search terms of a query: its words, joined words of names and paths, and parts of compound names.

    A path also counts as a whole and by its end, because all files of a project share its beginning.
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
    """The parts of names in camel case. FTS5 splits other names by itself."""
    names = dict.fromkeys(_CAMEL.findall(text)) if _IN_CAMEL.search(text) else ()
    return spaced(" ".join(_HUMP.sub(" ", name) for name in names))


def spaced(text: str) -> str:
    """Put spaces around each character of scripts that use none, so that each is a word."""
    return text if text.isascii() else _storable(_IDEOGRAPH.sub(r" \1 ", text))


def _storable(text: str) -> str:
    """Replace lone surrogates, which SQLite cannot store."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def passages(text: str) -> Iterator[tuple[int, str]]:
    """Yield pieces of at most `PASSAGE` characters with their offsets, cut at blank lines or line ends if possible."""
    at = 0
    while at < len(text):
        end = at + PASSAGE
        if end < len(text):
            blank = text.rfind("\n\n", at + PASSAGE // 3, end)
            line = text.rfind("\n", at + PASSAGE // 2, end)
            end = blank + 2 if blank > 0 else line + 1 if line > 0 else end
        yield at, text[at:end]
        at = end
