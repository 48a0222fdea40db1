"""What `backscroll tune` found, as tables and as JSON."""

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from backscroll import __version__
from backscroll.cli.compare_table import size
from backscroll.cli.screen import line
from backscroll.compaction.options import CachePricing
from backscroll.evaluation.tune.candidates import GRID, Candidate
from backscroll.evaluation.tune.judging import BALANCED, GOALS, LEVEL, SHARES, Change, Evidence
from backscroll.evaluation.tune.search import Trial
from backscroll.evaluation.tune.split import Conversation
from backscroll.evaluation.tune.tuning import Task, Tuned
from backscroll.tokens.engines import resolve

UNITS = {
    "cost": "millions of input token equivalents a conversation, at the prices: its mean, and its relative change",
    "recall": "share 0 to 1 of the facts that requests over the budget needed that was in the view, in its context",
    "reachable": "share 0 to 1 that was in the view, or behind the one reference that was recalled",
    "far_recall, far_reachable": "the same for facts last mentioned further back than the budget; they decide nothing",
    "kept": "mean of recall and reachable, and its relative change",
    "balanced": "the change of the cost less the change of what is kept; below 0 is better",
    "low, high": f"ends of the interval ({LEVEL:.0%}) of a change, by a bootstrap over conversations",
    "conversations": "a session with its sub-agents, forks and copies, by the names of its transcripts",
    "over_budget": "conversations that were larger than the budget and needed facts of their past",
}
"""The meaning of the figures of the JSON form."""
_BEST = 8  # trials that are shown without `--each`


def settings_of(candidate: Candidate, task: Task) -> dict[str, Any]:
    """Return what a file of options holds: the candidate's, and the prices unless they are the defaults."""
    prices = task.tariff.input
    more = {} if prices == CachePricing() else {"cache_pricing": asdict(prices)}
    return {**candidate.settings, **more}


def tables(tuned: Tuned, task: Task, every: bool) -> Iterator[RenderableType]:
    """Yield what was tried, the evidence for the best, and the legend."""
    if tuned.trials:
        yield _tried(tuned, task, every)
    if not tuned.complete:
        yield Text(f"The search ended after {len(tuned.trials)} trials: more may find more (--trials).", style="yellow")
    if tuned.chosen:
        yield _side_by_side(tuned, tuned.chosen, task.goal)
    yield from _legend(task)
    for reason in tuned.left_out:
        yield Text(f"left out: {line(reason)}", style="yellow")


def _tried(tuned: Tuned, task: Task, every: bool) -> Table:
    ordered = list(tuned.trials) if every else sorted(tuned.trials, key=lambda trial: _rank(trial, task.goal))[:_BEST]
    few = "" if len(ordered) == len(tuned.trials) else f", the best {len(ordered)} for {task.goal}"
    title = f"{len(tuned.trials)} candidates on the training half{few}"
    shown = Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD)
    shown.add_column("options", overflow="fold", ratio=1, min_width=16)
    for name in ("cost", "kept"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("", no_wrap=True)
    for trial in ordered:
        found = trial.evidence
        figures = [_percent(found.cost.mean), _percent(found.kept.mean)] if found else ["-", "-"]
        shown.add_row(Text(line(trial.candidate.label)), *figures, _note(trial, tuned.chosen))
    return shown


def _rank(trial: Trial, goal: str) -> tuple[bool, float]:
    return bool(trial.faults), trial.evidence.better(goal).mean if trial.evidence else 0.0


def _note(trial: Trial, chosen: Trial | None) -> Text:
    if trial == chosen:
        return Text("best", style="bold")
    if trial.faults:
        return Text("beyond margin" if trial.evidence else "not sendable", style="yellow")
    return Text("")


def _side_by_side(tuned: Tuned, chosen: Trial, goal: str) -> Table:
    """Return training and held-out figures next to each other, so that overfitting can be seen."""
    title = "the best candidate next to the defaults"
    shown = Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD)
    shown.add_column("", no_wrap=True)
    halves = chosen.evidence, tuned.judged.evidence if tuned.judged else None
    for name in ("training", "held out"):
        shown.add_column(name, justify="right", no_wrap=True)
    for label, cells in _lines(halves, goal):
        shown.add_row(label, *cells)
    return shown


def _lines(halves: Sequence[Evidence | None], goal: str) -> Iterator[tuple[str, list[str]]]:
    def each(show: Any) -> list[str]:
        return [show(half) if half else "-" for half in halves]

    yield "conversations", each(lambda half: str(half.conversations))
    yield "  over the budget", each(lambda half: str(half.over_budget))
    yield "cost, Mtok-eq", [""] * len(halves)
    yield "  defaults", each(lambda half: f"{half.default.cost:.3f}")
    yield "  candidate", each(lambda half: f"{half.candidate.cost:.3f}")
    yield "  change", each(lambda half: _percent(half.cost.mean))
    yield "  interval", each(lambda half: _interval(half.cost))
    yield "kept", [""] * len(halves)
    yield "  defaults", each(lambda half: _share(half.default.kept))
    yield "  candidate", each(lambda half: _share(half.candidate.kept))
    yield "  change", each(lambda half: _percent(half.kept.mean))
    yield "  interval", each(lambda half: _interval(half.kept))
    if goal == BALANCED:
        yield "cost less kept", [""] * len(halves)
        yield "  change", each(lambda half: _percent(half.balanced.mean))
        yield "  interval", each(lambda half: _interval(half.balanced))
    for name in SHARES:
        yield name.replace("_", " "), [""] * len(halves)
        yield "  defaults", each(lambda half, of=name: _share(getattr(half.default, of)))
        yield "  candidate", each(lambda half, of=name: _share(getattr(half.candidate, of)))


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _percent(share: float) -> str:
    return f"{100 * share:+.1f}%"


def _interval(change: Change) -> str:
    return f"{100 * change.low:+.1f} to {100 * change.high:+.1f}%"


def _legend(task: Task) -> Iterator[Text]:
    yield Text(
        f"cost: of one conversation, in millions of input tokens at prices of {line(task.tariff.name)}; "
        "kept: the mean of recall and reachable recall, as in backscroll compare; far: of facts last mentioned further "
        "back than the budget",
        style="dim",
    )
    yield Text(f"interval: {LEVEL:.0%}, by drawing conversations again and again, with seed {task.seed}", style="dim")


def verdict(tuned: Tuned, task: Task) -> str:
    """Return the conclusion in one sentence."""
    at = f"{size(task.budget)}, for {task.goal}"
    if tuned.keep_defaults:
        return f"keep the defaults ({at}): {tuned.keep_defaults}"
    assert tuned.judged is not None
    assert tuned.judged.evidence is not None
    found = tuned.judged.evidence
    return (
        f"use the best candidate ({at}): cost {_percent(found.cost.mean)} ({_interval(found.cost)}), kept "
        f"{_percent(found.kept.mean)} ({_interval(found.kept)}) on {found.conversations} conversations that did not "
        "choose it"
    )


def as_json(tuned: Tuned, task: Task) -> dict[str, Any]:
    """Return everything, for `json.dumps`."""
    chosen, judged, tariff = tuned.chosen, tuned.judged, task.tariff
    return {
        "keep_defaults": bool(tuned.keep_defaults),
        "why": verdict(tuned, task),
        "options": {} if tuned.keep_defaults or chosen is None else settings_of(chosen.candidate, task),
        "chosen": None if chosen is None else _trial(chosen),
        "held_out": None if judged is None else _trial(judged),
        "trials": [_trial(trial) for trial in tuned.trials],
        "complete": tuned.complete,
        "goal": {"name": task.goal, "meaning": GOALS[task.goal]},
        "budget": task.budget,
        "model": task.model,
        "margin": task.margin,
        "most_trials": task.trials,
        "seed": task.seed,
        "level": LEVEL,
        "grid": GRID,
        "prices": {"name": tariff.name, **asdict(tariff.input), "output": tariff.output},
        "versions": {"backscroll": __version__, "python": platform.python_version(), "tokenizer": resolve("auto").name},
        "conversations": {"training": _names(tuned.split.training), "held_out": _names(tuned.split.held_out)},
        "defaults_not_sendable": tuned.left_out,
        "units": UNITS,
    }


def _names(half: Sequence[Conversation]) -> list[list[str]]:
    return [[source.name for source in one.sources] for one in half]


def _trial(trial: Trial) -> dict[str, Any]:
    return {
        "options": trial.candidate.settings,
        "evidence": _evidence(trial.evidence) if trial.evidence else None,
        "faults": trial.faults,
    }


def _evidence(found: Evidence) -> Mapping[str, Any]:
    return {
        "conversations": found.conversations,
        "over_budget": found.over_budget,
        "defaults": {**found.default._asdict(), "kept": found.default.kept},
        "options": {**found.candidate._asdict(), "kept": found.candidate.kept},
        "changes": {name: getattr(found, name)._asdict() for name in ("cost", "kept", "balanced")},
    }
