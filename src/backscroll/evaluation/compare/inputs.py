"""Which files hold transcripts: those that are named, and those of folders. Nothing is replayed or printed here."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from backscroll.errors import TranscriptError
from backscroll.evaluation.compare.jobs import Source
from backscroll.evaluation.folders import files
from backscroll.evaluation.readers import read
from backscroll.evaluation.run import requests_of


class Found(NamedTuple):
    """What there is to replay."""

    sources: list[Source]
    """The longest first, so that the last jobs are short ones; those without a request are not among them."""
    left_out: list[str]
    """Files that hold no transcript, with the reason."""
    silent: int
    """Conversations without a request: nobody answered in them."""


def listed(names: Sequence[str]) -> list[Path]:
    """The files to look at, in order, each once: those named, and of folders all with a known suffix, at any depth."""
    found: dict[Path, None] = {}
    for name in names:
        path = Path(name)
        found.update(dict.fromkeys(files(path) if path.is_dir() else [path]))
    return list(found)


def look(paths: Sequence[Path], tick: Callable[[str], object]) -> Found:
    """Reads every file once and keeps what is to be known before a replay. `tick` hears the name of each."""
    found = Found([], [], 0)
    silent = 0
    for path in paths:
        try:
            transcripts = read(path)
        except TranscriptError as error:
            found.left_out.append(str(error))
            transcripts = []
        for number, transcript in enumerate(transcripts):
            requests = requests_of(transcript)
            silent += not requests
            if requests:
                found.sources.append(Source(str(path), number, transcript.name, requests, len(transcript.messages)))
        tick(str(path))
    found.sources.sort(key=lambda source: -source.requests)
    return found._replace(silent=silent)
