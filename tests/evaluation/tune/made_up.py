"""Conversations that exist in no file, and replays whose figures a test makes up. No tests live here."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from backscroll.evaluation.compare.jobs import Job, Row, Source
from backscroll.evaluation.compare.pricing import TARIFFS
from backscroll.evaluation.run import Outcome
from backscroll.evaluation.run import replay as replayed
from backscroll.evaluation.transcript import Transcript
from backscroll.evaluation.tune.split import Conversation
from backscroll.evaluation.tune.tuning import Task

_SHORT = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi."}]
OUTCOME: Outcome = replace(
    replayed(Transcript("made up", "openai", _SHORT), budget=100),
    cost=1.0,
    recall=0.8,
    reachable=0.9,
    far_recall=0.44,
    far_reachable=0.55,
)
"""What a replay gives where the test makes up nothing else."""


def task(goal: Any = "cost", **more: Any) -> Task:
    return Task(goal, 32_000, TARIFFS["anthropic"], **more)


def conversations(number: int, most: int = 100) -> list[Conversation]:
    """So many conversations of one transcript each, of different lengths."""
    return [
        Conversation((Source(f"{at}.jsonl", 0, f"{at}.jsonl", most - at, 2 * most),), f"{at * 7919 % 1009:04d}")
        for at in range(number)
    ]


class Replays:
    """Replays that give made-up figures, and remember what was asked."""

    def __init__(self, outcome: Callable[[Job], Outcome | None]) -> None:
        self._outcome = outcome
        self.asked: list[Sequence[Job]] = []

    def __call__(self, jobs: Sequence[Job]) -> list[Row]:
        self.asked.append(jobs)
        return [self._row(job) for job in jobs]

    def _row(self, job: Job) -> Row:
        outcome = self._outcome(job)
        return Row(job.source.name, job.label, job.budget, outcome, failure="" if outcome else "it broke")

    def sources(self, *, but_last: bool) -> set[Source]:
        """Transcripts of all calls but the last, or of the last."""
        return {job.source for jobs in (self.asked[:-1] if but_last else self.asked[-1:]) for job in jobs}


def cheaper_by(options: dict[str, float], kept: dict[str, float] | None = None) -> Callable[[Job], Outcome]:
    """Replays where each of these options costs and keeps so much less, more so in long conversations."""

    def outcome(job: Job) -> Outcome:
        size = job.source.requests / 100
        factor, share = 1.0, 1.0
        for name, less in options.items():
            factor *= 1 - less * (0.5 + size) if name in job.label else 1.0
        for name, less in (kept or {}).items():
            share *= 1 - less * (0.5 + size) if name in job.label else 1.0
        return replace(OUTCOME, cost=size * factor, recall=0.8 * share, reachable=0.9 * share)

    return outcome
