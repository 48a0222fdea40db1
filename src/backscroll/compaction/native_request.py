"""Ask a provider for its own compaction: the option, the request to the user's function, and what comes of it.

Sources: "Compaction on demand" of Anthropic, "Compaction" of OpenAI.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from backscroll.errors import ConfigurationError
from backscroll.history.plan import Plan
from backscroll.messages import Message, ParsedMessage, read_message
from backscroll.messages.compactions import NativeAnswer, read_answer
from backscroll.ports import Ask, BackgroundTask, Operation
from backscroll.tokens.counts import Counts
from backscroll.tokens.known_models import vendor_of


class NativeRequest(NamedTuple):
    """What the function of `NativeCompaction` gets."""

    messages: list[Message]
    """The messages to compact, exactly as they were sent in an earlier request: its beginning, or all of it. They are
    in the form of `get_messages_for_request`, so leading system messages are among them.
    """
    model: str
    """`NativeCompaction.model`, else the model of the lane; empty if neither is known."""
    lane: str
    tokens: int
    """Tokens of these messages by the upper estimate."""


NativeFunction = Callable[[NativeRequest], Any]
"""From a request to the provider's response, its content, or the block alone; plain or async."""


@dataclass(frozen=True, slots=True)
class NativeCompaction:
    """Ask the provider for its own compaction.

    Raises:
        ConfigurationError: A value is of the wrong type.
    """

    fn: NativeFunction
    """Called in the background with a `NativeRequest`. It sends these messages to the provider with the model, system
    prompt, tools and thinking settings of the conversation, and returns the response. If it raises, or returns no
    compaction, an event and a warning say so, and our own digest serves.
    """
    model: str | None = None
    """The model that `fn` calls. `None`: the model of the lane, unless its provider is known not to compact it. A model
    that is named here is asked if its vendor compacts at all. Reasoning stays valid only behind a block of a model that
    preserves it.
    """

    wait_seconds: float = 0.0
    """Seconds that a request which has to be compacted waits for an unfinished block. 0: while one is being made, a
    request is compacted only if it would not fit.
    """

    def __post_init__(self) -> None:
        """Check everything."""
        if not callable(self.fn):
            raise ConfigurationError(
                f"`fn` must be a function from a NativeRequest to a provider's response, not {self.fn!r:.80}"
            )
        if self.model is not None and (not isinstance(self.model, str) or not self.model):
            raise ConfigurationError(f"`model` must be the name of a model, or None, not {self.model!r:.80}")
        if type(self.wait_seconds) not in (int, float) or not 0 <= self.wait_seconds < float("inf"):
            raise ConfigurationError(
                f"`wait_seconds` must be a number of seconds, 0 or more, not {self.wait_seconds!r}"
            )


@dataclass(frozen=True, slots=True)
class Natives:
    """How a session asks for native compactions."""

    option: NativeCompaction
    blocking: bool
    """True if a call blocks, and so needs a thread."""
    background: BackgroundTask


@dataclass(frozen=True, slots=True)
class NativeOrder:
    """One compaction to ask for."""

    lane: str
    last: int
    """The newest entry that it will represent."""
    plan: Plan
    """The plan of the view that was sent."""
    number: int
    """Messages of the view that it will represent."""
    prefix: str
    role: str
    prompt: str | None
    request: NativeRequest


class NativeResult(NamedTuple):
    """What came of an order."""

    order: NativeOrder
    answer: NativeAnswer
    counts: Counts


def ask(
    order: NativeOrder,
    natives: Natives,
    measure: Callable[[Sequence[ParsedMessage]], tuple[Counts, ...]],
) -> Operation[NativeResult]:
    """Ask the provider. Never raises for failures of the user's function."""
    answer = yield Ask(natives.option.fn, (order.request,), heavy=natives.blocking, tolerant=True)
    found = read_answer(answer)
    if found.message is None:
        return NativeResult(order, found, ())
    counts = yield Ask(measure, ([read_message(found.message)],), heavy=True, tolerant=True)
    if isinstance(counts, Exception):
        return NativeResult(order, found._replace(message=None, reason=f"it cannot be counted: {counts!r:.200}"), ())
    return NativeResult(order, found, counts[0])


def reads_block(model: str, made_by: str) -> bool:
    """Return whether a model reads the block of another one. Only of different vendors it is known that it does not."""
    vendors = vendor_of(model), vendor_of(made_by)
    return not all(vendors) or vendors[0] == vendors[1]
