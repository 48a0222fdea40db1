"""The events that make up a session, as immutable values.

Replaying the same events anywhere gives the same history, and with it the same plans and views.
"""

from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, NamedTuple

from backscroll.history.group_snapshot import GroupSnapshot
from backscroll.history.plan import Plan
from backscroll.history.ranges import SeqRange
from backscroll.messages.parts import Message
from backscroll.tokens.counts import Counts
from backscroll.tokens.model_profiles import Counting
from backscroll.tokens.usage import CalibratorSnapshot, Estimate, Report, SummarizerUsage


@dataclass(frozen=True, slots=True)
class MessageAdded:
    """A message as it was added, and its counts at that time."""

    seq: int
    message: Message
    counts: Counts
    counted_by: str = ""
    """Name and version of the tokenizer. Counts of another one cannot be added to these."""
    joins: tuple[int, ...] | None = ()
    """The first `seq`s of the groups whose calls it answers. `None`: not recorded."""
    late: tuple[tuple[int, str, bool], ...] = ()
    """Its results that join no group, as `groups.Late`."""


@dataclass(frozen=True, slots=True)
class IdempotencyKeyUsed:
    """The idempotency key of the append that added the entries `first` to `last`."""

    id: str
    first: int
    last: int
    digested: bool = False
    """True if `id` is only the digest of the key, because the key may hold what must not be stored."""

    @property
    def digest(self) -> str:
        """The digest by which it is found."""
        return self.id if self.digested else digest_of(self.id)


def digest_of(text: str) -> str:
    """Return the SHA-256 of an idempotency key or a system prompt."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


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
    """A provider's count of a view of a lane."""

    lane: str
    report: Report
    cached: int | None = None
    written: int | None = None
    """Parts of the report's tokens: read from the provider's cache, and written to it. `None`: not reported."""


@dataclass(frozen=True, slots=True)
class Rewound:
    """The branch continues behind entry `to`; -1 means the very beginning. Later entries stay in the log."""

    to: int


@dataclass(frozen=True, slots=True)
class CompactionSkipped(LaneEvent):
    """A compaction of this lane would free too little. It is not tried again before the view has grown."""

    lane: str
    tokens: int
    """The upper estimate of the request at that moment."""
    messages: int
    batch: bool = False
    """True for a batch of old results, False for the whole view."""


@dataclass(frozen=True, slots=True)
class Overflowed(LaneEvent):
    """A provider rejected the newest view of a lane as too long."""

    lane: str
    tokens: int
    """The upper estimate of that request."""
    limit: int | None = None
    """Tokens that the provider would have accepted, if it said so."""
    sent: Estimate | None = None
    """The estimate of its messages; None in old records."""


@dataclass(frozen=True, slots=True)
class HealingBegun(LaneEvent):
    """Views of the lane heal odd messages from now on: its plan is of an older version, and the provider refused it."""

    lane: str


@dataclass(frozen=True, slots=True)
class LaneOpened(LaneEvent):
    """A lane's first request: it starts from the newest plan of the session."""

    lane: str
    plan: Plan


@dataclass(frozen=True, slots=True)
class SystemPromptRecorded:
    """The text of a system prompt from a factory, stored once for all requests with it."""

    digest: str
    """SHA-256 of the text."""
    text: str


class ToolsOffered(NamedTuple):
    """The tools of a request."""

    digest: str
    """SHA-256 of their definitions; empty: there are none."""
    tools: tuple[tuple[str, int], ...]
    """Name and expected tokens of each."""
    prompt: int = 0
    """Tokens that the provider adds to a request with tools."""

    @property
    def tokens(self) -> int:
        """Expected tokens of all."""
        return self.prompt + sum(tokens for _, tokens in self.tools)


Foresight = Literal["compaction", "batch"]
"""What will soon be due: a compaction, or a check whether a batch of old results is worth clearing."""


class Foreseen(NamedTuple):
    """What will soon be due on a lane. Its plan is made of what the request showed that foresaw it."""

    what: Foresight
    last: int
    """The newest message of that request."""
    budget: int
    """Its budget."""
    meter: CalibratorSnapshot
    """The lane's calibrator at that time."""


@dataclass(frozen=True, slots=True)
class RequestRecorded(LaneEvent):
    """A view was sent. Together with the log up to here it can be made again."""

    lane: str
    budget: int
    plan: int
    """The number of its plan."""
    last: int
    """The newest message in it; -1 without one."""
    estimate: tuple[int, int]
    """Middle and upper estimate of its messages, in tokens."""
    prompt: str | None = None
    """`SystemPromptRecorded.digest` of the system prompt from a factory."""
    ephemerals: tuple[tuple[int, str, str], ...] = ()
    """Messages in it that are never stored: the `seq` that each follows, its SHA-256 and its role."""
    total: tuple[int, int] | None = None
    """Middle and upper estimate of the whole request, on which the decision was made. `None` in old records."""
    counting: Counting | None = None
    """How its lane counts. `None`: as recorded before."""
    marked: tuple[int, int] | None = None
    """Where it bears marks for a prompt cache: tokens that a prefix needs to be cached, and the most marks."""
    tools: ToolsOffered | None = None
    """Its tools. `None`: as recorded before on its lane; without such a record, none."""
    foresees: Foresight | None = None
    """What its lane has to prepare from now on. `None`: nothing new."""


@dataclass(frozen=True, slots=True)
class SummaryMade(LaneEvent):
    """A model's summary of what a lane will digest next, used from the lane's next compaction on."""

    lane: str
    first: int
    last: int
    """The first and last entry that it covers, those of earlier summaries included."""
    text: str
    model: str
    prompt: int
    """The version of the instructions that it was made with."""
    input_tokens: int
    output_tokens: int
    instructions: str = ""
    """The digest of the text that the options added to these instructions; empty without one."""

    @property
    def by(self) -> str:
        """The author: the model, if its name is known, and the version of its instructions."""
        added = f" with instructions {self.instructions}" if self.instructions else ""
        return f"{self.model or 'a model'}, prompt {self.prompt}{added}"


class Tried(NamedTuple):
    """Consecutive failures of a lane's summaries, and the lane's state at the last of them."""

    failures: int = 0
    last: int = -1
    """The newest entry that it should have covered."""
    compactions: int = 0
    folded: int = 0
    """Tokens that the plan's digest covered."""


@dataclass(frozen=True, slots=True)
class SummaryFailed(LaneEvent):
    """A summary failed, or could not be used."""

    lane: str
    last: int
    """The newest entry that it should have covered."""
    reason: str
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class NativeMade(LaneEvent):
    """A provider's own compaction of the beginning of a lane's view, which the lane's next compaction may use."""

    lane: str
    last: int
    """The newest entry that it represents."""
    message: Message
    """Holds the opaque block, or the items, as the provider returned them."""
    counts: Counts
    number: int
    """Messages of the view that it represents."""
    prefix: str
    """SHA-256 of these messages as they were sent."""
    role: str
    """The role of the last of them."""
    prompt: str | None
    """SHA-256 of the system prompt from a factory that they were sent with."""
    keeps: bool
    """Whether reasoning behind them stays valid behind the block."""
    model: str
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Lost:
    """An event that a repair found unreadable; it is skipped."""

    why: str


# -- the state of a session, so that resuming need not start at the beginning --


@dataclass(frozen=True, slots=True)
class PlanAt:
    """A plan that is in the log, by its position."""

    place: int
    until: int | None = None
    """The newest entry that a rewind left: edits of later entries do not count."""


@dataclass(frozen=True, slots=True)
class HistorySnapshot:
    """The state that follows from all messages so far."""

    next_seq: int
    runs: tuple[tuple[int, int], ...]
    """Runs of the branch."""
    leading: int
    first_user: int | None
    last_user: int | None
    last_assistant: int
    newest: int | None
    """First `seq` of the newest group."""
    protected: tuple[int, ...]
    pins: tuple[tuple[int, bool], ...]
    open: tuple[tuple[str, int, int, int], ...]
    """Calls without a result: id, first `seq` of the group, `seq`, number in its message."""
    groups: tuple[GroupSnapshot, ...]
    """The groups of these calls."""
    kept: tuple[int, ...]
    """Entries that every step needs."""
    reminder: int | None = None
    """The newest reminder: stored once, and valid until the next one."""
    last_sealed: int = -1
    """The newest message with sealed reasoning."""
    serving: tuple[tuple[str, int], ...] = ()
    """Calls of server tools without a result: id, first `seq` of the group."""
    turns: tuple[tuple[int, int], ...] = ()
    """As `Flow.turns`, if calls are open."""
    others: tuple[tuple[int, int], ...] = ()
    """As `Flow.others`, likewise."""


@dataclass(frozen=True, slots=True)
class LaneSnapshot:
    """The state of a lane."""

    name: str
    plan: Plan | PlanAt
    before: tuple[Plan | PlanAt, ...]
    settled: int
    batched: int
    settled_messages: int
    compactions: int
    budget: int
    sent: tuple[int, int] | None
    refused: tuple[int | None, ...] | None
    """Tokens and limit of `Overflowed`, and the two figures of `sent` if it has any."""
    guessed: bool
    prompt: str | None
    """Digest of the system prompt of its newest request."""
    summary: SummaryMade | None
    """A summary that no compaction has used yet."""
    spent: SummarizerUsage
    """Cost of its summaries."""
    tried: tuple[int, ...]
    """The values of `Tried`; in old records only the first two."""
    meter: CalibratorSnapshot
    """The lane's calibrator, under its stored name."""
    counting: Counting | None = None
    """As its requests say."""
    stale: tuple[SeqRange, ...] = ()
    """Entries whose reasoning the next plan removes."""
    passing: tuple[tuple[int, str, str], ...] = ()
    """Messages in its newest request that are never stored, as in `RequestRecorded.ephemerals`."""
    marked: tuple[int, int] | None = None
    """As its newest request says."""
    sent_to: int = 0
    """Entries with a lower `seq` were in its newest request; stored only where that bears marks."""
    tools: ToolsOffered | None = None
    """The tools of its newest request."""
    planned: int | None = None
    """Tokens of the first request under its plan. `None`: none was made yet."""
    native: NativeMade | None = None
    """A provider's compaction that no plan has used yet."""
    requested: bool = False
    """True if only the lane that it started from had requests."""
    foreseen: Foreseen | None = None
    """What will soon be due."""
    outside: int = 0
    """Tokens outside the messages and the tools that its newest request expected; 0 once a report says more."""
    apart: int = 0
    """The first entry behind a call whose result this lane shows where it came, and a new lane behind the call; 0: all
    lanes show them alike.
    """


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of the session. It changes nothing: resuming starts at the newest one."""

    history: HistorySnapshot
    lanes: tuple[LaneSnapshot, ...]
    newest_lane: str | None
    answering: str | None = None
    """The lane of the newest request. `None`: there was none, or there is only one lane."""


LogEvent = (
    LaneOpened | MessageAdded | IdempotencyKeyUsed | PlanRecorded | PinChanged | UsageObserved | Rewound
    | CompactionSkipped | HealingBegun | Overflowed | SystemPromptRecorded | RequestRecorded | SummaryMade
    | SummaryFailed | NativeMade | Lost | Checkpoint
)  # fmt: skip  # one union
