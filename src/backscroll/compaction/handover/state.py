"""Write the state: what is asked, open, changed, broken and running, from the ledger and the rules of the user."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from backscroll.compaction.digest.user_rules import STANDING, rules_in, same_rule, strength
from backscroll.compaction.handover.changes import change_lines
from backscroll.compaction.handover.checks import open_checks
from backscroll.compaction.handover.paths import leaf, relative
from backscroll.compaction.handover.plan_steps import undone
from backscroll.compaction.handover.repository import is_scratch
from backscroll.compaction.handover.standing import ends_with_request
from backscroll.history.ledger import Fact, FactKind, Ledger
from backscroll.history.plan import DigestLine
from backscroll.messages.prose import cut, first_line, user_words

_LATELY = 60  # messages: an older failure is past, unless the current request is older
_ASKS = re.compile(
    r"[?\uff1f]\s*$|^\W*(?:(?:should|could|would|can|does|did|is|are|was|were)(?:n['\u2019]?t)?\s|"
    r"do(?:n['\u2019]?t)? (?:i|we|you|they)\b|(?:why|what|how|which|who)\b)",
    re.IGNORECASE,
)
"""A question, which is no rule, also without its sign: a reader took one for an order."""
_REPEATED = 300  # characters of a request that the view shows as a message: fragments of a longer one misled readers
_BEGINNING = 160  # characters of it that are repeated
_DONE = frozenset(("completed", "done", "cancelled", "deleted"))
_OPEN = frozenset(("in_progress", "in progress", "active"))


class _Sizes(NamedTuple):
    """How much the state says."""

    words: int
    """Characters of the request and of a question."""
    tasks: int
    files: int
    checks: int
    others: int
    """Failures, runs, steps of a plan, refuted causes, each."""
    rules: int
    outcome: int
    """Characters of an outcome."""


_SIZES = (_Sizes(700, 14, 24, 8, 5, 10, 240), _Sizes(500, 8, 14, 5, 3, 6, 160), _Sizes(300, 4, 8, 3, 2, 3, 100),
          _Sizes(200, 2, 4, 1, 1, 1, 80))  # fmt: skip  # one table
"""From the most to the least. The first takes about 1,500 tokens, which readers of 16,000 tokens read whole."""


def state_lines(
    ledger: Ledger, notes: Sequence[DigestLine], room: int, shown: Collection[int] = ()
) -> list[DigestLine]:
    """Return the state.

    Args:
        ledger: The facts about all that happened, also about messages that the view shows.
        notes: The lines of the chronicle, for the user's rules.
        room: Characters that it may take, about.
        shown: Messages that the view shows as they are: a long request among them is not repeated.

    Returns:
        Its lines, without the last ones if even the shortest do not fit.
    """
    lines: list[DigestLine] = []
    for sizes in _SIZES:
        lines = list(_State(ledger, notes, sizes, shown).lines())
        if _length(lines) <= room:
            return lines
    while lines and _length(lines) > room:
        lines.pop()
    return lines


def _length(lines: Sequence[DigestLine]) -> int:
    return sum(len(line.text) + 16 for line in lines)  # with a mark and a reference


class _State:
    """The lines of a state."""

    def __init__(self, ledger: Ledger, notes: Sequence[DigestLine], sizes: _Sizes, shown: Collection[int]) -> None:
        self._root, self._last, self._notes, self._sizes = ledger.root, ledger.last, notes, sizes
        self._shown = shown
        self._every = ledger.facts
        self._facts: Mapping[FactKind, list[Fact]] = {}
        for fact in ledger.facts:
            self._facts = {**self._facts, fact.kind: [*self._facts.get(fact.kind, []), fact]}
        self._touched = [fact for fact in self._of("file") if fact.times and not is_scratch(fact.key)]
        """Files that were changed, also those whose changes were taken back: checks ran before that."""

    def _of(self, kind: FactKind) -> list[Fact]:
        return self._facts.get(kind, [])

    def _newest(self, kind: FactKind) -> Fact | None:
        return next(reversed(self._of(kind)), None)

    def lines(self) -> Iterator[DigestLine]:
        """Yield them, the most needed first."""
        yield from self._request()
        yield from self._question()
        yield from self._tasks()
        yield from self._plan()
        yield from change_lines(self._every, self._root, self._sizes.files)
        yield from self._checks()
        yield from self._failures()
        yield from self._background()
        yield from self._rules()
        yield from self._refuted()
        if self._root:
            yield DigestLine(self._last, self._last, "state", f"Paths are relative to {self._root}")

    def _request(self) -> Iterator[DigestLine]:
        request, report = self._newest("request"), self._newest("report")
        if request is None:
            return
        answered = report is not None and report.seq > request.seq
        label = "Newest request, on which the agent has reported" if answered else "Current request"
        words = user_words(request.text, self._sizes.words)
        if request.seq in self._shown and len(words) > _REPEATED:
            pasted, named, _ = words.partition("”: ")
            beginning = f"{pasted}”" if named and words.startswith("(pasted)") else cut(first_line(words), _BEGINNING)
            words = f"{beginning} (all of it is in message {request.seq}, which is shown)"
        answers = f"\nin answer to: {cut(request.outcome, self._sizes.words)}" if request.outcome else ""
        yield _line(request, f"{label}: {words}{answers}")

    def _question(self) -> Iterator[DigestLine]:
        question = self._newest("question")
        if question is not None:
            yield _line(question, f"The agent asked the user, without an answer so far: {question.text}")

    def _tasks(self) -> Iterator[DigestLine]:
        tasks, request = self._of("task"), self._newest("request")
        left = [task for task in tasks if task.outcome.lower() not in _DONE]
        newest = max([task.seq for task in tasks], default=-1)
        before = request is not None and newest < request.seq
        if not tasks or (before and not left):
            return
        named = [f"{'in work' if task.outcome.lower() in _OPEN else 'open'}: {task.text}" for task in left]
        more = _more(named, self._sizes.tasks)
        when = ", from before the current request" if before else ""
        shown = "; ".join([*named[: self._sizes.tasks], *more]) or "nothing is open"
        first = min(task.seq for task in tasks)
        done = f"{len(tasks) - len(left)} of {len(tasks)} done"
        yield DigestLine(first, newest, "state", f"To-do list{when}: {done}; {shown}")

    def _plan(self) -> Iterator[DigestLine]:
        plan = self._newest("plan")
        if plan is None:
            return
        built = [fact for fact in self._of("file") if fact.times and fact.outcome not in ("restored", "stashed")]
        steps = undone(plan.text, built, begun=bool(plan.outcome))
        if steps:
            named = "; ".join([cut(step, 140) for step in steps[: self._sizes.others]])
            more = _more(steps, self._sizes.others)
            what = "Points of the request" if plan.outcome else "Steps of the plan"
            yield _line(plan, f"{what} without a change of the files they name: {'; '.join([named, *more])}")

    def _checks(self) -> Iterator[DigestLine]:
        commit = self._newest("commit")
        found = open_checks(self._of("check"), self._touched, commit.seq if commit else -1)
        for check, passed_by in found[-self._sizes.checks :]:
            edited = [leaf(fact.key, self._root) for fact in self._touched if fact.seq > check.seq]
            since = f"; edited since: {', '.join([*edited[-4:], *_more(edited, 4)])}" if edited else ""
            later = f"; later `{cut(relative(passed_by, self._root), 80)}` passed" if passed_by else ""
            outcome = cut(relative(check.outcome, self._root), self._sizes.outcome)
            failed = "FAILED: " if check.failed else ""
            yield _line(check, f"Check `{relative(check.text, self._root)}` -> {failed}{outcome}{later}{since}")

    def _failures(self) -> Iterator[DigestLine]:
        request = self._newest("request")
        since = min(self._last - _LATELY, self._last if request is None else request.seq)
        recent = [fact for fact in self._of("failure") if fact.seq >= since]
        for failure in recent[-self._sizes.others :]:
            what = relative(failure.key if failure.key.startswith("edit ") else failure.text, self._root)
            outcome = cut(relative(failure.outcome, self._root), self._sizes.outcome)
            yield _line(failure, f"Failed, and not done again since: {what}{f' -> {outcome}' if outcome else ''}")

    def _background(self) -> Iterator[DigestLine]:
        for run in self._of("background")[-self._sizes.others :]:
            known = f" ({run.outcome})" if run.outcome else ""
            yield _line(run, f"Started in the background, no end seen: `{relative(run.text, self._root)}`{known}")

    def _rules(self) -> Iterator[DigestLine]:
        rules: dict[str, tuple[DigestLine, str]] = {}
        request = self._newest("request")
        asked = -1 if request is None else request.seq
        for note in self._notes:
            found = (note.text,) if note.kind == "rule" else rules_in(note.text) if note.kind == "user" else ()
            for rule in found:
                over = note.first < asked and ends_with_request(rule)
                fits = len(rule) <= self._sizes.outcome
                if strength(rule) >= STANDING and fits and not over and not _ASKS.search(rule):
                    rules[same_rule(rule)] = note, rule
        for note, rule in list(rules.values())[-self._sizes.rules :]:
            yield DigestLine(note.first, note.first, "state", f"The user's rule: {rule}")

    def _refuted(self) -> Iterator[DigestLine]:
        for fact in self._of("refuted")[-self._sizes.others :]:
            yield _line(fact, f"Refuted: {fact.key}")


def _line(fact: Fact, text: str) -> DigestLine:
    return DigestLine(fact.seq, fact.seq, "state", text)


def _more(items: Sequence[object], shown: int) -> list[str]:
    return [f"and {len(items) - shown} more"] if len(items) > shown else []
