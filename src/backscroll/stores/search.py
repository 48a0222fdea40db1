"""Full-text search over a session's messages with SQLite's FTS5, in memory. Only indexing and ranking may live here.

Texts are indexed passage by passage, so that a hit is a few lines and not a whole file; indexing happens at the first
query and then for what came since, so that adding a message costs nothing. A passage is found by its words, by the
parts of its compound names, and by what its text is about: a result by the call that it answers.
"""

import re
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator

from backscroll.recall import Hit, Source

PASSAGE = 800  # characters: a function or a paragraph; long enough to be understood, short enough for many in an answer
_WORD = re.compile(r"\w+", re.UNICODE)
_IDEOGRAPH = re.compile(r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])")
_CAMEL = re.compile(r"\b\w*[a-z0-9][A-Z]\w*")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MOST_TERMS = 96
_RANK = "bm25(1.0, 0.5, 1.0)"  # text, parts, about: the part of a name is weaker evidence than the whole of it


class SearchIndex:
    """Ranks passages by BM25. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self.indexed = 0
        """The first `seq` that is not indexed yet."""

    def add(self, texts: Iterable[Source], upto: int) -> None:
        """Indexes texts; `upto` is the first `seq` behind them."""
        with self._lock:
            rows = (
                (_spaced(text), _parts(text), _spaced(about), seq, part, at, _storable(text))
                for seq, part, about, whole in texts
                for at, text in passages(whole)
            )
            connection = self._open()
            connection.execute("begin")  # one transaction: the index would else be written out passage by passage
            with connection:
                connection.executemany("insert into passage values (?, ?, ?, ?, ?, ?, ?)", rows)
            self.indexed = upto

    def search(self, query: str, most: int) -> list[Hit]:
        """The best `most` passages, best first; newer ones first among equals. Empty for a query without a word."""
        match = " OR ".join(f'"{term}"' for term in terms(query))
        if not match:
            return []
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
                "create virtual table passage using fts5(text, parts, about, seq unindexed, part unindexed, "
                "start unindexed, shown unindexed, tokenize='unicode61 remove_diacritics 2')"
            )
            self._connection.execute("insert into passage(passage, rank) values ('rank', ?)", (_RANK,))
            weakref.finalize(self, self._connection.close)
        return self._connection

    def close(self) -> None:
        """Frees the index; the next use would build it anew."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection, self.indexed = None, 0


def terms(query: str) -> list[str]:
    """What a query is looked up by: its words, what joins them to a name or path, and the parts of compound names.

    A path counts once more as a whole and by its end, since its beginning is shared by every file of a project.
    """
    singles: list[str] = []
    joined: list[str] = []
    for chunk in _spaced(query).split():
        words = _WORD.findall(chunk)
        singles += words
        for word in words:
            joined += _HUMP.sub("_", word).split("_") if _HUMP.search(word) or "_" in word else ()
        if len(words) > 1:
            joined += [" ".join(words), " ".join(words[-2:]), " ".join(words[-3:])]
    return [term for term in dict.fromkeys(singles + joined) if term][:_MOST_TERMS]


def _parts(text: str) -> str:
    """The parts of names in camel case; those of other names are words of their own to the index."""
    return _spaced(" ".join(_HUMP.sub(" ", name) for name in dict.fromkeys(_CAMEL.findall(text))))


def _spaced(text: str) -> str:
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
