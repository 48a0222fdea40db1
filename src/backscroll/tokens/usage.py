"""Token accounting: what was counted, what is estimated from it, and what a provider measured. No I/O, no tokenizer.

Counts of texts are raw counts of the session's tokenizer, stored with the entry and never changed. Everything else is
computed from them at the time of reading: the family's factor, the framing of messages and calls, media. The *middle*
estimate is shown; decisions are made on the *upper* one. Where a provider has reported its count of a view that was
sent, that report is the anchor and only what changed since is estimated.
"""

from copy import copy
from dataclasses import dataclass
from math import ceil
from typing import Literal, NamedTuple

from backscroll.messages import ParsedMessage
from backscroll.tokens.model_profiles import ModelProfile

MESSAGE_TOKENS = 4  # role and delimiters of one message in the chat formats
CALL_TOKENS = 8  # id, type and delimiters of one tool call, beside its name and arguments
MARGIN_EXACT = 1.02  # the family's own vocabulary, unknown framing
MARGIN_FACTOR = 1.30  # another vocabulary: the 99th percentile of Latin texts
MARGIN_DENSE = 1.60  # the same for texts of other scripts or many digits
_DENSE_WIDE, _DENSE_DIGITS = 0.20, 0.10  # share of non-ASCII bytes / of digits from which a text counts as dense
_MEDIA_BYTES = {"audio": 500, "video": 250, "document": 4}  # bytes for each token, where no better rule is known


class Count(NamedTuple):
    """What was counted of one text."""

    tokens: int
    digits: int = 0
    """ASCII digits: some vocabularies spend a token on each."""
    wide: int = 0
    """UTF-8 bytes beyond one for each character: a measure of scripts other than Latin."""
    size: int = 0
    """Characters."""


class MediaCount(NamedTuple):
    """What was measured of one image, document, audio or video."""

    kind: str
    width: int = 0
    height: int = 0
    """Pixels; 0 = unknown."""
    pages: int = 0
    """Pages of a PDF; 0 = unknown."""
    size: int = 0
    """Bytes; 0 = unknown."""


Counts = tuple[Count | MediaCount, ...]
"""One for each part of a message, in the order of the parts."""


class Estimate(NamedTuple):
    """Tokens, as expected and as at most to be feared."""

    middle: int
    upper: int

    def plus(self, other: "Estimate") -> "Estimate":
        """The sum of both."""
        return Estimate(self.middle + other.middle, self.upper + other.upper)


NOTHING = Estimate(0, 0)


def estimate_count(count: Count | MediaCount, family: ModelProfile) -> tuple[float, float]:
    """Middle and upper estimate of one part, without framing."""
    if type(count) is MediaCount:
        media = float(_media_tokens(count, family))
        return media, media * (MARGIN_EXACT if family.exact else MARGIN_FACTOR)
    assert type(count) is Count
    if family.exact:
        return count.tokens, count.tokens * MARGIN_EXACT
    middle = family.factor * count.tokens + family.per_digit * count.digits
    dense = count.wide > _DENSE_WIDE * count.size or count.digits > _DENSE_DIGITS * count.size
    return middle, middle * (MARGIN_DENSE if dense else MARGIN_FACTOR)


def estimate_message(reading: ParsedMessage, counts: Counts, family: ModelProfile) -> Estimate:
    """A whole message: its parts, its calls and its framing."""
    calls = CALL_TOKENS * len(reading.calls)
    if family.exact:  # the common case, kept free of calls
        total = 0
        for count in counts:
            total += count.tokens if type(count) is Count else _media_tokens(count, family)  # type: ignore[arg-type]  # `type() is`: faster, not narrowed
        return Estimate(total + MESSAGE_TOKENS + calls, ceil(total * MARGIN_EXACT) + MESSAGE_TOKENS + calls)
    middle = upper = float(MESSAGE_TOKENS + calls)
    for count in counts:
        expected, feared = estimate_count(count, family)
        middle += expected
        upper += feared
    return Estimate(ceil(middle), ceil(upper))


def _media_tokens(media: MediaCount, family: ModelProfile) -> int:
    if media.kind == "image":
        known = media.width > 0 and media.height > 0
        return family.image(media.width, media.height) if known else family.image_cap
    if media.pages:
        return media.pages * family.pdf_page
    by_size = media.size // _MEDIA_BYTES.get(media.kind, 4)
    return max(family.image_cap, by_size)


class Report(NamedTuple):
    """A provider's count of one request, with what we thought of the same view when it was sent."""

    tokens: int
    """The whole prompt, cached part included, without the answer: that counts once it is added as a message."""
    middle: int
    upper: int
    """Our own estimates of the messages in that view."""
    answer: int = 0
    """Tokens of the answer, for whoever adds up what was spent."""


PRIOR_TOKENS = 2_000  # weight of the family's factor against learned slopes; ten messages alone are a worse guide
_SLOPE_RANGE = (0.5, 3.0)
_FRAMING = 200  # tokens by which short messages may miss that range: what providers put around each
_REMOVED = 1.1  # removed text is credited a little less than it was estimated at
_RECENT = 5  # reports whose median is the overhead: two wrong ones in a row do not move it, three right ones mend it
_OVERHEAD_SHARE = 0.9  # a learned overhead leaves a little of the budget, so that it can be learned anew
_UNSTEADY_SHARE = 0.5  # the same where recent reports contradict each other
_STEADY = 0.25  # of the budget by which the overheads of recent reports may differ and still agree
_UNKNOWN_SHARE = 0.5  # of the budget that a report may exceed the messages by: tools and system prompt


class CalibratorSnapshot(NamedTuple):
    """A meter's state."""

    learned: int
    seen: float
    expected: float
    anchor: Report | None
    before: Report | None
    whole: int
    left: int
    informed: bool
    recent: tuple[tuple[int, int], ...] = ()
    """The newest reports: tokens of each, and the middle estimate of its messages. None in records of old."""
    jumped: bool = False


class UsageCalibrator:
    """How far a lane's estimates are from what its provider measures, and what follows for the next request."""

    def __init__(self, overhead: int | None = None) -> None:
        self._given = overhead
        self._learned = self._newest = self._spread = 0
        """Overhead by the median of recent reports and by the newest alone, and how far they are apart."""
        self._recent: tuple[tuple[int, int], ...] = ()
        self._seen = self._expected = 0.0
        self._jumped = False
        """Whether the newest growth was such as no text explains."""
        self._anchor: Report | None = None
        self._before: Report | None = None
        self._whole = self._left = 0
        self.outside = 0
        """What the caller expects of it, as long as nothing is known."""
        self.informed = overhead is not None
        """Whether anything is known of what stands outside the messages: given, or from a report."""

    def mark(self) -> CalibratorSnapshot:
        """Its state, for `restore`."""
        return CalibratorSnapshot(
            self._learned, self._seen, self._expected, self._anchor, self._before, self._whole, self._left,
            self.informed, self._recent, self._jumped,
        )  # fmt: skip  # one thought

    def restore(self, mark: CalibratorSnapshot) -> None:
        """Goes on where another one stood."""
        self._learned = self._newest = mark.learned
        self._seen, self._expected, self._anchor, self._before = mark.seen, mark.expected, mark.anchor, mark.before
        self._whole, self._left, self._recent, self._jumped = mark.whole, mark.left, mark.recent, mark.jumped
        self.informed = mark.informed or self._given is not None
        self._learn()

    @property
    def given(self) -> bool:
        """Whether the overhead was given, and is not learned."""
        return self._given is not None

    @property
    def measured(self) -> bool:
        """Whether the present figure rests on a provider's report for most of the view."""
        return self._anchor is not None

    @property
    def slope(self) -> float:
        """Measured tokens for each estimated one, 1.0 until something was learned."""
        slope = (PRIOR_TOKENS + self._seen) / (PRIOR_TOKENS + self._expected)
        return min(max(slope, _SLOPE_RANGE[0]), _SLOPE_RANGE[1])

    def overhead(self, budget: int) -> int:
        """Tokens of the request outside the messages (tool definitions, system prompt): given, or the median of what
        recent reports leave to it, within a share of the budget that is smaller where they contradict each other.
        """
        if self._given is not None:
            return self._given
        share = _OVERHEAD_SHARE if self._spread <= budget * _STEADY else _UNSTEADY_SHARE
        return min(self._learned if self.informed else self.outside, int(budget * share))

    def _feared(self, budget: int) -> int:
        """The same at most: as much as the newest report says, which may be the first one with more tools."""
        expected = self.overhead(budget)
        return expected if self._given is not None else max(expected, min(self._newest, int(budget * _OVERHEAD_SHARE)))

    def expected(self, middle: int, budget: int) -> float:
        """Tokens of a request whose messages are estimated at `middle`, by all recent reports and not by the anchor."""
        return self.overhead(budget) + middle * self.slope

    def request(self, view: Estimate, budget: int) -> tuple[int, Estimate]:
        """The overhead, and the whole request."""
        return self.overhead(budget), self.total(view, budget)

    def total(self, view: Estimate, budget: int) -> Estimate:
        """The whole request: overhead and messages."""
        anchor, slope = self._anchor, self.slope
        if anchor is None:
            middle = self.overhead(budget) + ceil(view.middle * slope)
            return Estimate(middle, max(middle, self._feared(budget) + ceil(view.upper * slope)))
        middle = anchor.tokens + ceil((view.middle - anchor.middle) * slope)
        return Estimate(middle, max(middle, anchor.tokens + ceil((view.upper - anchor.upper) * slope)))

    def plausible(self, report: Report, budget: int) -> bool:
        """Whether a report can be about the view it came for; one absurd report must not poison the count."""
        expected = self.expected(report.middle, budget)
        known = self._given is not None or self._learned > 0
        room = 0.0 if known else budget * _UNKNOWN_SHARE  # nothing is known yet of tools and system prompt
        return report.tokens > 0 and 0.5 * expected <= report.tokens <= 3 * expected + room

    def possible(self, report: Report, budget: int) -> bool:
        """Whether a report can be about that view at all, whatever was learned of the overhead before."""
        messages = report.middle * self.slope
        return report.tokens > 0 and 0.5 * messages <= report.tokens <= 3 * messages + budget * _UNKNOWN_SHARE

    def observe(self, report: Report) -> None:
        """Takes a plausible report in: the new anchor, and a little more knowledge of slope and overhead."""
        before, self.informed = self._before, True
        if before is not None and report.middle > before.middle:
            self._learn_slope(report.tokens - before.tokens, report.middle - before.middle)
        self._anchor, self._before = report, report
        self._whole = self._left = report.middle
        self._recent = (*self._recent, (report.tokens, report.middle))[-_RECENT:]
        self._learn()

    def _learn_slope(self, measured: int, estimated: int) -> None:
        """Takes in by how much two reports and their views differ. A growth that no text explains is one of the
        overhead, and says nothing of the slope, unless it comes again.
        """
        least, most = (estimated * bound for bound in _SLOPE_RANGE)
        jumped = not least - _FRAMING <= measured <= most + _FRAMING
        if not jumped or self._jumped:
            self._seen += min(max(0, measured), 2 * most + _FRAMING)
            self._expected += estimated
        self._jumped = jumped

    def _learn(self) -> None:
        """What recent reports leave to the overhead, by the slope as it is known now."""
        if self._recent:
            slope = self.slope
            left = [max(0, tokens - ceil(middle * slope)) for tokens, middle in self._recent]
            ranked = sorted(left)
            self._newest, self._learned = left[-1], ranked[(len(ranked) - 1) // 2]
            self._spread = ranked[-1] - ranked[0]

    def forget(self) -> None:
        """The messages that the anchor was about are gone; what was learned of slope and overhead stays."""
        self._anchor = self._before = None

    def after(self, view: Estimate, removed: Estimate, budget: int) -> Estimate:
        """What `total` will say of `view` once `compacted` was told of the change."""
        trial = copy(self)
        trial.compacted(removed)
        return trial.total(view, budget)

    def compacted(self, removed: Estimate) -> None:
        """The view was changed in its middle: credit what left; past half of the anchor's view, drop the anchor."""
        self._before = None
        anchor = self._anchor
        if anchor is None:
            return
        self._left -= removed.middle
        share = min(self.slope, anchor.tokens / max(1, anchor.middle))  # never more than its part of what was measured
        tokens = anchor.tokens - int(removed.middle * share / _REMOVED)
        if 2 * self._left < self._whole or tokens <= 0:
            self._anchor = None
            return
        self._anchor = Report(tokens, anchor.middle - removed.middle, anchor.upper - removed.upper)


class SummarizerUsage(NamedTuple):
    """What a lane's summaries took of a model."""

    summaries: int
    """Calls that gave one."""
    failures: int
    """Calls that gave none, or none that could be used."""
    input_tokens: int
    output_tokens: int
    """As the summarizer told; else as counted here."""

    def plus(self, summaries: int, failures: int, input_tokens: int, output_tokens: int) -> "SummarizerUsage":
        """With one more."""
        return SummarizerUsage(
            self.summaries + summaries, self.failures + failures,
            self.input_tokens + input_tokens, self.output_tokens + output_tokens,
        )  # fmt: skip  # one thought


Origin = Literal["measured", "estimated"]


@dataclass(frozen=True, slots=True)
class TokenCount:
    """A number of tokens and where it comes from."""

    tokens: int
    source: Origin


@dataclass(frozen=True, slots=True)
class Usage:
    """What is in a lane's window. All figures in tokens."""

    window: int
    """The budget of the lane's last request."""
    used: TokenCount
    """What the view takes, by the middle estimate."""
    used_upper_bound: int
    """The same by the upper estimate, on which compaction decides."""
    free: int
    """What the next request may still take: `window` less `used_upper_bound`, never below 0. Where the provider refused
    a request as too long, what is left below that.
    """
    by_kind: dict[str, TokenCount]
    """What `used` is made of, and adds up to: `overhead` outside the messages (tool definitions, a system prompt that
    the host adds), `system`, `digest` (what stands for all that is left out), `user`, `assistant` (calls included) and
    `results`.
    """
    messages: int
    """Messages in the view."""
    stored: int
    """Messages in the history."""
    compactions: int
    """Compactions of this lane so far."""
    summarizer: SummarizerUsage
    """What this lane's summaries took, which is not in the view."""
    summarized_by: str | None = None
    """Who wrote the summary that the view tells: model and version of its instructions. None: code alone."""

    @property
    def overhead(self) -> TokenCount:
        """Outside the messages: tool definitions, a system prompt that the host adds."""
        return self.by_kind["overhead"]
