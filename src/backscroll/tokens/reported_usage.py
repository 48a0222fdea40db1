"""Which reports of usage a lane accepts, and how it corrects them: a wrong report must not ruin a session.

Callers make two common mistakes, which show in how the figures change from one request to the next: totals of all
requests so far, and cached tokens counted twice. Both are corrected, since the right figure can be derived. A report
that cannot belong to its request is ignored. This state lives in memory only: a reopened session learns it again from
the next two reports.
"""

from copy import copy
from typing import NamedTuple

from backscroll import events
from backscroll.messages.counted import Counted
from backscroll.ports import Notification
from backscroll.tokens.usage import Report, UsageCalibrator

NOT_ABOUT_IT = "it cannot be about that view"
RUNNING = "it grows by a whole request each time, as a total of all requests does"
TWICE = "its input_tokens alone are what the request takes, and hold the cached ones already"

_LARGE = 1 / 3  # of the budget: a larger overhead gets a warning
_USUAL = 1_000  # tokens of overhead that need no warning: a provider's own prompt for tools takes up to 800
_WORSE = 1.5  # times the overhead of the last warning, from which it is repeated
_FACTOR = 1.8  # tokens per counted one; above what any family in `model_profiles` takes
_LEAST_TEXT, _TEXT = 0.5, 3.0  # tokens per estimated one: a larger growth does not come from new messages
_OUTSIDE = 0.5  # of the budget that the overhead takes at most, where a growth may be a whole request
_FRAMING = 200  # tokens by which short messages may miss that
_RIGHT = (0.9, 1.1)  # times what is expected, within which a figure may be right
_OFF = 1.1  # times what is expected, above which a report may count cached tokens twice as those before it did
_LEAST_CACHED = 1_024  # tokens of the shortest prompt that OpenAI caches
_BLOCK, _BLOCK_SHARE = 256, 0.02  # tokens by which a cached prefix is shorter than the prompt that it was: two blocks
_ALIKE = 0.25  # of a growth by which it may differ from what the previous one suggests, if totals grow
_FORGIVEN_AFTER = 10  # right reports in a row after which a mistake is reported again
_AGREE = 0.1  # of a report by which another one may differ in its overhead and still agree


class Judged(NamedTuple):
    """The decision on a report."""

    report: Report | None
    """The report as accepted. `None`: it is ignored."""
    reports: list[Notification]
    """What to report of it."""


class ReportedUsage:
    """The reports on one lane so far, as their callers gave them."""

    def __init__(self, lane: str) -> None:
        self._lane = lane
        self._last: tuple[Counted, int, int] | None = None
        """The newest report, the expected tokens of its messages, and the tokens it was accepted with."""
        self._growth = self._grew = 0
        """How much the newest report grew, and how many in a row grew by a whole request."""
        self._twice = self._holds = False
        """Whether earlier reports counted cached tokens twice, and whether the newest may have."""
        self._corrections: dict[str, int] = {}
        """Corrections made, each with the number of right reports since."""
        self._ignored: Report | None = None
        """The newest report, if it was ignored."""
        self._warned = 0
        """Tokens of overhead in the last warning."""

    def judge(
        self, counted: Counted, report: Report, calibrator: UsageCalibrator, budget: int, *, read: bool = False
    ) -> Judged:
        """Decide on a report about a view.

        Args:
            counted: The provider's figures.
            report: The report; its `tokens` are the sum of the prompt's parts in `counted`.
            calibrator: The lane's calibrator before this report.
            budget: Input tokens of the request.
            read: The figures were read from a response, so it is known which of them include cached tokens.
        """
        grew = self._grows(counted, report, calibrator, budget)
        twice = not read and self._counts_twice(counted, report, calibrator, budget)
        why, taken = "", report
        if grew and self._last is not None:
            why, taken = RUNNING, report._replace(tokens=counted.prompt - self._last[0].prompt)
        elif twice:
            why, taken = TWICE, report._replace(tokens=counted.fresh)
        self._last = counted, report.expected, taken.tokens
        if not self._is_taken(taken, calibrator, budget, corrected=bool(why)):
            return Judged(None, [ignored(self._lane, tuple(counted), why or NOT_ABOUT_IT)])
        notifications = self._overhead(taken, calibrator, budget)
        corrections = self._corrections.items()
        self._corrections = {reason: right + 1 for reason, right in corrections if right < _FORGIVEN_AFTER}
        if why and why not in self._corrections:
            correction = {"lane": self._lane, "reported": report.tokens, "taken": taken.tokens, "reason": why}
            notifications.insert(0, (events.USAGE_CORRECTED, correction))
        if why:
            self._corrections[why] = 0
        return Judged(taken, notifications)

    def _grows(self, counted: Counted, report: Report, calibrator: UsageCalibrator, budget: int) -> bool:
        """Return whether this is a total of all requests: it grew by about a whole request, and then by as much again
        plus the change of the view. A single growth may come from added tools.
        """
        if self._last is None:
            return False
        (last, earlier, _), before = self._last, self._growth
        self._growth = growth = counted.prompt - last.prompt
        text = report.expected - earlier
        least, most = _LEAST_TEXT * report.expected, _TEXT * report.expected + _OUTSIDE * budget
        if growth <= _TEXT * max(0, text) or not least <= growth <= most:
            self._grew = 0
        elif self._grew > 1 or (self._grew and abs(growth - before - text * calibrator.factor) <= _ALIKE * growth):
            self._grew += 1
        else:
            self._grew = 1
        return self._grew > 1

    def _counts_twice(self, counted: Counted, report: Report, calibrator: UsageCalibrator, budget: int) -> bool:
        """Return whether `fresh` includes cached tokens already, as OpenAI's and Gemini's figures do.

        In that case the cached tokens equal the `fresh` ones of the previous request, or with the written ones all of
        this one's. In addition, either `fresh` is what the messages explain and the sum is not, or this happened twice
        in a row and grew. For a caller who did so once, the figure nearer to the expectation decides.
        """
        before, self._holds = self._holds, self._may_hold(counted)
        expected = calibrator.expected(report.expected, budget)
        off = report.tokens > _OFF * expected
        if self._last is not None and self._holds:
            last, earlier, taken = self._last
            text = report.expected - earlier
            fresh, whole = (_is_text(tokens - taken, text) for tokens in (counted.fresh, report.tokens))
            again = before and counted.cached > last.cached and counted.fresh > last.fresh
            right = off and _within(counted.fresh, expected, _RIGHT)
            self._twice = self._twice or again or ((fresh or right) and not whole)
            if self._twice:
                return True
        nearer = _ratio(counted.fresh, expected) < _ratio(report.tokens, expected)
        return self._twice and counted.cached <= counted.fresh and nearer and off

    def _may_hold(self, counted: Counted) -> bool:
        """Return whether the cached tokens of a report may be among its fresh ones."""
        if not _LEAST_CACHED <= counted.cached <= counted.fresh:
            return False
        if counted.written:
            return _shortly_below(counted.cached, counted.fresh)
        if self._last is None:
            return False
        last, *_ = self._last
        return counted.read <= last.fresh + last.answer and _shortly_below(min(counted.read, last.fresh), last.fresh)

    def _is_taken(self, report: Report, calibrator: UsageCalibrator, budget: int, *, corrected: bool) -> bool:
        """Return whether a report belongs to its request. One that contradicts the learned overhead is ignored once: if
        the next report agrees with it, the learned overhead was wrong.
        """
        before, self._ignored = self._ignored, None
        if calibrator.plausible(report, budget):
            return True
        self._ignored = report
        agrees = (
            before is not None and abs(_left(report, calibrator) - _left(before, calibrator)) <= _AGREE * report.tokens
        )
        return (agrees or corrected) and calibrator.possible(report, budget)

    def _overhead(self, report: Report, calibrator: UsageCalibrator, budget: int) -> list[Notification]:
        """Warn if the messages do not explain a large part of the budget."""
        if calibrator.given:
            return []
        after = copy(calibrator)
        after.observe(report)
        tokens = after.overhead(budget)
        if after.factor > _FACTOR:
            tokens = max(tokens, report.tokens - report.expected)
        if tokens <= max(_USUAL, _LARGE * budget, _WORSE * self._warned):
            return []
        self._warned = tokens
        return [(events.OVERHEAD_LARGE, {"lane": self._lane, "tokens": tokens, "budget": budget})]


def ignored(lane: str, reported: object, reason: str) -> Notification:
    """Return the event that a report is ignored; `reported` is a description or its figures."""
    return events.USAGE_REJECTED, {"lane": lane, "reported": str(reported), "reason": reason}


def _within(tokens: int, expected: float, bounds: tuple[float, float]) -> bool:
    return bounds[0] * expected <= tokens <= bounds[1] * expected


def _is_text(growth: int, estimated: int) -> bool:
    """Return whether messages of this estimate may explain the growth of a prompt."""
    return estimated >= 0 and _LEAST_TEXT * estimated - _FRAMING <= growth <= _TEXT * estimated + _FRAMING


def _shortly_below(cached: int, prompt: int) -> bool:
    return prompt - _BLOCK - _BLOCK_SHARE * prompt <= cached <= prompt


def _ratio(tokens: int, expected: float) -> float:
    return max(tokens, expected) / max(1, min(tokens, expected))


def _left(report: Report, calibrator: UsageCalibrator) -> float:
    """Return the tokens that a report leaves for the overhead."""
    return report.tokens - report.expected * calibrator.factor
