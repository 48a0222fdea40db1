"""Candidates: options that differ from the defaults, and the grid of values that a search tries."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from backscroll.compaction.modes import LEAN, STANDARD, mode_named
from backscroll.compaction.options import ARRIVAL, CompactionOptions, Protection
from backscroll.compaction.triggers import SMALL
from backscroll.manager.options_file import arguments_of

Values = tuple[Any, ...]
MODE, TARGET, THRESHOLD, CLEARED, PREVIEW = (
    "mode", "target_usage", "compact_threshold", "clear_at_least_tokens", "tool_result_preview",
)  # fmt: skip
GRID: Mapping[str, Values] = {
    MODE: (LEAN.name,),
    PREVIEW: ((800, 400), (1_500, 800), (2_500, 1_500)),
    CLEARED: (3_000, 10_000, 20_000, 40_000),
    TARGET: (0.25, 0.35, 0.45, 0.75),
    "protect.working_set": (0.0, 0.25, 0.4),
    THRESHOLD: (0.75, 0.98),
    "protect.recent": (0.3,),
}
"""What a search tries, in its order: what gained most on recorded sessions of coding agents comes first.

Previews are on arrival: those of results that the model has seen cost more there and kept less. A number of spared
results (`protect.results`) cost much more than it kept, and a smaller `protect.recent` changed nothing.
"""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Options to try."""

    values: tuple[tuple[str, Any], ...] = ()
    """Names of the grid with their values, sorted; without a value, the default holds."""

    def having(self, name: str, value: Any) -> "Candidate":
        """Return a candidate with one more value."""
        return Candidate(tuple(sorted({**dict(self.values), name: value}.items())))

    def without(self, name: str) -> "Candidate":
        """Return a candidate with the default of one option."""
        return Candidate(tuple(pair for pair in self.values if pair[0] != name))

    @property
    def settings(self) -> dict[str, Any]:
        """Return the options as plain values, as a file holds them."""
        chosen = dict(self.values)
        found = {name: chosen[name] for name in (MODE, THRESHOLD, TARGET, CLEARED) if name in chosen}
        mode = mode_named(chosen.get(MODE, STANDARD.name))
        spared = {name.partition(".")[2]: value for name, value in self.values if name.startswith("protect.")}
        if spared:
            held = {field.name: getattr(mode.protect, field.name) for field in fields(Protection)} | spared
            found["protect"] = {name: value for name, value in held.items() if value != getattr(Protection(), name)}
        if PREVIEW in chosen:
            threshold, preview = chosen[PREVIEW]
            found[PREVIEW] = {"threshold_tokens": threshold, "preview_tokens": preview, "when": ARRIVAL}
        return found

    @property
    def options(self) -> dict[str, Any]:
        """Return the options as arguments of a manager."""
        return arguments_of(self.settings)

    @property
    def label(self) -> str:
        """Return the options on one line."""
        chosen = dict(self.values)
        return ", ".join(f"{name} {_shown(chosen[name])}" for name in GRID if name in chosen) or "defaults"


DEFAULTS = Candidate()


def _shown(value: Any) -> str:
    return " to ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def neighbors(candidate: Candidate, name: str, budget: int | float) -> Iterator[Candidate]:
    """Yield the candidates that differ from this one in one option, without those whose views could not differ."""
    chosen = dict(candidate.values)
    if name in chosen and _fits(without := _plain(candidate.without(name))):
        yield without
    for value in GRID[name]:
        tried = _plain(candidate.having(name, value))
        if tried == candidate or name not in dict(tried.values) or not _fits(tried):
            continue
        if name != CLEARED or not (_never(value, budget) and _never(_value(chosen, name), budget)):
            yield tried


def _plain(candidate: Candidate) -> Candidate:
    """Return a candidate without the values that its mode has by itself."""
    mode = {name: value for name, value in candidate.values if name == MODE}
    return Candidate(tuple(pair for pair in candidate.values if pair[0] == MODE or pair[1] != _value(mode, pair[0])))


def _fits(candidate: Candidate) -> bool:
    chosen = dict(candidate.values)
    return bool(_value(chosen, TARGET) < _value(chosen, THRESHOLD))


def _value(chosen: Mapping[str, Any], name: str) -> Any:
    """Return the value of an option: the chosen one, else that of the mode."""
    if name in chosen:
        return chosen[name]
    mode = mode_named(chosen.get(MODE, STANDARD.name))
    if name == PREVIEW:
        shown = mode.tool_result_preview
        return shown and (shown.threshold_tokens, shown.preview_tokens)
    group, _, inner = name.rpartition(".")
    held: Any = {MODE: mode.name, CLEARED: CompactionOptions().clear_at_least_tokens}
    return held[name] if name in held else getattr(mode.protect if group else mode, inner)


def _never(tokens: int, budget: int | float) -> bool:
    """Return whether results of a total of so many tokens are never cleared early."""
    return isinstance(budget, int) and tokens > SMALL * budget
