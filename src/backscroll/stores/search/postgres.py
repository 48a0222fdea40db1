"""Full-text search over one session, in the tables of its PostgreSQL store.

What one process indexed, every other one finds: nothing is indexed twice. Texts and queries are cut as for every index
(`recall/passages.py`, `recall/names.py`), and indexing happens at queries as in `index.py`. Case and accents are folded
there and not by the database, whose rules differ by locale. Passages that an earlier version cut stay and are found:
each row has its text, and the ranking reads that.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from backscroll.errors import ConflictError
from backscroll.recall.names import folded, parts, spaced, spellings, terms
from backscroll.recall.pages import SearchHit
from backscroll.recall.passages import passages
from backscroll.recall.retrieval import Source
from backscroll.stores.names import checked
from backscroll.stores.postgres.driver import Connection
from backscroll.stores.postgres.schema import of
from backscroll.stores.postgres.server import Server

_TOGETHER = 2_000  # passages per transaction
_LONGEST = 500  # characters of a word: PostgreSQL takes 2,046 bytes
_APART = 50  # places between texts that no phrase may span
_LENGTH = 100  # different words of a usual passage
_CLAIM = (
    "insert into {s}.indexed (session, upto) select id, 0 from {s}.session where name = %s for key share "
    "on conflict (session) do update set upto = indexed.upto returning session, upto"
)
_ADD = (
    "insert into {s}.passage (session, seq, part, start, shown, words) select %(id)s, seq, part, start, shown, "
    "words::tsvector from unnest(%(seqs)s::bigint[], %(parts)s::integer[], %(starts)s::integer[], %(shown)b::bytea[], "
    "%(words)s::text[]) with ordinality as new(seq, part, start, shown, words, number) order by number"
)
_FIND = (  # BM25 with what ts_rank_cd makes of a term as its frequency: that counts the parts of a name by half
    "with term as (select query::tsquery, number from unnest(%(terms)s::text[]) with ordinality as t(query, number)), "
    "own as materialized (select id from {s}.session where name = %(name)b), "
    "total as materialized (select count(*) as passages from {s}.passage where session = (select id from own)), "
    "hit as (select passage.id, ts_rank_cd('{0, 0.5, 1, 1}', words, query)::float as often, "
    "count(*) over (partition by number)::float as holding, "
    "1.2 * (0.25 + 0.75 * length(words) / %(length)s)::float as long "
    "from term join {s}.passage on session = (select id from own) and words @@ query), "
    "best as (select id, sum(ln(1 + ((select passages from total) - holding + 0.5) / (holding + 0.5)) "
    "* often / (often + long)) as score from hit group by id order by score desc, id desc limit %(most)s) "
    "select seq, part, start, shown, (select string_agg(lexeme, ' ' order by positions[1]) "
    "from unnest(words) where 'B' = any(weights)) "  # the words of its context
    "from best join {s}.passage using (id) order by score desc, id desc"
)

_Row = tuple[int, int, int, bytes, str]
"""seq, part, start, shown, words"""


class PostgresSearch:
    """Ranks the passages of one session. Texts must come in the order of their messages. Safe for threads.

    Deleting the session deletes its index. Raises what the store raises, mostly `StoreUnavailableError`.
    """

    def __init__(self, server: Server, session: str) -> None:
        self._server, self._session = server, checked(session)

    @property
    def indexed(self) -> int:
        """The first `seq` that is not yet indexed."""
        return self._server.run(self._upto)

    def _upto(self, connection: Connection) -> int:
        query = "select upto from {s}.indexed join {s}.session on id = session where name = %s"
        row = connection.execute(self._of(query), (self._session.encode(),)).fetchone()
        return int(row[0]) if row else 0

    def add(self, texts: Iterable[Source], upto: int) -> None:
        """Index texts; `upto` is the first `seq` behind them. Raises `ConflictError` for a deleted session."""
        new: list[_Row] = []
        for seq, part, about, whole in texts:
            if len(new) >= _TOGETHER and new[-1][0] < seq:
                self._server.run(partial(self._insert, new, seq))
                new = []
            for at, text, context in passages(whole):
                shown = text.encode("utf-8", "surrogatepass")
                new.append((seq, part, at, shown, _vector(spaced(text), spaced(f"{about} {context}"), parts(text))))
        self._server.run(partial(self._insert, new, upto))

    def _insert(self, new: Sequence[_Row], upto: int, connection: Connection) -> None:
        """Insert all rows or none. Skips what others indexed meanwhile."""
        with connection.transaction():
            row = connection.execute(self._of(_CLAIM), (self._session.encode(),)).fetchone()
            if row is None:
                raise ConflictError(f"session {self._session!r} cannot be indexed: it has not begun, or was deleted")
            id_, before = row
            columns = list(zip(*(each for each in new if each[0] >= before), strict=True))
            if columns:
                names = ("seqs", "parts", "starts", "shown", "words")
                values = {name: list(column) for name, column in zip(names, columns, strict=True)}
                connection.execute(self._of(_ADD), values | {"id": id_})
            query = "update {s}.indexed set upto = greatest(upto, %s) where session = %s"
            connection.execute(self._of(query), (upto, id_))

    def search(self, query: str, most: int) -> list[SearchHit]:
        """Return the best `most` passages, best first, then newer ones. Empty for a `query` without words."""
        return [hit for hit, _ in self.found(query, most)]

    def found(self, query: str, most: int) -> list[tuple[SearchHit, str]]:
        """The same, each with the words of its context."""
        wanted = list(dict.fromkeys(filter(None, map(_query, terms(query)))))
        if not wanted:
            return []
        values = {"name": self._session.encode(), "terms": wanted, "most": most, "length": _LENGTH}
        return self._server.run(partial(self._find, values))

    def close(self) -> None:
        """Do nothing: the store owns the connections, and the index stays."""

    def _find(self, values: dict[str, Any], connection: Connection) -> list[tuple[SearchHit, str]]:
        rows = connection.execute(self._of(_FIND), values, binary=True).fetchall()
        return [
            (SearchHit(seq, part, start, shown.decode("utf-8", "surrogatepass")), context or "")
            for seq, part, start, shown, context in rows
        ]

    def _of(self, statement: str) -> bytes:
        return of(self._server.schema, statement)


def _query(term: str) -> str:
    """A `tsquery` for any spelling of a term; empty for a term without words."""
    spelled = (" <-> ".join(f"'{word}'" for word in _words(spelling)) for spelling in spellings(term))
    return " | ".join(filter(None, spelled))


def _words(text: str) -> list[str]:
    """Folded words, none too long for the server."""
    return [word[:_LONGEST] for word in folded(text)]


def _vector(text: str, about: str, parts: str) -> str:
    """A `tsvector` literal: words with positions and weights. No word needs an escape."""
    found, place = list[str](), 1
    for weight, source in (("A", text), ("B", about), ("C", parts)):
        words = _words(source)
        found += [f"{word}:{number}{weight}" for number, word in enumerate(words, place)]
        place += len(words) + _APART
    return " ".join(found)
