"""Modes: presets of the options that decide what a session costs and what its views keep."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from backscroll.compaction.options import ARRIVAL, HANDOVER, DigestOptions, Protection, ToolResultPreview
from backscroll.compaction.strategies import DEFAULT_ORDER
from backscroll.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Mode:
    """The values of one preset. Options that a caller gives take precedence."""

    name: str
    buys: str
    """What it buys, in one sentence."""
    compact_threshold: float
    target_usage: float
    protect: Protection
    tool_result_preview: ToolResultPreview | None
    digest: DigestOptions
    strategies: tuple[str, ...] = DEFAULT_ORDER
    """The strategies of `"auto"`, in order."""

    def digest_within(self, target: float) -> DigestOptions:
        """Return the digest for a caller's target, of which a hand-over takes the same part as of the mode's own.
        Otherwise it would fill a small target alone, and every further message would start a compaction.
        """
        if not self.digest.handover or target >= self.target_usage:
            return self.digest
        return replace(self.digest, share=self.digest.share * target / self.target_usage)


STANDARD = Mode(
    "standard",
    "what one can continue from: a chronicle of turns, the state, the files, and the newest messages whole",
    compact_threshold=0.92,
    target_usage=0.7,
    protect=Protection(),
    tool_result_preview=None,
    digest=HANDOVER,
    strategies=("deduplicate", "shorten", "digest"),
)
LEAN = Mode(
    "lean",
    "costs least per request: small views, long results as previews at once, a digest that the prompt cache keeps",
    compact_threshold=0.75,
    target_usage=0.35,
    protect=Protection(recent=0.10),
    tool_result_preview=ToolResultPreview(800, 400, ARRIVAL),
    digest=DigestOptions(share=0.35, part=0.3, rewritten=0.65),
)
FACTS = Mode(
    "facts",
    "keeps most single facts per token: a digest of picked lines, which programs read and people do not",
    compact_threshold=0.92,
    target_usage=0.55,
    protect=Protection(working_set=0.25),
    tool_result_preview=None,
    digest=DigestOptions(),
)
MODES: Mapping[str, Mode] = MappingProxyType({mode.name: mode for mode in (STANDARD, LEAN, FACTS)})
"""The presets by name, the default first."""


def mode_named(name: str) -> Mode:
    """Return a preset. Raises `ConfigurationError` for an unknown name."""
    if name not in MODES:
        *others, last = map(repr, MODES)
        raise ConfigurationError(f"`mode` must be {', '.join(others)} or {last}, not {name!r:.40}")
    return MODES[name]
