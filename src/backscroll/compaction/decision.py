"""What a decision about a lane depends on, and what comes of it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from backscroll.compaction.options import CachePricing, CompactionOptions
from backscroll.compaction.result import CompactionResult
from backscroll.history.history import History
from backscroll.history.log import CompactionSkipped, PlanRecorded
from backscroll.history.plan import Edit
from backscroll.ports import Notification
from backscroll.tokens.budget import NO_LIMITS, Limits
from backscroll.tokens.request_media import RequestMedia
from backscroll.view.ephemerals import Ephemeral
from backscroll.view.view import View

if TYPE_CHECKING:  # a session whose views fit compacts nothing, and needs half of the package for nothing else
    from backscroll.compaction.candidates import Window


class Strategy(Protocol):
    """Choose edits of a window that free a number of tokens. Pure and deterministic: same window, same edits.

    Freeing more than requested is fine. An edit that removes a group that is not `free`, or cuts one that is not
    `cuttable`, is rejected.
    """

    @property
    def name(self) -> str:
        """Short, lower case; edits carry it as their reason."""
        ...

    def __call__(self, window: "Window", tokens: int) -> Sequence[Edit]:
        """Return edits that free about `tokens`, oldest first."""
        ...


class PolicyInput(NamedTuple):
    """What a decision about a lane depends on, in addition to the lane's own state."""

    history: History
    options: CompactionOptions
    strategies: Callable[[], Sequence[Strategy]]
    ephemerals: Sequence[Ephemeral]
    prompt: str | None
    prices: CachePricing | None = None
    """Prices for clearing batches of old results. `None`: no such batches."""
    seconds: float | None = None
    """The time of a monotonic clock, in seconds. `None`: unknown."""
    limits: Limits = NO_LIMITS
    """Limits that the caller sets for this request in addition to its budget."""
    reason: str | None = None
    """Why the model asks for a compaction. `None`: it does not."""
    native: bool = False
    """Whether a provider's own compaction may be used."""
    shortens: bool = False
    """Whether the strategies shorten results."""
    ahead: bool = False
    """Whether the plan will be used behind newer messages: what is newest now was answered then."""
    asked_native: str | None = None
    """The lane for which one is being made. `None`: none is."""


class Decision(NamedTuple):
    """The decision on a lane. It takes effect when the lane applies it, with its event recorded."""

    event: PlanRecorded | CompactionSkipped | None
    """The event to record, if any."""
    reports: list[Notification]
    view: View | None = None
    """The view under the recorded plan."""
    expired: int = 0
    """Ephemeral messages with a lower number are not in it."""
    compaction: CompactionResult | None = None
    little: bool | None = None
    """Whether it freed too little because so much is required. `None`: unknown."""
    media_left: RequestMedia | None = None
    """Media that exceed the provider's limits after it. `None`: none do."""


NOTHING_DUE = Decision(None, [])
