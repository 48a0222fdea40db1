"""Find damage in a folder of sessions, and accept losses."""

from collections.abc import Iterator

from backscroll.errors import CorruptionError
from backscroll.stores.commit_counter import CommitCounter
from backscroll.stores.fork_lock import GATE
from backscroll.stores.jsonl.file import LogFile, scan, translated_errors
from backscroll.stores.jsonl.folder import Folder, first_header, has_lines
from backscroll.stores.jsonl.index import Index, Span
from backscroll.stores.problems import Problem

_TORN = "left by a crash during an append that was never acknowledged: it is ignored, and no data is lost"


def verify(folder: Folder, name: str | None) -> Iterator[Problem]:
    """Read all sessions, or the one of that name, and yield what differs from what was written. Changes nothing.

    No file is open while a problem is yielded: the caller may take any time, and fork.
    """
    with translated_errors(folder.path), GATE:
        found = folder.listed() if name is None else []
    yield from (Problem(None, None, each.problem) for each in found if each.problem)
    for session in [each.header.session for each in found if each.header] if name is None else [name]:
        with translated_errors(folder.path), GATE:
            problems = list(_session(folder, session))
        yield from problems


def _session(folder: Folder, name: str) -> Iterator[Problem]:
    log = LogFile(folder.log(name).path, name)  # a new object, so that nothing cached is trusted
    acknowledged = log.guard.read()
    try:
        with open(log.path, "rb") as file:
            scan(file, log.index, acknowledged)
    except FileNotFoundError:
        pass
    except CorruptionError as error:
        yield Problem(name, None, f"{log.path}: {error}")
        return
    index = log.index
    if index.commits < acknowledged:
        yield Problem(name, index.end, log.lost(acknowledged))
    if index.commits and index.header is None:
        yield Problem(name, None, f"{log.where(0)}: the line that names its session is not what was written")
    for place in index.damaged():
        yield Problem(name, place, f"{log.where(-1 - index.start(place))}: the record is not what was written there")
    for start, size in _merged([*index.torn, *(index.unfinished() if index.commits >= acknowledged else ())]):
        yield Problem(name, None, f"{log.where(start)}, {size} bytes: {_TORN}", harmless=True)
    try:
        folder.past(index.header)
    except CorruptionError as error:
        yield Problem(name, None, str(error))


def _merged(spans: list[Span]) -> list[Span]:
    """Merge spans that touch."""
    found: list[Span] = []
    for span in sorted(spans):
        if found and sum(found[-1]) == span.start:
            found[-1] = Span(found[-1].start, found[-1].size + span.size)
        else:
            found.append(span)
    return found


def accept_loss(folder: Folder) -> int:
    """Lower the counters of acknowledged appends to what the files hold, and return the difference.

    A file whose session is unknown is left unchanged.
    """
    gone = 0
    with translated_errors(folder.path), GATE:
        for path in sorted({*folder.files(), *folder.left_over()}):
            acknowledged = CommitCounter(path).read()
            commits = _commits(path, acknowledged)
            if commits is not None and acknowledged > commits:
                CommitCounter(path).lower_to(commits)
                gone += acknowledged - commits
        folder.forget()
    return gone


def _commits(path: str, acknowledged: int) -> int | None:
    """Whole appends of a file; `None` if its session is unknown."""
    if not has_lines(path):
        return 0
    with open(path, "rb") as file:
        header = first_header(file)
        if header is None:
            return None
        index = Index(header.session)
        file.seek(0)
        scan(file, index, acknowledged)
    return index.commits
