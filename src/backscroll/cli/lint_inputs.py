"""Finds what `backscroll lint` reads: files, folders of files, and stores."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click

from backscroll.cli import screen
from backscroll.cli.group import BadInput
from backscroll.cli.stores import locate as places
from backscroll.cli.stores.render import Reader
from backscroll.errors import TranscriptError
from backscroll.evaluation.folders import SUFFIXES, files
from backscroll.evaluation.lint import Request, Talk, talks_of
from backscroll.ports import Store
from backscroll.tokens.known_models import find_model


class Loaded(NamedTuple):
    """The conversations of all paths."""

    talks: list[Talk]
    skipped: list[str]
    """Files of folders that are neither transcripts nor requests, each with the reason."""


def load(names: Sequence[str], session: str | None) -> Loaded:
    """Load all conversations.

    Args:
        names: Files, folders, stores, or `-` for standard input. A named file must hold a conversation.
        session: The session of each store to read. `None`: all.

    Raises:
        BadInput: Nothing can be read at a name, or a session is named where there is no store.
    """
    loaded = Loaded([], [])
    for name in names:
        if name != "-" and _is_store(name):
            loaded.talks.extend(_of_store(places.existing(name), session))
        elif session is not None:
            raise BadInput(f"{name}: --session names a session of a store, and this is none")
        elif name == "-":
            loaded.talks.extend(_read(sys.stdin.buffer.read(), "standard input"))
        elif Path(name).is_dir():
            _add_folder(Path(name), loaded)
        else:
            loaded.talks.extend(_read(Path(name), name))
    for reason in loaded.skipped:
        click.echo(f"skipped: {screen.line(reason)}", err=True)
    return loaded


def _is_store(name: str) -> bool:
    path = Path(name)
    if places.is_address(name) or places.is_database(path):
        return True
    return path.is_dir() and any(map(places.is_session_file, os.listdir(path)))


def _read(source: Path | bytes, name: str) -> list[Talk]:
    try:
        return talks_of(source, name)
    except TranscriptError as error:
        raise BadInput(str(error)) from error


def _add_folder(folder: Path, loaded: Loaded) -> None:
    before = len(loaded.talks)
    for path in files(folder):
        try:
            loaded.talks.extend(talks_of(path))
        except TranscriptError as error:
            loaded.skipped.append(str(error))
    if len(loaded.talks) == before:
        raise BadInput(f"{folder}: no file in this folder holds a conversation (searched: {', '.join(SUFFIXES)})")


def _of_store(store: Store, session: str | None) -> list[Talk]:
    if session is not None:
        places.known(store, session)
    with places.blamed():
        return [talk for name in ([session] if session else store.sessions()) for talk in _of_session(store, name)]


def _of_session(store: Store, name: str) -> list[Talk]:
    """Return the recorded requests of each lane; without requests, the history as a transcript. Many name a lane after
    its model.
    """
    reader = Reader(store, name)
    lanes: dict[str, list[Request]] = {}
    for number, record in enumerate(reader.list_requests(), 1):
        messages = reader.get_request(record.at).messages
        model = record.lane if find_model(record.lane) else None
        lanes.setdefault(record.lane, []).append(
            Request(number=number, shape="chat", model=model, system=[], tools=[], messages=messages)
        )
    if not lanes:
        history = reader.history()
        return [Talk(name, history)] if history else []
    return [Talk(name if len(lanes) == 1 else f"{name}, lane {lane}", requests=sent) for lane, sent in lanes.items()]
