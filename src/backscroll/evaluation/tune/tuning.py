"""Finds options on one half of the conversations, and judges them once on the other."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from backscroll.errors import ConfigurationError
from backscroll.evaluation.compare.jobs import Job, Row
from backscroll.evaluation.compare.pricing import Tariff
from backscroll.evaluation.tune.candidates import DEFAULTS, Candidate
from backscroll.evaluation.tune.judging import Figures, Pair, figures, judge
from backscroll.evaluation.tune.search import WORTH, Search, Trial
from backscroll.evaluation.tune.split import LEAST, Conversation, Halves, halves

WITHIN = 0.75
"""Share of the margin that the search may use. What is cheapest often lies at its edge, and what is just inside it on
one half is as often outside it on the other.
"""
Replay = Callable[[Sequence[Job]], Sequence[Row]]
"""Runs jobs and returns their rows in the same order."""


@dataclass(frozen=True, slots=True)
class Task:
    """What to tune for.

    Args:
        goal: One of `judging.GOALS`.
        budget: Tokens of a request (int), or a share of each transcript (float).
        tariff: Prices of the cost.
        model: Model whose token counts are used. `None`: the vocabulary's own.
        margin: Share by which the figure that is not the goal may get worse; with `balanced`, either.
        trials: Candidates that may be replayed.
        seed: Splits the conversations and draws the samples of the intervals.
    """

    goal: str
    budget: int | float
    tariff: Tariff
    model: str | None = None
    margin: float = 0.05
    trials: int = 32
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Tuned:
    """What a search found, and whether it holds."""

    split: Halves
    """Without conversations that the defaults could not send."""
    left_out: tuple[str, ...]
    """Transcripts of these, each with the reason."""
    trials: tuple[Trial, ...]
    """Candidates of the training half, in the order of the search."""
    complete: bool
    """Whether the search ended by itself, and not by the number of trials."""
    chosen: Trial | None
    """The best on the training half; `None`: nothing improved on the defaults."""
    judged: Trial | None
    """The same options on the held-out half."""
    keep_defaults: str
    """Why the defaults should be kept; empty: the options hold on the held-out half."""


def tune(conversations: Sequence[Conversation], task: Task, replay: Replay) -> Tuned:
    """Search options on a half of the conversations, and judge the best ones once on the other half.

    Raises:
        ConfigurationError: There are too few conversations, or too few that are larger than the budget.
    """
    split = halves(conversations, task.seed)
    training = _Half(split.training, task, replay, WITHIN * task.margin)
    training.begin(())
    if training.over_budget < LEAST:
        raise ConfigurationError(
            f"of {len(split.training)} conversations to choose by, {training.over_budget} are larger than the budget "
            f"and need a fact of their past, but at least {LEAST} are needed: use a smaller budget or more transcripts"
        )
    search = Search(task.goal, task.budget, task.trials, training.trials)
    best = search.best()
    chosen = search.tried.get(best)
    held_out = _Half(split.held_out, task, replay, task.margin)
    judged = held_out.begin((best,))[0] if chosen else None
    return Tuned(
        split=Halves(training.conversations, held_out.conversations),
        left_out=(*training.left_out, *held_out.left_out),
        trials=tuple(search.tried.values()),
        complete=search.complete,
        chosen=chosen,
        judged=judged,
        keep_defaults=_why_not(judged, task.goal),
    )


def _why_not(judged: Trial | None, goal: str) -> str:
    if judged is None:
        return f"no options improved on them by {100 * WORTH[goal]:g}% or more on the conversations to choose by"
    if judged.faults:
        return f"on the held-out conversations, {judged.faults[0]}"
    assert judged.evidence is not None
    change = judged.evidence.better(goal)
    if change.high >= 0:
        return "the gain on the held-out conversations may be chance: its interval does not exclude zero"
    return ""


class _Half:
    """Replays and judges candidates over one half."""

    def __init__(self, conversations: Sequence[Conversation], task: Task, replay: Replay, margin: float) -> None:
        self.conversations = list(conversations)
        self.left_out: list[str] = []
        self.over_budget = 0
        self._task, self._replay, self._margin = task, replay, margin
        self._defaults: list[Figures] = []

    def begin(self, candidates: Sequence[Candidate]) -> list[Trial]:
        """Replay the defaults together with candidates. Conversations that the defaults cannot send are left out."""
        ran = self._run((DEFAULTS, *candidates))
        default = [figures(rows) for rows in ran[0]]
        sound = [at for at, found in enumerate(default) if found is not None]
        self.left_out = [fault for at, rows in enumerate(ran[0]) if at not in sound for fault in _faults(rows)]
        self.conversations = [self.conversations[at] for at in sound]
        self._defaults = [found for found in default if found is not None]
        self.over_budget = sum(found.kept is not None for found in self._defaults)
        return [
            self._trial(candidate, [rows[at] for at in sound])
            for candidate, rows in zip(candidates, ran[1:], strict=True)
        ]

    def trials(self, candidates: Sequence[Candidate]) -> list[Trial]:
        """Replay candidates and compare them with the defaults, which ran before."""
        ran = self._run(candidates)
        return [self._trial(candidate, rows) for candidate, rows in zip(candidates, ran, strict=True)]

    def _run(self, candidates: Sequence[Candidate]) -> list[list[list[Row]]]:
        """Return the rows of each candidate by conversation. Jobs come transcript by transcript."""
        task = self._task
        places = [(at, source) for at, one in enumerate(self.conversations) for source in one.sources]
        places.sort(key=lambda place: (place[1].path, place[1].number))
        jobs = [
            Job(
                source=source,
                label=candidate.label,
                strategies=None,
                budget=task.budget,
                tariff=task.tariff,
                model=task.model,
                options=candidate.options,
            )
            for _, source in places
            for candidate in candidates
        ]
        rows = iter(self._replay(jobs))
        found: list[list[list[Row]]] = [[[] for _ in self.conversations] for _ in candidates]
        for at, _ in places:
            for of_candidate in found:
                of_candidate[at].append(next(rows))
        return found

    def _trial(self, candidate: Candidate, ran: Sequence[Sequence[Row]]) -> Trial:
        faults = tuple(fault for rows in ran for fault in _faults(rows))
        if faults:
            return Trial(candidate, None, faults)
        if self.over_budget < LEAST:
            few = f"{self.over_budget} are larger than the budget, but at least {LEAST} are needed"
            return Trial(candidate, None, (few,))
        pairs = [
            Pair(default, then) for default, rows in zip(self._defaults, ran, strict=True) if (then := figures(rows))
        ]
        evidence = judge(pairs, self._task.seed)
        return Trial(candidate, evidence, tuple(evidence.beyond(self._task.goal, self._margin)))


def _faults(rows: Sequence[Row]) -> Iterator[str]:
    """Yield why transcripts could not be sent."""
    for row in rows:
        if row.outcome is None:
            yield f"{row.name} failed: {row.failure}"
        elif row.outcome.refused:
            yield f"{row.name} had refused requests: {row.outcome.refusal}"
        elif row.outcome.invalid:
            yield f"{row.name} had invalid views: {row.outcome.problems[0]}"
        elif row.outcome.over_budget:
            yield f"{row.name} had {row.outcome.over_budget} views over the budget"
