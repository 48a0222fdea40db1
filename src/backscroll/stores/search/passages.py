"""The FTS5 index of passages, and queries.

Texts are indexed by passage, so that a hit is a few lines and not a whole file. A passage is found by its words, by the
parts of its compound names, and by its context: a result by the call that it answers, and a value in JSON by the names
above it. The order of an index chooses candidates only; `recall/ranking.py` ranks them. All indexes that use this file
return the same passages. Hits are verbatim: rows have checksums.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from zlib import crc32

from backscroll.errors import CorruptionError
from backscroll.recall.names import parts, spaced, spellings, storable, terms
from backscroll.recall.pages import SearchHit
from backscroll.recall.passages import passages
from backscroll.recall.retrieval import Source

BATCH = 1_000_000  # characters per transaction; a message may exceed it

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
    "(select rowid as found, rank as score from passage where passage match ?{among} "
    "order by rank, rowid desc limit ?) "
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
        for at, text, context in passages(source.text):
            context_words = storable(f"{source.about} {context}".strip())
            if context_words and context_words != latest:
                about, latest = about + 1, context_words
                connection.execute("insert into about values (?, ?, ?)", (about, latest, crc32(latest.encode())))
            number += 1
            connection.execute(
                "insert into passage (rowid, text, parts, about) values (?, ?, ?, ?)",
                (number, spaced(text), parts(text), spaced(context_words)),
            )
            place, shown = (number, source.seq, source.part, at, about if context_words else None), storable(text)
            connection.execute("insert into shown values (?, ?, ?, ?, ?, ?, ?)", (*place, shown, _sum(place, shown)))


def best(
    connection: sqlite3.Connection, query: str, most: int, among: str = "", values: Sequence[object] = ()
) -> list[tuple[SearchHit, str]]:
    """Return the best `most` passages with their context, best first; newer ones first among equals.

    Empty for a query without a word. Raises `CorruptionError` for a passage that fails its checksum.

    Args:
        connection: to the index; it must return texts as bytes.
        query: words to search for.
        most: maximum number of passages.
        among: a condition in SQL on `passage.rowid`, the id in `shown`. Empty: none.
        values: its parameters.
    """
    match = " OR ".join(f'"{spelling}"' for term in terms(query) for spelling in spellings(term))
    if not match:
        return []
    statement = _BEST.format(among=f" and {among}" if among else "")
    return [_found(row) for row in connection.execute(statement, (match, *values, most))]


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
