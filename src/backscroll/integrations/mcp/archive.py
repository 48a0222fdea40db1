"""The sessions that a server answers from: which of them it may show, and what is found in them."""

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from backscroll.errors import ConfigurationError
from backscroll.integrations.mcp.catching_up import CatchingUp, Progress
from backscroll.integrations.mcp.facts import unredacted
from backscroll.integrations.mcp.index import FoundPassage, StoreIndex
from backscroll.integrations.mcp.indexed_session import IndexedSession
from backscroll.integrations.mcp.reader import SessionReader
from backscroll.ports import Store
from backscroll.recall.ranking import Candidate, rank

MOST = 80
"""Passages that a search finds at most."""
_CANDIDATES = 400  # passages that are ranked
_SEQS = 1 << 32

Feed = Callable[[StoreIndex], Iterator[Progress]]
"""Imports from elsewhere into the store, and yields before each step how far it is."""


class Wanted(NamedTuple):
    """What to search for, and where. Empty texts: no limit."""

    query: str
    session: str = ""
    project: str = ""
    since: str = ""
    role: str = ""


class Archive:
    """Answers from a store. Safe for threads, and changes nothing but the search index.

    Args:
        store: the store.
        folder: the working folder of the client. Sessions of other folders are hidden; those that name no folder are
            shown. `None`: show all.
        running_in: the folder whose newest transcript is that of the running session, which no search over several
            sessions finds. `None`: search all.
        feed: imports from elsewhere.
        redaction: names of redactions. Imported sessions to which one was not applied are hidden.
        patience: seconds that an answer waits for the index.
    """

    def __init__(
        self,
        store: Store,
        *,
        folder: str | None = None,
        running_in: str | None = None,
        feed: Feed | None = None,
        redaction: Collection[str] = (),
        patience: float = 2.0,
    ) -> None:
        self.store = store
        self._folder, self._running_in, self._feed = folder, running_in, feed
        self._redaction, self._patience = frozenset(redaction), patience
        self._note = ""
        self._index = StoreIndex(store)
        self._behind = CatchingUp(self._steps)

    def start(self) -> None:
        """Begin to import and to index. What fails is an error of the first answer."""
        self._behind.start()

    def close(self) -> None:
        """End what runs in the background."""
        self._behind.close()

    def refresh(self) -> str:
        """Catch up with the store. Returns an empty text, or a sentence that says how far it is."""
        progress, bad, notes = self._behind.wait(self._patience), self._index.unreadable, []
        if bad:
            name, (_, reason) = next(iter(bad.items()))
            notes.append(f"Sessions that cannot be read, left out: {len(bad):,}, such as {name!r:.60}: {reason:.200}.")
        veiled = sum(map(self._lacks, self._index.sessions())) if self._redaction else 0
        if veiled:
            notes.append(f"Sessions that were imported with less redaction, left out: {veiled:,}.")
        if progress is not None:
            far = f": {progress.done:,} of {progress.total:,}, the newest first" if progress.total else ""
            notes.append(f"{progress.what} is under way{far}. Ask again later for the rest.")
        self._note = " ".join(notes)
        return self._note

    def scope(self) -> str:
        """Return a sentence that says which sessions are shown; empty if all are."""
        return "" if self._folder is None else f"Only sessions of {self._folder!r:.200} are shown here."

    def sessions(self, project: str = "", since: str = "") -> list[IndexedSession]:
        """Return the sessions that may be shown, the newest first.

        Raises:
            ConfigurationError: Sessions of this folder are hidden.
        """
        found = [each for each in reversed(self._index.sessions()) if self._shows(each)]
        return self._narrowed(sorted(found, key=lambda each: each.facts.ended, reverse=True), project, since)

    def _narrowed(self, sessions: list[IndexedSession], project: str, since: str) -> list[IndexedSession]:
        if project and self._folder is not None and not within(project, self._folder):
            raise ConfigurationError(
                f"this server shows only sessions of {self._folder}: start it with --all to show those of other folders"
            )
        if project:
            sessions = [each for each in sessions if within(each.facts.project, project)]
        return [each for each in sessions if each.facts.ended >= since]

    def still_has(self, names: Collection[str]) -> bool:
        """Return whether all of these sessions may be shown and exist."""
        return set(names) <= {each.name for each in self.sessions()}

    def session(self, name: str) -> IndexedSession:
        """Return a session by its name.

        Raises:
            ConfigurationError: There is none of this name that may be shown.
        """
        found = next((each for each in self.sessions() if each.name == name), None)
        if found is None:
            missing = f"there is no session {name!r:.300} here; the tool `sessions` lists those there are"
            raise ConfigurationError(f"{missing}. {self._note}" if self._note else missing)
        return found

    def running(self, sessions: Sequence[IndexedSession]) -> str:
        """Return the name of the session that runs now, as far as it is known; else an empty text.

        Args:
            sessions: the sessions that may be shown, the newest first.
        """
        if self._running_in is None:
            return ""
        logs = (each for each in sessions if each.facts.client and not each.facts.parent)
        return next((each.name for each in logs if within(each.facts.project, self._running_in)), "")

    def search(self, wanted: Wanted) -> list[FoundPassage]:
        """Return the best passages, best first.

        Raises:
            ConfigurationError: What to search is not there, or hidden.
            StoreError: The store or the index failed.
        """
        if wanted.session:
            among = [self.session(wanted.session)]
        else:
            shown = self.sessions()
            hidden = self.running(shown)
            among = self._narrowed([each for each in shown if each.name != hidden], wanted.project, wanted.since)
        found = self._index.found(wanted.query, _CANDIDATES, among, wanted.role, wanted.since)
        return _ranked(wanted.query, found, [each.name for each in reversed(among)])

    def read(self, name: str) -> SessionReader:
        """Open a session for reading. Close it.

        Raises:
            ConfigurationError: There is none of this name that may be shown.
        """
        return SessionReader(self.store, self.session(name).name)

    def _lacks(self, each: IndexedSession) -> bool:
        """Return whether an imported session may hold what must not be shown."""
        return bool(each.facts.client) and unredacted(each.facts.imported, self._redaction)

    def _shows(self, each: IndexedSession) -> bool:
        if self._lacks(each):
            return False
        return self._folder is None or not each.facts.project or within(each.facts.project, self._folder)

    def _steps(self) -> Iterator[Progress]:
        if self._feed is not None:
            yield from self._feed(self._index)
        behind = self._index.behind()
        for done, name in enumerate(behind):
            yield Progress("Indexing the store", done, len(behind))
            self._index.catch_up(name)


def within(folder: str, other: str) -> bool:
    """Return whether a folder is another one, or below it."""
    if not folder:
        return False
    folder, other = _real(folder), _real(other)
    return folder == other or folder.startswith(other.rstrip(os.sep) + os.sep)


@lru_cache(maxsize=10_000)
def _real(folder: str) -> str:
    """Return a folder without links. Asks the file system once for each."""
    return os.path.normcase(os.path.realpath(folder))


def _ranked(query: str, found: Sequence[FoundPassage], names: Sequence[str]) -> list[FoundPassage]:
    """Return passages in the order of all searches; `names` are the sessions, the oldest first."""
    numbers = {name: number for number, name in enumerate(names)}
    placed = {(numbers[each.session] * _SEQS + each.hit.seq, each.hit.part, each.hit.offset): each for each in found}
    candidates = [Candidate(each.hit._replace(seq=key[0]), each.context) for key, each in placed.items()]
    hits = [ranked.hit for ranked in rank(query, candidates, (), MOST)]
    return [placed[hit.seq, hit.part, hit.offset] for hit in hits]
