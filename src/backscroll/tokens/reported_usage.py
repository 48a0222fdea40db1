"""Which reports of usage a lane takes, and as what: callers pass wrong figures, and one must not ruin a session. Pure.

Two mistakes are common, and known by how the figures move from one request to the next: totals of all requests so far,
and figures that count cached tokens twice. Both are corrected, since the right figure is in the wrong one. What cannot
be about its request is ignored. What is remembered here is of this process only: a session that is opened again learns
it again, from the next two reports.
"""

from copy import copy
from typing import NamedTuple

from backscroll import events
from backscroll.ports import Notification
from backscroll.tokens.responses import Counted
from backscroll.tokens.usage import Report, UsageCalibrator

NOT_ABOUT_IT = "it cannot be about that view"
RUNNING = "it grows by a whole request each time, as a total of all requests does"
TWICE = "its input_tokens alone are what the request takes, and hold the cached ones already"

_LARGE = 1 / 3  # of the budget: an overhead above it is worth a look
_USUAL = 1_000  # tokens of overhead that are nothing to warn of: a provider's own prompt for tools takes up to 800
_WORSE = 1.5  # times what was warned of before, until it is said again
_SLOPE = 1.8  # tokens for each counted one; above what any model family in `families` takes
_LEAST_TEXT, _TEXT = 0.5, 3.0  # tokens for each estimated one: a larger growth is not by new messages
_OUTSIDE = 0.5  # of the budget that stands outside of messages at most, where a growth may be a whole request
_FRAMING = 200  # tokens by which short messages may miss that
_RIGHT = (0.9, 1.1)  # times what is expected, within which a figure may be right
_OFF = 1.1  # times what is expected, above which a report may count cached tokens twice as those before it did
_LEAST_CACHED = 1_024  # tokens of a prompt that OpenAI caches at all
_BLOCK, _BLOCK_SHARE = 256, 0.02  # tokens by which a cached prefix is shorter than the prompt that it was: two blocks
_ALIKE = 0.25  # of a growth by which it may differ from what the one before lets expect, where totals grow
_MENDED = 10  # right reports in a row after which a mistake is said again
_AGREE = 0.1  # of a report by which another one may differ in its overhead and still say the same


class Judged(NamedTuple):
    """What becomes of a report."""

    report: Report | None
    """As it is taken; None where it is ignored."""
    reports: list[Notification]
    """What is to be said of it."""


class ReportedUsage:
    """The reports on one lane so far, as their callers gave them."""

    def __init__(self, lane: str) -> None:
        self._lane = lane
        self._last: tuple[Counted, int, int] | None = None
        """The newest report, the middle estimate of its messages, and the tokens that it was taken for."""
        self._growth = self._grew = 0
        """By what the newest report grew, and how many in a row grew by a whole request."""
        self._twice = self._holds = False
        """Whether cached tokens were counted twice before, and whether the newest report looked like it."""
        self._said: dict[str, int] = {}
        """What reports were corrected for, and how many came since that were right."""
        self._ignored: Report | None = None
        """The newest report, where it was ignored."""
        self._warned = 0
        """The tokens that a warning told of."""

    def judge(
        self, counted: Counted, report: Report, meter: UsageCalibrator, budget: int, *, read: bool = False
    ) -> Judged:
        """What becomes of a report on a view; `meter` is the lane's as it was before.

        `report.tokens` is the sum of the prompt's parts in `counted`. `read`: these were read from a response, so that
        which of them include cached tokens is known.
        """
        grew = self._grows(counted, report, meter, budget)
        twice = not read and self._counts_twice(counted, report, meter, budget)
        why, taken = "", report
        if grew and self._last is not None:
            why, taken = RUNNING, report._replace(tokens=counted.prompt - self._last[0].prompt)
        elif twice:
            why, taken = TWICE, report._replace(tokens=counted.fresh)
        self._last = counted, report.middle, taken.tokens
        if not self._is_taken(taken, meter, budget, corrected=bool(why)):
            return Judged(None, [ignored(self._lane, tuple(counted), why or NOT_ABOUT_IT)])
        said = self._overhead(taken, meter, budget)
        self._said = {told: right + 1 for told, right in self._said.items() if right < _MENDED}
        if why and why not in self._said:
            told = {"lane": self._lane, "reported": report.tokens, "taken": taken.tokens, "reason": why}
            said.insert(0, (events.USAGE_CORRECTED, told))
        if why:
            self._said[why] = 0
        return Judged(taken, said)

    def _grows(self, counted: Counted, report: Report, meter: UsageCalibrator, budget: int) -> bool:
        """Whether this is a total of all requests: from one report to the next it grew by what may be a whole request,
        and then by as much again, with the change of the view. Once, tools may have been added.
        """
        if self._last is None:
            return False
        (last, middle, _), before = self._last, self._growth
        self._growth = growth = counted.prompt - last.prompt
        text = report.middle - middle
        least, most = _LEAST_TEXT * report.middle, _TEXT * report.middle + _OUTSIDE * budget
        if growth <= _TEXT * max(0, text) or not least <= growth <= most:
            self._grew = 0
        elif self._grew > 1 or (self._grew and abs(growth - before - text * meter.slope) <= _ALIKE * growth):
            self._grew += 1
        else:
            self._grew = 1
        return self._grew > 1

    def _counts_twice(self, counted: Counted, report: Report, meter: UsageCalibrator, budget: int) -> bool:
        """Whether cached tokens are in `fresh` already, as OpenAI's and Gemini's figures hold them.

        Then what was cached is what `fresh` said of the request before, or with what was written all that it says of
        this one; and either `fresh` is what the messages explain, where the sum is not, or this came twice in a row and
        grew. A caller who did so once is known by the figure that is nearer to what the request should take.
        """
        before, self._holds = self._holds, self._may_hold(counted)
        expected = meter.expected(report.middle, budget)
        off = report.tokens > _OFF * expected
        if self._last is not None and self._holds:
            last, middle, taken = self._last
            text = report.middle - middle
            fresh, whole = (_is_text(tokens - taken, text) for tokens in (counted.fresh, report.tokens))
            again = before and counted.cached > last.cached and counted.fresh > last.fresh
            right = off and _within(counted.fresh, expected, _RIGHT)
            self._twice = self._twice or again or ((fresh or right) and not whole)
            if self._twice:
                return True
        nearer = _ratio(counted.fresh, expected) < _ratio(report.tokens, expected)
        return self._twice and counted.cached <= counted.fresh and nearer and off

    def _may_hold(self, counted: Counted) -> bool:
        """Whether the cached tokens of a report may be among the fresh ones of the same."""
        if not _LEAST_CACHED <= counted.cached <= counted.fresh:
            return False
        if counted.written:
            return _shortly_below(counted.cached, counted.fresh)
        if self._last is None:
            return False
        last, *_ = self._last
        return counted.read <= last.fresh + last.answer and _shortly_below(min(counted.read, last.fresh), last.fresh)

    def _is_taken(self, report: Report, meter: UsageCalibrator, budget: int, *, corrected: bool) -> bool:
        """Whether a report is about its request. One that contradicts what was learned of the overhead is ignored
        once: where the next one says the same, it is what was learned that was wrong.
        """
        before, self._ignored = self._ignored, None
        if meter.plausible(report, budget):
            return True
        self._ignored = report
        agrees = before is not None and abs(_left(report, meter) - _left(before, meter)) <= _AGREE * report.tokens
        return (agrees or corrected) and meter.possible(report, budget)

    def _overhead(self, report: Report, meter: UsageCalibrator, budget: int) -> list[Notification]:
        """The warning that much of the budget is taken by what the messages do not explain."""
        if meter.given:
            return []
        after = copy(meter)
        after.observe(report)
        tokens = after.overhead(budget)
        if after.slope > _SLOPE:
            tokens = max(tokens, report.tokens - report.middle)
        if tokens <= max(_USUAL, _LARGE * budget, _WORSE * self._warned):
            return []
        self._warned = tokens
        return [(events.OVERHEAD_LARGE, {"lane": self._lane, "tokens": tokens, "budget": budget})]


def ignored(lane: str, reported: object, reason: str) -> Notification:
    """The event that a report is ignored; `reported` in words, or the figures of it."""
    return events.USAGE_REJECTED, {"lane": lane, "reported": str(reported), "reason": reason}


def _within(tokens: int, expected: float, bounds: tuple[float, float]) -> bool:
    return bounds[0] * expected <= tokens <= bounds[1] * expected


def _is_text(growth: int, estimated: int) -> bool:
    """Whether a prompt may have grown so by messages that are estimated at that."""
    return estimated >= 0 and _LEAST_TEXT * estimated - _FRAMING <= growth <= _TEXT * estimated + _FRAMING


def _shortly_below(cached: int, prompt: int) -> bool:
    return prompt - _BLOCK - _BLOCK_SHARE * prompt <= cached <= prompt


def _ratio(tokens: int, expected: float) -> float:
    return max(tokens, expected) / max(1, min(tokens, expected))


def _left(report: Report, meter: UsageCalibrator) -> float:
    """What a report leaves to the overhead."""
    return report.tokens - report.middle * meter.slope
