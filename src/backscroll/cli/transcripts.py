"""Loads transcripts from files, folders and standard input, and turns their errors into exit codes."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

import click

from backscroll.cli import screen
from backscroll.cli.group import BadInput
from backscroll.errors import BackscrollError
from backscroll.evaluation.folders import SUFFIXES, files
from backscroll.evaluation.readers import Transcript, TranscriptError, read


class Loaded(NamedTuple):
    """The transcripts that were loaded."""

    transcripts: list[Transcript]
    skipped: list[str]
    """Files of folders without a transcript, each with the reason."""


def load(names: Sequence[str]) -> Loaded:
    """Load all transcripts. A named file must hold one; a file of a folder need not."""
    loaded = Loaded([], [])
    for name in names:
        if name == "-":
            _read_named(sys.stdin.buffer, "standard input", loaded)
        elif Path(name).is_dir():
            _read_folder(Path(name), loaded)
        else:
            _read_named(Path(name), name, loaded)
    for reason in loaded.skipped:
        click.echo(f"skipped: {screen.line(reason)}", err=True)
    return loaded


def _read_named(source: Path | BinaryIO, name: str, loaded: Loaded) -> None:
    try:
        loaded.transcripts.extend(read(source, name))
    except TranscriptError as error:
        raise BadInput(str(error)) from error


def _read_folder(folder: Path, loaded: Loaded) -> None:
    before = len(loaded.transcripts)
    for path in files(folder):
        try:
            loaded.transcripts.extend(read(path))
        except TranscriptError as error:
            loaded.skipped.append(str(error))
    if len(loaded.transcripts) == before:
        raise BadInput(f"{folder}: no file in this folder holds a transcript (searched: {', '.join(SUFFIXES)})")


@contextmanager
def blamed_on(name: str) -> Iterator[None]:
    """Report errors inside as errors of the transcript `name`."""
    try:
        yield
    except BackscrollError as error:
        raise BadInput(f"{name}: {error}") from error
