"""Modes: presets of the options that decide what a session costs and what its views keep."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from backscroll.compaction.options import ARRIVAL, DigestOptions, Protection, ToolResultPreview
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


STANDARD = Mode(
    "standard",
    "keeps most of what the agent will need in the view, so that it seldom has to recall",
    compact_threshold=0.92,
    target_usage=0.55,
    protect=Protection(),
    tool_result_preview=None,
    digest=DigestOptions(),
)
LEAN = Mode(
    "lean",
    "costs least per request: small views, long results as previews at once, a digest that the prompt cache keeps",
    compact_threshold=0.75,
    target_usage=0.35,
    protect=Protection(recent=0.10, working_set=0.10),
    tool_result_preview=ToolResultPreview(800, 400, ARRIVAL),
    digest=DigestOptions(share=0.35, part=0.3, rewritten=0.65),
)
HANDOVER = Mode(
    "handover",
    "reads like the notes of a colleague: a chronicle of turns, the state, the files, and the newest messages whole",
    compact_threshold=0.92,
    target_usage=0.7,
    protect=Protection(recent=0.15, working_set=0.0),
    tool_result_preview=None,
    digest=DigestOptions(share=0.55, part=0.5, rewritten=0.8, handover=True),
    strategies=("deduplicate", "shorten", "digest"),
)
MODES: Mapping[str, Mode] = MappingProxyType({mode.name: mode for mode in (STANDARD, LEAN, HANDOVER)})
"""The presets by name, the default first."""


def mode_named(name: str) -> Mode:
    """Return a preset. Raises `ConfigurationError` for an unknown name."""
    if name not in MODES:
        *others, last = map(repr, MODES)
        raise ConfigurationError(f"`mode` must be {', '.join(others)} or {last}, not {name!r:.40}")
    return MODES[name]
