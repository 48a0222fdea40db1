"""One transcript, one strategy, one budget: the job that a process runs, here or on a cluster.

All inputs and results can be pickled. A job never raises: its row reports the error.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from backscroll.compaction.modes import STANDARD
from backscroll.errors import BackscrollError, TranscriptError
from backscroll.evaluation.compare.pricing import Tariff
from backscroll.evaluation.readers import read
from backscroll.evaluation.retention import Needs
from backscroll.evaluation.run import Outcome, Weigher, replay
from backscroll.evaluation.transcript import Transcript
from backscroll.tokens.engines import resolve

_WARNINGS_KEPT = 3  # distinct warnings per job


@dataclass(frozen=True, slots=True)
class Source:
    """A conversation of a file, which the job reads itself."""

    path: str
    number: int
    """Its index in the file, from 0."""
    name: str
    requests: int
    messages: int

    def load(self) -> Transcript:
        """Return the transcript. Raises `TranscriptError` if the file changed meanwhile."""
        found = _read(self.path)
        if self.number >= len(found):
            raise TranscriptError(
                f"{self.path}: it held more conversations when it was first read; run the command again"
            )
        return found[self.number]


@dataclass(frozen=True, slots=True)
class Job:
    """What to replay, and how. `strategies`: names in order, `None` is `auto`. `budget`: as for `replay`."""

    source: Source
    label: str
    """The strategy as the user named it."""
    strategies: tuple[str, ...] | None
    budget: int | float
    tariff: Tariff
    model: str | None = None
    mode: str = STANDARD.name
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further options of the manager, which take precedence."""


@dataclass(frozen=True, slots=True)
class Row:
    """The result of a job: figures, or why there are none."""

    name: str
    strategy: str
    asked: int | float
    """The budget as requested: tokens, or a share of the transcript."""
    outcome: Outcome | None = None
    """The figures, at the requested prices; `None` if the job failed."""
    output_cost: float = 0.0
    """Millions of input token equivalents to write the recorded assistant messages: the same for every strategy."""
    failure: str = ""
    """Why there are no figures; empty if there are."""
    warnings: tuple[str, ...] = ()
    """Distinct warnings."""


def run(job: Job, transcript: Transcript | None = None) -> Row:
    """Replay and judge a job. `transcript`: what the source would read, if it is loaded already."""
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            row = _replayed(job, transcript or job.source.load())
        distinct = tuple(dict.fromkeys(str(warning.message) for warning in heard))[:_WARNINGS_KEPT]
        return Row(job.source.name, job.label, job.budget, *row, warnings=distinct)
    except BackscrollError as error:
        return failed(job, str(error) or type(error).__name__)
    except Exception as error:
        return failed(job, f"{type(error).__name__}: {error}")


def failed(job: Job, why: str) -> Row:
    """Return the row of a failed job."""
    return Row(job.source.name, job.label, job.budget, failure=why)


def _replayed(job: Job, transcript: Transcript) -> tuple[Outcome, float]:
    needs, written = _prepared(job.source, transcript)
    outcome = replay(
        transcript,
        budget=job.budget,
        strategies=job.strategies,
        model=job.model,
        prices=job.tariff.input,
        needs=needs,
        mode=job.mode,
        options=job.options,
    )
    return outcome, job.tariff.output * written / 1e6


# What a process keeps from one job to the next: jobs come transcript by transcript.

_ready: dict[Source, tuple[Needs, int]] = {}


@lru_cache(maxsize=1)
def _read(path: str) -> list[Transcript]:
    return read(Path(path))


def _prepared(source: Source, transcript: Transcript) -> tuple[Needs, int]:
    """Return what the requests need, and the tokens of the assistant messages."""
    if source not in _ready:
        _ready.clear()
        weigher = Weigher(resolve("auto").count)
        written = sum(weigher(message) for message in transcript.messages if message["role"] == "assistant")
        _ready[source] = Needs(transcript.messages), written
    return _ready[source]
