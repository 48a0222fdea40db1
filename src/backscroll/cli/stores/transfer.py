"""Export and import: between stores, to and from a file, and from other programs' recordings."""

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from backscroll.cli import screen
from backscroll.cli.group import BadInput
from backscroll.cli.stores import locate as places
from backscroll.errors import BackscrollError, ConfigurationError, ConflictError, StoreError, StoreUnavailableError
from backscroll.evaluation.readers import Transcript, read
from backscroll.manager.importing import ImportingManager
from backscroll.ports import Store
from backscroll.stores.jsonl.portable import PortableFile, PortableWriter, is_portable
from backscroll.stores.transfer import Source, Target, copy_session

AT_ONCE = 100  # messages per append

Progress = Callable[[int], Any]


def chosen(source: Source, sessions: Sequence[str], name: str | None) -> dict[str, str]:
    """Return the chosen sessions with their new names. Raises `BadInput`."""
    there = source.sessions()
    missing = [session for session in sessions if session not in there]
    if missing:
        raise BadInput(f"no session {missing[0]!r} in the source; it has: {', '.join(map(repr, there[:10])) or 'none'}")
    wanted = list(dict.fromkeys(sessions)) or there
    if name is not None and len(wanted) != 1:
        raise BadInput(f"--as renames one session, but {len(wanted)} are selected: name the one")
    return {session: session if name is None else name for session in wanted}


def copied(source: Source, target: Target, names: dict[str, str]) -> list[dict[str, Any]]:
    """Copy sessions and report each. What can be checked in advance fails before the first copy."""
    begun = [name for name in names.values() if target.length(name)]
    if begun:
        raise ConflictError(
            f"session {begun[0]!r} already exists there: delete it first, or import one session with --as NAME"
        )
    done = []
    with places.progress("records", sum(map(source.length, names))) as tick:
        for session, name in names.items():
            number = copy_session(source, session, target, name, progress=tick)
            done.append({"session": session, "as": name, "records": number})
    return done


@contextlib.contextmanager
def new_file(place: str) -> Iterator[PortableWriter]:
    """Create a file to export to, `-` for standard output. The file is removed unless it is complete."""
    if place == "-":
        try:
            yield from _written(sys.stdout.buffer)
        except BrokenPipeError:
            screen.write("")  # replaces the closed pipe, so that the interpreter can flush
            raise StoreUnavailableError(
                "the reader of standard output closed it, so the export is incomplete: export again"
            ) from None
        return
    try:
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ConfigurationError(f"{place} already exists: name a new file, or remove it") from None
    except OSError as error:
        raise StoreUnavailableError(
            f"{place}: {error.strerror}: check that its folder exists and is writable"
        ) from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield from _written(file)
            os.fsync(file.fileno())
    except BaseException as error:
        os.unlink(place)
        if isinstance(error, OSError):
            raise StoreUnavailableError(f"{place}: {error.strerror}: the file was removed; export again") from error
        raise


def _written(file: BinaryIO) -> Iterator[PortableWriter]:
    writer = PortableWriter(file)
    yield writer
    writer.finish()


# -- importing --


STDIN = "standard input"
"""The name of standard input in errors, and the default name of a transcript from it."""


@contextlib.contextmanager
def source_of(place: str) -> Iterator[Source | list[Transcript]]:
    """Open the source of an import: an exported file, a store, or another program's recording.

    Standard input (`-`) is copied to a temporary file, since an export is checked as a whole before anything is
    written.
    """
    if place != "-":
        yield _source_at(place)
        return
    with TemporaryDirectory() as folder:
        path = Path(folder, "input")
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield PortableFile(path, STDIN) if is_portable(path) else read(path, STDIN)


def _source_at(place: str) -> Source | list[Transcript]:
    found = places.store_or_file(place)
    if not isinstance(found, Path):
        return found
    return PortableFile(found) if is_portable(found) else read(found)


def added(transcripts: Sequence[Transcript], store: Store, place: str, name: str | None) -> list[dict[str, Any]]:
    """Add the messages of transcripts as new sessions and report each."""
    place = STDIN if place == "-" else place
    names = {_name(transcript, place, name): transcript for transcript in transcripts if transcript.messages}
    begun = [session for session in names if store.length(session)]
    if begun:
        raise ConflictError(f"session {begun[0]!r} already exists there: delete it first, or import with --as NAME")
    done = []
    with places.progress("messages", sum(len(each.messages) for each in names.values())) as tick:
        for session, transcript in names.items():
            _add(transcript, store, session, tick)
            number = len(transcript.messages)
            done.append({"session": transcript.name, "as": session, "messages": number, "left_out": transcript.reasons})
    return done


def _name(transcript: Transcript, place: str, name: str | None) -> str:
    """Return the file's name without its suffix, or the given name; transcripts of one file keep their numbers."""
    _, mark, number = transcript.name.removeprefix(place).rpartition("#")
    return (Path(place).stem if name is None else name) + (mark + number if mark else "")


def _add(transcript: Transcript, store: Store, session: str, tick: Progress) -> None:
    context = ImportingManager(session=session, store=store)
    try:
        for start in range(0, len(transcript.messages), AT_ONCE):
            some = transcript.messages[start : start + AT_ONCE]
            context.append(*some)
            tick(len(some))
        context.close()
    except BaseException as error:
        if isinstance(error, BackscrollError):
            error.add_note(f"in {transcript.name}")
        if "delete" in store.capabilities and not isinstance(error, ConflictError):
            with contextlib.suppress(StoreError):
                store.delete(session)
        raise
