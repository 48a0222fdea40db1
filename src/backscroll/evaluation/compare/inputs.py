"""Finds the files that hold transcripts, in the named files and folders."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from backscroll.errors import TranscriptError
from backscroll.evaluation.compare.jobs import Source
from backscroll.evaluation.folders import files
from backscroll.evaluation.readers import read
from backscroll.evaluation.run import requests_of


class Found(NamedTuple):
    """The conversations to replay."""

    sources: list[Source]
    """Longest first, so that the last jobs are short; without those that have no request."""
    left_out: list[str]
    """Files without a transcript, each with the reason."""
    silent: int
    """Number of conversations without a request, because they have no assistant message."""


def listed(names: Sequence[str]) -> list[Path]:
    """Return the files to read, in order, each once: those named, and those in folders with a known suffix, at any
    depth.
    """
    found: dict[Path, None] = {}
    for name in names:
        path = Path(name)
        found.update(dict.fromkeys(files(path) if path.is_dir() else [path]))
    return list(found)


def look(paths: Sequence[Path], tick: Callable[[str], object]) -> Found:
    """Read every file once and keep what a replay must know in advance. `tick` is called with each name."""
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
                found.sources.append(
                    Source(
                        path=str(path),
                        number=number,
                        name=transcript.name,
                        requests=requests,
                        messages=len(transcript.messages),
                    )
                )
        tick(str(path))
    found.sources.sort(key=lambda source: -source.requests)
    return found._replace(silent=silent)
