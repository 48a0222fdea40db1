"""Token accounting: counts, estimates made from them, and what providers measured.

Counts of texts are raw counts of the session's tokenizer. They are stored with the message and never change. Everything
else is computed from them when it is read: the family's factor, the framing of messages and calls, media. The
*expected* tokens are shown; decisions use the *upper* bound. Once a provider has reported its count of a view that was
sent, that report is the anchor, and only later changes are estimated.
"""

from bisect import bisect_left
from copy import copy
from dataclasses import dataclass
from math import ceil
from typing import Literal, NamedTuple

from backscroll.messages.parsed_message import ParsedMessage
from backscroll.tokens.counts import Count, Counts, MediaCount
from backscroll.tokens.model_profiles import ModelProfile

MESSAGE_TOKENS = 4  # role and delimiters of one message in the chat formats
CALL_TOKENS = 8  # id, type and delimiters of one tool call, without its name and arguments
MARGIN_EXACT = 1.02  # the family's own vocabulary, unknown framing
MARGIN_FACTOR = 1.30  # another vocabulary: the 99th percentile of Latin texts
MARGIN_DENSE = 1.60  # the same for texts of other scripts or many digits
_DENSE_WIDE, _DENSE_DIGITS = 0.20, 0.10  # share of non-ASCII bytes / of digits from which a text counts as dense
_MEDIA_BYTES = {"audio": 500, "video": 250, "document": 4}  # bytes per token, if no better rule is known


class Estimate(NamedTuple):
    """Expected tokens, which are shown, and the upper bound on which decisions are made."""

    expected: int
    upper: int

    def plus(self, other: "Estimate") -> "Estimate":
        """Return the sum of both."""
        return Estimate(self.expected + other.expected, self.upper + other.upper)


NOTHING = Estimate(0, 0)


def estimate_count(count: Count | MediaCount, family: ModelProfile) -> tuple[float, float]:
    """Return the expected tokens and the upper bound of one part, without framing."""
    if type(count) is MediaCount:
        media = float(_media_tokens(count, family))
        return media, media * (MARGIN_EXACT if family.exact else MARGIN_FACTOR)
    assert type(count) is Count
    if family.exact:
        return count.tokens, count.tokens * MARGIN_EXACT
    expected = family.factor * count.tokens + family.per_digit * count.digits
    dense = count.wide > _DENSE_WIDE * count.size or count.digits > _DENSE_DIGITS * count.size
    return expected, expected * (MARGIN_DENSE if dense else MARGIN_FACTOR)


def estimate_message(reading: ParsedMessage, counts: Counts, family: ModelProfile) -> Estimate:
    """Estimate a whole message: its parts, its calls and its framing."""
    calls = CALL_TOKENS * len(reading.calls)
    if family.exact:  # the common case, kept free of calls
        total = 0
        for count in counts:
            total += count.tokens if type(count) is Count else _media_tokens(count, family)  # type: ignore[arg-type]  # `type() is`: faster, not narrowed
        return Estimate(total + MESSAGE_TOKENS + calls, ceil(total * MARGIN_EXACT) + MESSAGE_TOKENS + calls)
    expected = upper = float(MESSAGE_TOKENS + calls)
    for count in counts:
        part_expected, part_upper = estimate_count(count, family)
        expected += part_expected
        upper += part_upper
    return Estimate(ceil(expected), ceil(upper))


def _media_tokens(media: MediaCount, family: ModelProfile) -> int:
    if media.kind == "image":
        known = media.width > 0 and media.height > 0
        return family.image(media.width, media.height) if known else family.image_cap
    if media.pages:
        return media.pages * family.pdf_page
    by_size = media.size // _MEDIA_BYTES.get(media.kind, 4)
    return max(family.image_cap, by_size)


class Report(NamedTuple):
    """A provider's count of one request, with our estimate of the same view when it was sent."""

    tokens: int
    """The whole prompt with its cached part, without the answer, which counts once it is added as a message."""
    expected: int
    upper: int
    """Our own estimates of the messages in that view."""
    answer: int = 0
    """Tokens of the answer, for sums of spending."""


PRIOR_TOKENS = 2_000  # weight of the family's factor against learned factors; ten messages alone are a worse guide
_FEW_TOKENS = 500  # of growth, which say too little of a factor
_FACTOR_RANGE = (0.5, 3.0)
_FRAMING = 200  # tokens by which short messages may miss that range: what providers put around each
_REMOVED = 1.1  # removed text is credited a little less than it was estimated at
_RECENT = 5  # reports whose median is the overhead: two wrong ones in a row do not move it, three right ones correct it
_OVERHEAD_SHARE = 0.9  # a learned overhead leaves a little of the budget, so that it can be learned again
_UNSTEADY_SHARE = 0.5  # the same if recent reports contradict each other
_STEADY = 0.25  # of the budget by which the overheads of recent reports may differ and still agree
_UNKNOWN_SHARE = 0.5  # of the budget that a report may exceed the messages by: tools and system prompt


class CalibratorSnapshot(NamedTuple):
    """The state of a calibrator."""

    learned: int
    seen: float
    expected: float
    anchor: Report | None
    before: Report | None
    whole: int
    left: int
    informed: bool
    recent: tuple[tuple[int, int], ...] = ()
    """The newest reports: tokens of each, and the expected tokens of its messages. Empty in old records."""
    jumped: bool = False


class UsageCalibrator:
    """Learn how a lane's estimates differ from its provider's counts, and correct the next estimates."""

    def __init__(self, overhead: int | None = None) -> None:
        self._given = overhead
        self._learned = self._newest = self._spread = 0
        """Overhead by the median of recent reports and by the newest alone, and the spread of recent reports."""
        self._recent: tuple[tuple[int, int], ...] = ()
        self._seen = self._expected = 0.0
        self._jumped = False
        """Whether no text explains the newest growth."""
        self._anchor: Report | None = None
        self._before: Report | None = None
        self._whole = self._left = 0
        self.outside = 0
        """Overhead that the caller expects without the tools, used until something is known."""
        self.tools: int = 0
        """Expected tokens of the request's tools, which are part of the overhead."""
        self.added: int = 0
        """Of these, tokens that by a table the provider adds. No report is rejected because of them."""
        self.informed: bool = overhead is not None
        """Whether anything is known of the tokens outside the messages: given, or from a report."""

    def snapshot(self) -> CalibratorSnapshot:
        """Return the state, for `restore`."""
        return CalibratorSnapshot(
            learned=self._learned,
            seen=self._seen,
            expected=self._expected,
            anchor=self._anchor,
            before=self._before,
            whole=self._whole,
            left=self._left,
            informed=self.informed,
            recent=self._recent,
            jumped=self._jumped,
        )

    def restore(self, saved: CalibratorSnapshot) -> None:
        """Continue from a stored state."""
        self._learned = self._newest = saved.learned
        self._seen, self._expected, self._anchor, self._before = saved.seen, saved.expected, saved.anchor, saved.before
        self._whole, self._left, self._recent, self._jumped = saved.whole, saved.left, saved.recent, saved.jumped
        self.informed = saved.informed or self._given is not None
        self._learn()

    @property
    def given(self) -> bool:
        """True if the overhead was given and is not learned."""
        return self._given is not None

    @property
    def measured(self) -> bool:
        """True if the present figure rests on a provider's report for most of the view."""
        return self._anchor is not None

    @property
    def factor(self) -> float:
        """Measured tokens per estimated one; 1.0 until something was learned."""
        return _bounded((PRIOR_TOKENS + self._seen) / (PRIOR_TOKENS + self._expected))

    def overhead(self, budget: int) -> int:
        """Return the tokens of the request outside the messages (tool definitions, system prompt).

        It is the given overhead, or the median of what recent reports leave for it. A learned one is limited to a share
        of the budget, which is smaller if recent reports contradict each other.
        """
        if self._given is not None:
            return max(self._given, self.tools)
        share = _OVERHEAD_SHARE if self._spread <= budget * _STEADY else _UNSTEADY_SHARE
        return min(self._learned if self.informed else self.outside + self.tools, int(budget * share))

    def overhead_by_growth(self, budget: int) -> int:
        """Return the overhead as figures show it: by how the counts grew with the views, and nothing else.

        The factor on which decisions rest begins at 1 and follows slowly. What it does not explain yet of a provider's
        other vocabulary is part of `overhead`, which is cautious there and wrong in a forecast.
        """
        overhead = self.overhead(budget)
        if self._given is not None or not self._recent or self._expected < _FEW_TOKENS:
            return overhead
        return min(_middle(self._left_outside(_bounded(self._seen / self._expected))), overhead)

    def _overhead_upper_bound(self, budget: int, expected: int) -> int:
        """Return the upper bound of the overhead: the newest report may be the first one with more tools."""
        return expected if self._given is not None else max(expected, min(self._newest, int(budget * _OVERHEAD_SHARE)))

    def expected(self, messages: int, budget: int) -> float:
        """Return the tokens expected of a request whose messages are estimated at `messages`, by all recent reports and
        not by the anchor.
        """
        return self.overhead(budget) + messages * self.factor

    def request(self, view: Estimate, budget: int) -> tuple[int, Estimate]:
        """Return the overhead and the estimate of the whole request."""
        overhead = self.overhead(budget)
        return overhead, self._total(view, budget, overhead)

    def total(self, view: Estimate, budget: int) -> Estimate:
        """Estimate the whole request: overhead and messages."""
        return self._total(view, budget, self.overhead(budget))

    def filled_by(self, view: Estimate | None, share: float, budget: int) -> int:
        """Return the largest budget, at most `budget`, that a request with this share of a view fills. The smaller a
        budget, the less of it may be overhead, so that a view that was refused may seem to fit into less than it took.
        """
        if view is None:
            return budget
        part = Estimate(int(view.expected * share), int(view.upper * share))
        return bisect_left(range(1, budget + 1), True, key=lambda most: self.total(part, most).upper < most)

    def _total(self, view: Estimate, budget: int, overhead: int) -> Estimate:
        anchor, factor = self._anchor, self.factor
        if anchor is None:
            expected = overhead + ceil(view.expected * factor)
            most = self._overhead_upper_bound(budget, overhead) + ceil(view.upper * factor)
            return Estimate(expected, max(expected, most))
        expected = anchor.tokens + ceil((view.expected - anchor.expected) * factor)
        return Estimate(expected, max(expected, anchor.tokens + ceil((view.upper - anchor.upper) * factor)))

    def plausible(self, report: Report, budget: int) -> bool:
        """Return whether a report can belong to its view; one absurd report must not spoil the estimates."""
        expected = self.expected(report.expected, budget)
        known = self._given is not None or self._learned > 0
        room = 0.0 if known else budget * _UNKNOWN_SHARE  # nothing is known yet of tools and system prompt
        return report.tokens > 0 and 0.5 * (expected - self.added) <= report.tokens <= 3 * expected + room

    def possible(self, report: Report, budget: int) -> bool:
        """Return whether a report can belong to its view at all, regardless of the learned overhead."""
        messages = report.expected * self.factor
        return report.tokens > 0 and 0.5 * messages <= report.tokens <= 3 * messages + budget * _UNKNOWN_SHARE

    def observe(self, report: Report) -> None:
        """Learn from a plausible report, which becomes the new anchor."""
        before, self.informed = self._before, True
        if before is not None and report.expected > before.expected:
            self._learn_factor(report.tokens - before.tokens, report.expected - before.expected)
        self._anchor, self._before = report, report
        self._whole = self._left = report.expected
        self._recent = (*self._recent, (report.tokens, report.expected))[-_RECENT:]
        self._learn()

    def _learn_factor(self, measured: int, estimated: int) -> None:
        """Learn the factor from two reports and the growth of their views. A growth that no text explains belongs to
        the overhead and is ignored here, unless it repeats.
        """
        least, most = (estimated * bound for bound in _FACTOR_RANGE)
        jumped = not least - _FRAMING <= measured <= most + _FRAMING
        if not jumped or self._jumped:
            self._seen += min(max(0, measured), 2 * most + _FRAMING)
            self._expected += estimated
        self._jumped = jumped

    def _learn(self) -> None:
        """Compute the overhead in recent reports with the present factor."""
        if self._recent:
            left = self._left_outside(self.factor)
            self._newest, self._learned, self._spread = left[-1], _middle(left), max(left) - min(left)

    def _left_outside(self, factor: float) -> list[int]:
        """Return what each recent report leaves for the overhead with this factor."""
        return [max(0, tokens - ceil(messages * factor)) for tokens, messages in self._recent]

    def tools_changed(self, tokens: int, added: int = 0) -> None:
        """Note the expected tokens of the tools from now on: recent reports count as if made with these.

        Args:
            tokens: Those of all, with what the provider adds.
            added: What it adds, by a table.
        """
        more, self.tools, self.added = tokens - self.tools, tokens, added
        self._recent = tuple([(max(0, measured + more), messages) for measured, messages in self._recent])
        self.forget()
        self._learn()

    def forget(self) -> None:
        """Drop the anchor, whose messages are gone; learned factor and overhead stay."""
        self._anchor = self._before = None

    def after(self, view: Estimate, removed: Estimate, budget: int) -> Estimate:
        """Return what `total` will estimate for `view` once `compacted` was called."""
        trial = copy(self)
        trial.compacted(removed)
        return trial.total(view, budget)

    def compacted(self, removed: Estimate) -> None:
        """Credit what was removed from the view. Drop the anchor once half of its view is gone."""
        self._before = None
        anchor = self._anchor
        if anchor is None:
            return
        self._left -= removed.expected
        share = min(self.factor, anchor.tokens / max(1, anchor.expected))  # never more than its part of the measured
        tokens = anchor.tokens - int(removed.expected * share / _REMOVED)
        if 2 * self._left < self._whole or tokens <= 0:
            self._anchor = None
            return
        self._anchor = Report(tokens, anchor.expected - removed.expected, anchor.upper - removed.upper)


def _bounded(factor: float) -> float:
    return min(max(factor, _FACTOR_RANGE[0]), _FACTOR_RANGE[1])


def _middle(numbers: list[int]) -> int:
    """Return the median, of two middle ones the lower."""
    return sorted(numbers)[(len(numbers) - 1) // 2]


class SummarizerUsage(NamedTuple):
    """What a lane's summaries cost at their model."""

    summaries: int
    """Calls that returned a summary."""
    failures: int
    """Calls that returned none, or an unusable one."""
    input_tokens: int
    output_tokens: int
    """As the summarizer reported; else as counted here."""

    def plus(self, summaries: int, failures: int, input_tokens: int, output_tokens: int) -> "SummarizerUsage":
        """Return the sum with further calls."""
        return SummarizerUsage(
            self.summaries + summaries, self.failures + failures,
            self.input_tokens + input_tokens, self.output_tokens + output_tokens,
        )  # fmt: skip  # one thought


class ToolTokens(NamedTuple):
    """One tool definition."""

    name: str
    tokens: int


Origin = Literal["measured", "estimated"]


@dataclass(frozen=True, slots=True)
class TokenCount:
    """A number of tokens and its source."""

    tokens: int
    source: Origin


@dataclass(frozen=True, slots=True)
class Usage:
    """What is in a lane's window. All figures in tokens."""

    window: int
    """The budget of the lane's last request."""
    used: TokenCount
    """Expected tokens of the view."""
    used_upper_bound: int
    """Tokens of the view by the upper estimate, on which compaction decides."""
    free: int
    """Tokens that the next request may still take: `window` less `used_upper_bound`, never below 0. After the provider
    rejected a request as too long, less than that request took.
    """
    by_kind: dict[str, TokenCount]
    """Parts of `used`, which add up to it: `overhead` outside the messages (tool definitions, a system prompt that the
    host adds), `system`, `digest` (the summary of everything left out), `user`, `assistant` (calls included) and
    `results`.
    """
    messages: int
    """Messages in the view."""
    stored: int
    """Messages in the history."""
    compactions: int
    """Compactions of this lane so far."""
    summarizer: SummarizerUsage
    """Cost of this lane's summaries, which is not in the view."""
    tools: tuple[ToolTokens, ...] = ()
    """The tools of the newest request, as estimated; they are part of `overhead`."""
    summarized_by: str | None = None
    """Author of the summary in the view: model and version of its instructions. `None`: code alone."""

    @property
    def overhead(self) -> TokenCount:
        """Tokens outside the messages: tool definitions, a system prompt that the host adds."""
        return self.by_kind["overhead"]
