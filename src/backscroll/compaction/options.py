"""Options of compaction, with their ranges."""

from dataclasses import dataclass, field
from math import ceil

from backscroll.errors import ConfigurationError
from backscroll.tokens.budget import check_share, check_whole

SEEN, ARRIVAL = "seen", "arrival"
_FOR_MESSAGES = 0.25
"""Least share of `compact_at` that messages get where the overhead takes nearly all of it. Otherwise each step would
start a compaction that has nothing to free.
"""
RECALLS = ("recall",)
"""Tools whose results are always shown whole once, because they recall what was left out."""


LEAST_MESSAGES = 8  # of a view: a smaller limit leaves too little to choose from


@dataclass(frozen=True, slots=True)
class Protection:
    """What compaction spares.

    Raises:
        ConfigurationError: A value is out of range.
    """

    recent: float = 0.15
    """Share of the budget whose newest messages strategies spare, unless the view cannot fit otherwise; 0 to 1."""
    results: int = 0
    """Newest tool results that strategies leave whole, unless the view cannot fit otherwise."""
    first: int = 0
    """Messages at the beginning, after leading system messages, that never leave a view; they can only be cut."""
    last: int = 0
    """Messages at the end that never leave a view; they can only be cut."""
    working_set: float = 0.1
    """Share of the budget for what the agent works by, which strategies spare unless the view cannot fit otherwise: the
    newest versions of loaded skills and instruction files, of messages with `metadata.shelf`, of plans and to-do lists,
    and of the files that it lately read; 0 to 1.
    """

    def __post_init__(self) -> None:
        """Check every range."""
        check_share("recent", self.recent)
        check_share("working_set", self.working_set)
        check_whole("results", self.results, 0, "results")
        check_whole("first", self.first, 0, "messages")
        check_whole("last", self.last, 0, "messages")


@dataclass(frozen=True, slots=True)
class ToolResultPreview:
    """Views show long tool results as previews: the lines that matter most, or head and tail where they mention little.

    Raises:
        ConfigurationError: A value is out of range.
    """

    threshold_tokens: int = 2_500
    """Tokens from which a result is long; at least 2."""
    preview_tokens: int = 1_500
    """Tokens of its preview; at least 1, below `threshold_tokens`."""
    when: str = SEEN
    """`seen`: with the next compaction after the model has seen it whole. `arrival`: at once. A result of more
    than a quarter of the budget is never shown whole.
    """
    exempt_tools: tuple[str, ...] = RECALLS
    """Tools whose results are always shown whole once, because they recall what was left out."""

    def __post_init__(self) -> None:
        """Check every range."""
        check_whole("threshold_tokens", self.threshold_tokens, 2)
        check_whole("preview_tokens", self.preview_tokens, 1)
        if self.preview_tokens >= self.threshold_tokens:
            raise ConfigurationError(
                f"`preview_tokens` ({self.preview_tokens:,}) must be below `threshold_tokens` "
                f"({self.threshold_tokens:,}), from which a result has a preview"
            )
        if self.when not in (SEEN, ARRIVAL):
            raise ConfigurationError(f"`when` must be {SEEN!r} or {ARRIVAL!r}, not {self.when!r:.40}")


@dataclass(frozen=True, slots=True)
class CachePricing:
    """Prices of an input token, relative to one that is neither read from nor written to the prompt cache.

    Args:
        read: Price of a token read from the cache; 0 to 1.
        write: Price of a token written to the cache; at least `read`.
        ttl_seconds: Seconds after a request for which the provider keeps it cached; above 0, `float("inf")` for always.
            The next request after that pays for everything again, so a lane is compacted at half of the way from its
            target to its threshold.

    The defaults are Anthropic's for its cache of 5 minutes, which each use renews. For its cache of one hour they are
    0.1, 2.0 and 3600 (its documentation on prompt caching, as of October 2025). If writing costs nothing extra (OpenAI,
    Gemini), `write` is 1.0.

    Raises:
        ConfigurationError: A value is out of range.
    """

    read: float = 0.1
    write: float = 1.25
    ttl_seconds: float = 300.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        given = self.read, self.write, self.ttl_seconds
        if any(type(value) not in (int, float) for value in given):
            raise ConfigurationError(f"`read`, `write` and `ttl_seconds` must be numbers, not {given}")
        if not self.ttl_seconds > 0:
            raise ConfigurationError(f"`ttl_seconds` must be a number of seconds above 0, not {self.ttl_seconds}")
        if not 0 <= self.read <= 1 or self.write < self.read:
            raise ConfigurationError(
                f"`read` must be from 0 to 1 and `write` at least `read`, not {self.read} and {self.write}"
            )

    def cost(self, sent: int, kept: int) -> float:
        """Price a request, in millions of input token equivalents.

        Args:
            sent: Input tokens of the request.
            kept: How many of them the cache held. All others count as written, as if the whole prompt were marked for
                caching.
        """
        return (self.read * kept + self.write * (sent - kept)) / 1e6


@dataclass(frozen=True, slots=True)
class DigestOptions:
    """How much room a digest gets, and how it grows.

    A later digest begins with the earlier one, unchanged, until it has to be written again.
    """

    share: float = 0.45
    """Share of the budget that a digest takes at most: its allowance."""
    part: float = 0.4
    """Share of the allowance by which one compaction lets it grow."""
    rewritten: float = 0.95
    """Share of the allowance that it takes once it is written again; the rest is room to append."""
    handover: bool = False
    """Write a hand-over: a chronicle of turns, the state and the files, with nothing but the newest messages behind it.
    """


HANDOVER = DigestOptions(share=0.55, part=0.5, rewritten=0.8, handover=True)
"""The hand-over of the default mode."""


@dataclass(frozen=True, slots=True)
class CompactionOptions:
    """When a lane is compacted and how far.

    Raises:
        ConfigurationError: A value is out of range.
    """

    compact_threshold: float = 0.92
    """Share of the budget (less overhead) from which a lane is compacted; above 0, at most 1."""
    target_usage: float = 0.7
    """Share of the budget (less overhead) that a compaction aims at; above 0, below the threshold."""
    protect: Protection = field(default_factory=Protection)
    tool_result_preview: ToolResultPreview | None = None
    """How views show long results once the model has seen them. `None`: whole, until a compaction. Then a new result of
    more than an eighth of the budget (but 2,000 tokens, up to a quarter of the budget) is never shown whole.
    """
    max_messages: int | None = None
    """Maximum messages of a view; older ones are digested. At least 8. `None`: no limit."""
    clear_at_least_tokens: int | None = 5_000
    """Clear old tool results early only if this frees at least this many tokens. `None`: never.

    On generated coding sessions at 128,000 tokens, 5,000 cost 6 % less than 10,000, and 3,000 only 1 % less than 5,000.

    A budget of less than 7 times as many has no early clearing. There compactions come as often, and they choose what
    stays: clearing at 12,000 tokens cost seven points of the facts that agents needed later at a budget of 32,000.
    """
    compact_at: int | None = None
    """Tokens of a request from which a lane is compacted even if its budget is larger; at least 1. `None`: by
    `compact_threshold` alone.
    """
    compact_to: int | None = None
    """Tokens of a request that a compaction aims at; at least 1, below `compact_at`. `None`: by `target_usage`."""
    plan_ahead: bool = True
    """Prepare a compaction that will soon be due in the background."""
    digest: DigestOptions = HANDOVER
    """The digest, as the mode of the manager says."""

    def room_at(self, overhead: int) -> int:
        """Return the tokens for messages of which `compact_threshold` is reached at `compact_at`, which must be set."""
        assert self.compact_at is not None
        least = int(self.compact_at * _FOR_MESSAGES)
        return max(1, ceil(max(self.compact_at - overhead, least) / self.compact_threshold))

    def __post_init__(self) -> None:
        """Check every range."""
        if not isinstance(self.protect, Protection):
            raise ConfigurationError(f"`protect` must be a Protection(recent, results, ...), not {self.protect!r:.80}")
        if self.tool_result_preview is not None and not isinstance(self.tool_result_preview, ToolResultPreview):
            raise ConfigurationError(
                f"`tool_result_preview` must be a ToolResultPreview, not {self.tool_result_preview!r:.80}"
            )
        if self.max_messages is not None:
            check_whole("max_messages", self.max_messages, LEAST_MESSAGES, "messages")
        if self.clear_at_least_tokens is not None:
            check_whole("clear_at_least_tokens", self.clear_at_least_tokens, 1)
        check_share("compact_threshold", self.compact_threshold, above=0.0)
        check_share("target_usage", self.target_usage, above=0.0)
        if self.target_usage >= self.compact_threshold:
            raise ConfigurationError(
                f"`target_usage` ({self.target_usage}) must be below `compact_threshold` ({self.compact_threshold}), "
                "or every compaction would start the next one"
            )
        for name in ("compact_at", "compact_to"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), 1)
        if self.compact_at is not None and self.compact_to is not None and self.compact_to >= self.compact_at:
            raise ConfigurationError(
                f"`compact_to` ({self.compact_to:,}) must be below `compact_at` ({self.compact_at:,}), "
                "or every compaction would start the next one"
            )
