"""Search every session of a store, and page the results."""

from collections.abc import Callable, Iterator, Sequence

from backscroll.errors import ConfigurationError
from backscroll.history.plan import reference
from backscroll.ports import Ask, Operation
from backscroll.recall.pages import RecallResult, SearchHit, page
from backscroll.recall.retrieval import MOST_HITS, RecallQuery

Found = list[tuple[str, SearchHit]]
"""Names of sessions, each with a passage of it, best first."""


class StoreSearch:
    """Answer queries over all sessions. The newest results are kept, so that their next pages stay the same."""

    def __init__(self, search: Callable[[str, int], Found] | None) -> None:
        self._search = search
        self._query: str | None = None
        self._found: Found = []

    def recall(self, wanted: RecallQuery, count: Callable[[str], int]) -> Operation[RecallResult]:
        """Return one page of the best passages, each under its session's name and its reference there.

        Raises:
            ConfigurationError: There is no query, or the session has no store.
        """
        query = wanted.query
        if query is None or wanted.lines is not None:
            raise ConfigurationError("`everywhere` requires `query`, and allows only `offset` and `limit` with it")
        if self._search is None:
            raise ConfigurationError("`everywhere` requires a store that has other sessions: pass `store`")
        if wanted.offset == 0 or query != self._query:
            self._found = yield Ask(self._search, (query, MOST_HITS), heavy=True)
            self._query = query
        shown = page("".join(_texts(self._found)), wanted.offset, wanted.limit, count)
        return RecallResult(str(shown), shown.next_offset, [hit._replace(session=name) for name, hit in self._found])


def _texts(found: Sequence[tuple[str, SearchHit]]) -> Iterator[str]:
    before = None
    for name, hit in found:
        place = name, hit.seq, hit.part
        if place != before:
            yield f"session {name!r}, {reference(hit.seq, part=hit.part)}\n"
        before = place
        yield f"{hit.text}\n"
