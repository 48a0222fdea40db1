"""What makes up a session: its events, in order, as immutable values. Nothing here applies or stores one.

Replaying the same events anywhere gives the same history, and with it the same plans and views.
"""

from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

from backscroll.history.plan import Plan
from backscroll.messages import Message
from backscroll.messages.parts import Path
from backscroll.tokens.model_profiles import Counting
from backscroll.tokens.usage import CalibratorSnapshot, Counts, Report, SummarizerUsage


@dataclass(frozen=True, slots=True)
class MessageAdded:
    """A message as it came, and what it counted when it came."""

    seq: int
    message: Message
    counts: Counts
    counted_by: str = ""
    """Name and version of the tokenizer: counts of another one cannot be added to these."""
    joins: tuple[int, ...] | None = ()
    """The first `seq`s of the groups whose calls it answers; None where nobody noted that."""


@dataclass(frozen=True, slots=True)
class IdempotencyKeyUsed:
    """The idempotency id of the append that added the entries `first` to `last`."""

    id: str
    first: int
    last: int
    digested: bool = False
    """Whether `id` is only the digest of the id: of one that may hold what messages must not."""

    @property
    def digest(self) -> str:
        """By what it is found."""
        return self.id if self.digested else digest_of(self.id)


def digest_of(id: str) -> str:
    """The SHA-256 of an idempotency id."""
    return sha256(id.encode("utf-8", "surrogatepass")).hexdigest()


class LaneEvent:
    """An event of one lane."""

    __slots__ = ()
    lane: str


@dataclass(frozen=True, slots=True)
class PlanRecorded(LaneEvent):
    """A lane's new plan: a compaction, or its undoing."""

    lane: str
    plan: Plan
    removed: tuple[int, int]
    """Middle and upper estimate, in tokens, of what left the view."""
    tokens: int
    """The upper estimate of the request under the new plan."""
    messages: int
    """Messages of the view under the new plan."""
    undone: bool = False


@dataclass(frozen=True, slots=True)
class PinChanged:
    """A message was pinned or unpinned after it was added."""

    seq: int
    pinned: bool


@dataclass(frozen=True, slots=True)
class UsageObserved(LaneEvent):
    """What a provider reported for a view of a lane."""

    lane: str
    report: Report
    cached: int | None = None
    written: int | None = None
    """Of the report's tokens: read from the provider's cache, and written to it; None where it told neither."""


@dataclass(frozen=True, slots=True)
class Rewound:
    """The branch goes on behind entry `to`; -1 stands for the very beginning. Later entries stay in the log."""

    to: int


@dataclass(frozen=True, slots=True)
class CompactionSkipped(LaneEvent):
    """A compaction of this lane would have won too little; it is not tried again before the view has grown."""

    lane: str
    tokens: int
    """The upper estimate of the request at that moment."""
    messages: int
    batch: bool = False
    """Whether it was about a batch of old results and not about the whole view."""


@dataclass(frozen=True, slots=True)
class Overflowed(LaneEvent):
    """A provider refused the newest view of a lane as too long."""

    lane: str
    tokens: int
    """The upper estimate of that request."""
    limit: int | None = None
    """Tokens that it would have taken, where the provider said so."""


@dataclass(frozen=True, slots=True)
class LaneOpened(LaneEvent):
    """A lane's first request: it starts from the newest plan of the session."""

    lane: str
    plan: Plan


@dataclass(frozen=True, slots=True)
class SystemPromptRecorded:
    """The text of a system prompt that a factory gave, once for all requests that had it."""

    digest: str
    """SHA-256 of the text."""
    text: str


@dataclass(frozen=True, slots=True)
class RequestRecorded(LaneEvent):
    """A view was handed out: with the log up to here it can be made again."""

    lane: str
    budget: int
    plan: int
    """The number of its plan."""
    last: int
    """The newest message in it; -1 without one."""
    estimate: tuple[int, int]
    """Middle and upper, in tokens, of its messages."""
    prompt: str | None = None
    """`SystemPromptRecorded.digest` of the system prompt that a factory gave."""
    ephemerals: tuple[tuple[int, str, str], ...] = ()
    """Messages in it that are never stored: behind which `seq` each stands, its SHA-256 and its role."""
    total: tuple[int, int] | None = None
    """Middle and upper of the whole request, on which it was decided; None in records of old."""
    counting: Counting | None = None
    """How its lane counts; None where that is as it said before."""


@dataclass(frozen=True, slots=True)
class SummaryMade(LaneEvent):
    """A model summarised what a lane will fold next; told from the lane's next compaction on."""

    lane: str
    first: int
    last: int
    """The entries that it tells of, those before it included."""
    text: str
    model: str
    prompt: int
    """The version of the instructions that it was made with."""
    input_tokens: int
    output_tokens: int

    @property
    def by(self) -> str:
        """Who wrote it: the model, where its name is known, and the version of its instructions."""
        return f"{self.model or 'a model'}, prompt {self.prompt}"


class Tried(NamedTuple):
    """Summaries of a lane that failed in a row, and where the lane stood at the last of them."""

    failures: int = 0
    last: int = -1
    """The newest entry that it should have covered."""
    compactions: int = 0
    folded: int = 0
    """Tokens that the plan's digest stood for."""


@dataclass(frozen=True, slots=True)
class SummaryFailed(LaneEvent):
    """A summary could not be had, or not be used."""

    lane: str
    last: int
    """The newest entry that it should have told of."""
    reason: str
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Lost:
    """An event that cannot be read any more, as a repair found: it is passed over."""

    why: str


# -- where a session stands, so that a resume need not begin at the beginning --


@dataclass(frozen=True, slots=True)
class PlanAt:
    """A plan that is in the log, by its place there."""

    place: int
    until: int | None = None
    """What a rewind left of it: nothing about later entries."""


@dataclass(frozen=True, slots=True)
class GroupSnapshot:
    """A group that waits for results."""

    first: int
    members: tuple[int, ...]
    open_calls: int
    answered: tuple[tuple[int, int], ...]
    orphans: tuple[tuple[int, tuple[Path, ...]], ...]


@dataclass(frozen=True, slots=True)
class HistorySnapshot:
    """What follows from all messages so far."""

    next_seq: int
    runs: tuple[tuple[int, int], ...]
    """Of the branch."""
    leading: int
    first_user: int | None
    last_user: int | None
    last_assistant: int
    newest: int | None
    """The first of the newest group."""
    protected: tuple[int, ...]
    pins: tuple[tuple[int, bool], ...]
    open: tuple[tuple[str, int, int, int], ...]
    """Calls without a result: id, first of the group, `seq`, number in its message."""
    groups: tuple[GroupSnapshot, ...]
    """Those of these calls."""
    kept: tuple[int, ...]
    """Entries that are asked for at every step."""
    reminder: int | None = None
    """The newest message that a host stores once and does not repeat while it holds."""


@dataclass(frozen=True, slots=True)
class LaneSnapshot:
    """Where a lane stands."""

    name: str
    plan: Plan | PlanAt
    before: tuple[Plan | PlanAt, ...]
    settled: int
    batched: int
    settled_messages: int
    compactions: int
    budget: int
    sent: tuple[int, int] | None
    refused: tuple[int, int | None] | None
    guessed: bool
    prompt: str | None
    """Digest of the system prompt of its newest request."""
    summary: SummaryMade | None
    """That no compaction has told of yet."""
    spent: SummarizerUsage
    """On summaries."""
    tried: tuple[int, ...]
    """The values of `Tried`; of old only the first two."""
    meter: CalibratorSnapshot
    counting: Counting | None = None
    """As its requests say."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where the session stands. Changes nothing: whoever resumes begins at the newest one."""

    history: HistorySnapshot
    lanes: tuple[LaneSnapshot, ...]
    newest_lane: str | None


LogEvent = (
    LaneOpened | MessageAdded | IdempotencyKeyUsed | PlanRecorded | PinChanged | UsageObserved | Rewound
    | CompactionSkipped | Overflowed | SystemPromptRecorded | RequestRecorded | SummaryMade | SummaryFailed | Lost
    | Checkpoint
)  # fmt: skip  # one union
