"""Full-text search over a session's messages with SQLite's FTS5, in memory. Only indexing and ranking may live here.

Texts are indexed passage by passage, so that a hit is a few lines and not a whole file; indexing happens at the first
query and then for what came since, so that adding a message costs nothing.
"""

import re
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator

from backscroll.recall import Hit

PASSAGE = 1_200  # characters: a screenful; long enough to be understood, short enough for several in an answer
_WORD = re.compile(r"\w+", re.UNICODE)
_IDEOGRAPH = re.compile(r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])")
_MOST_WORDS = 64


class SearchIndex:
    """Ranks passages by BM25. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self.indexed = 0
        """The first `seq` that is not indexed yet."""

    def add(self, texts: Iterable[tuple[int, int, str]], upto: int) -> None:
        """Indexes (seq, part, text) triples; `upto` is the first `seq` behind them."""
        with self._lock:
            rows = (
                (_spaced(text), seq, part, at, text.encode("utf-8", "replace").decode("utf-8"))
                for seq, part, whole in texts
                for at, text in passages(whole)
            )
            self._open().executemany("insert into passage values (?, ?, ?, ?, ?)", rows)
            self.indexed = upto

    def search(self, query: str, most: int) -> list[Hit]:
        """The best passages, best first; newer ones first among equals."""
        words = list(dict.fromkeys(_WORD.findall(_spaced(query))))[:_MOST_WORDS]
        if not words:
            return []
        match = " OR ".join(f'"{word}"' for word in words)
        with self._lock:
            found = self._open().execute(
                "select seq, part, start, shown from passage where passage match ? order by rank, rowid desc limit ?",
                (match, most),
            )
            return [Hit(*row) for row in found]

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
            self._connection.execute(
                "create virtual table passage using fts5(text, seq unindexed, part unindexed, start unindexed, "
                "shown unindexed, tokenize='unicode61 remove_diacritics 2')"
            )
            weakref.finalize(self, self._connection.close)
        return self._connection

    def close(self) -> None:
        """Frees the index; the next use would build it anew."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection, self.indexed = None, 0


def _spaced(text: str) -> str:
    """Scripts without spaces are indexed character by character; lone surrogates cannot be stored."""
    if text.isascii():
        return text
    return _IDEOGRAPH.sub(r" \1 ", text).encode("utf-8", "replace").decode("utf-8")


def passages(text: str) -> Iterator[tuple[int, str]]:
    """The text in pieces of about `PASSAGE` characters, cut at line ends where there are any."""
    at = 0
    while at < len(text):
        end = at + PASSAGE
        if end < len(text):
            line = text.rfind("\n", at + PASSAGE // 2, end)
            end = line + 1 if line > 0 else end
        yield at, text[at:end]
        at = end
