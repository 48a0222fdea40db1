"""What `recall` searches with: the index of the session, and those of all sessions of its store."""

from functools import partial

from backscroll.manager.assembly import SessionRuntime
from backscroll.ports import Operation
from backscroll.recall.all_sessions import StoreSearch
from backscroll.recall.pages import RecallResult
from backscroll.recall.retrieval import PagedSearch, RecallQuery, RecallScope, check, recall
from backscroll.session.past import page_tokens, texts_in_view
from backscroll.session.store_sync import enter, fetch
from backscroll.stores.search import Index, search_everywhere, search_for
from backscroll.stores.search.index import SearchIndex


class Recalling:
    """Answer `recall` for one session. Opens an index with the first query."""

    def __init__(self, opened: SessionRuntime) -> None:
        store = opened.store
        self._opened = opened
        self.index: Index = SearchIndex() if store is None else search_for(store, opened.name)
        self._finder = PagedSearch(self.index)
        self._elsewhere = StoreSearch(None if store is None else partial(search_everywhere, store))

    def recall(
        self,
        ref: str | int | None = None,
        query: str | None = None,
        pattern: str | None = None,
        lines: tuple[int, int] | None = None,
        offset: int = 0,
        limit: int | None = None,
        around: int = 0,
        everywhere: bool = False,
        outline: bool = False,
    ) -> Operation[RecallResult]:
        """Return a page of what is asked for; `AsyncContextManager.recall` describes the arguments."""
        session, count = self._opened.session, self._opened.measurer.tokenizer.count
        page = page_tokens(session, searched=query is not None) if limit is None else limit
        wanted = RecallQuery(
            ref=ref,
            query=query,
            pattern=pattern,
            lines=lines,
            offset=offset,
            limit=page,
            around=around,
            outline=outline,
        )
        check(wanted)
        if everywhere:
            return (yield from self._elsewhere.recall(wanted, count))
        yield from enter(session)
        in_view = partial(texts_in_view, session)
        scroll = RecallScope(
            history=session.history,
            fetch=partial(fetch, session),
            in_view=in_view,
            compile=self._opened.compile,
            count=count,
        )
        return (yield from recall(scroll, self._finder, wanted))

    def close(self) -> None:
        """Close the index. The next query opens it again; pages of earlier ones stay the same."""
        self.index.close()
