"""Every setting of the Strands facade, as models from which code and documentation are generated.

A part has the same settings in a configuration and as a plugin of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from backscroll.compaction.modes import STANDARD, Mode, mode_named
from backscroll.compaction.options import CachePricing, Protection, ToolResultPreview
from backscroll.compaction.strategies import DEFAULT_ORDER
from backscroll.errors import ConfigurationError
from backscroll.integrations.settings import Count, M, PositiveShare, SettingsModel, Text, read, shown, unknown_key

AUTO, AGENTIC = "auto", "agentic"
TRUNCATE, SUMMARIZE = "truncate", "summarize"
RETRIEVAL_TOOL = "retrieve_offloaded_content"
TARGET = 0.5  # share of the window at which `truncate` ends
_OF_THRESHOLD = 0.75  # the same for low thresholds, as a share of the threshold
_OF_LONG = 0.6  # default preview, as a share of the threshold
_FIXED = 2  # messages that a window must hold in addition to protected ones
_ONLY = {TRUNCATE: ("window_size",), SUMMARIZE: ("summary_ratio", "system_prompt", "model")}
OPTIONS = (
    *("mode", "store", "session", "storage", "lease", "redact", "on_event", "tokenizer"),
    *("budget", "compact_at", "compact_to", "clear_at_least_tokens", "plan_ahead", "cache_pricing", "cache_marks"),
)
"""Options of `backscroll.AsyncContextManager` that plugins accept."""


def _model(value: Any) -> Any:
    if not callable(getattr(value, "stream", None)):
        raise ValueError("a Strands model with a method `stream`")
    return value


def _storage(value: Any) -> Any:
    if not callable(getattr(value, "write", None)) and not callable(getattr(value, "store", None)):
        raise ValueError("a Strands storage with a method `write` or `store`")
    return value


class Proactive(SettingsModel):
    """When compression starts."""

    threshold: PositiveShare = 0.7
    """share of the model's window at which compression starts; above 0, at most 1"""


class Compression(SettingsModel):
    """How requests are kept small."""

    method: Literal["truncate", "summarize"] = "truncate"
    """`truncate`: shorten long results, then drop the oldest messages, which a digest written by code covers.
    `summarize`: replace the oldest messages by a model's summary
    """
    proactive: bool | Proactive = True
    """compress before the window is full; `False`: only if a request would not fit, or the provider rejected it"""
    window_size: Annotated[int, Field(ge=8)] = 40  # a window below 8 would be compacted at every step
    """`truncate` only: maximum messages per request; above it the oldest are dropped, down to half; at least 8"""
    summary_ratio: Annotated[float, Field(ge=0.1, le=0.8)] = 0.3
    """`summarize` only: share of the threshold to free by summarizing the oldest messages; 0.1 to 0.8"""
    protect_first: Count = 1
    """number of first messages that stay in every request"""
    protect_last: Count = 10
    """number of last messages that stay in every request"""
    system_prompt: Text | None = None
    """`summarize` only: system prompt of the summarizer; default: `DEFAULT_PROMPT`"""
    model: Annotated[Any, AfterValidator(_model)] = None
    """`summarize` only: the model that writes summaries; default: the agent's `aux_model`"""

    @property
    def threshold(self) -> float | None:
        """Share of the window at which compression starts; `None`: only if a request would not fit."""
        if isinstance(self.proactive, Proactive):
            return self.proactive.threshold
        return Proactive().threshold if self.proactive else None

    @property
    def max_messages(self) -> int | None:
        """Maximum messages of a request; `None` with `summarize`: no limit."""
        return self.window_size if self.method == TRUNCATE else None

    @property
    def protected_last(self) -> int:
        """`protect_last`; the default is at most half of a small window."""
        if self.max_messages is None or "protect_last" in self.model_fields_set:
            return self.protect_last
        return max(0, min(self.protect_last, self.window_size // 2 - self.protect_first))

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        other = SUMMARIZE if self.method == TRUNCATE else TRUNCATE
        for name in _ONLY[other]:
            if name in self.model_fields_set:
                raise ConfigurationError(
                    f"`compression.{name}` belongs to the method {other!r}, but the method is {self.method!r}: remove "
                    f"it, or set method={other!r}"
                )
        if self.max_messages is not None and self.protect_first + self.protected_last + _FIXED > self.max_messages:
            raise ConfigurationError(
                f"`compression.window_size` ({self.window_size}) cannot hold `protect_first` ({self.protect_first}), "
                f"`protect_last` ({self.protected_last}) and {_FIXED} more: raise the window or protect fewer messages"
            )
        return self


class Offloading(SettingsModel):
    """How long tool results are shown."""

    threshold: Annotated[int, Field(ge=2)] = 2_500
    """tokens above which a tool result is long"""
    preview_tokens: Annotated[int, Field(ge=1)] = 1_500
    """tokens of its preview; below the threshold"""
    when: Literal["seen", "arrival"] = "seen"
    """`seen`: with the next compression after the model saw it whole. `arrival`: at once. Results over a quarter of the
    window are always shortened at once
    """
    tool_result_storage: Annotated[Any, AfterValidator(_storage)] = None
    """a storage that also receives long results, block by block; the conversation itself always keeps them"""

    @property
    def preview(self) -> ToolResultPreview:
        """The manager's option; if only one of the two sizes was given, the other follows from it."""
        over, keep = self.threshold, self.preview_tokens
        if "preview_tokens" not in self.model_fields_set:
            keep = max(1, min(keep, int(over * _OF_LONG)))
        elif "threshold" not in self.model_fields_set:
            over = max(over, int(keep / _OF_LONG))
        if keep >= over:
            raise ConfigurationError(
                f"`offloader.preview_tokens` ({keep}) must be below `offloader.threshold` ({over}): lower the first or "
                "raise the second"
            )
        return ToolResultPreview(over, keep, self.when, ("recall", RETRIEVAL_TOOL))

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        _ = self.preview
        return self


class Config(SettingsModel):
    """A configuration of the facade."""

    strategy: Literal["auto", "agentic"] | None = None
    """with a strategy, everything is on and the given keys override it; `agentic`: the model also manages its own
    context. Without one, only the given parts are on
    """
    compression: bool | Literal["truncate", "summarize"] | Compression | None = None
    """keep requests small: `True`, `False`, the name of a method, or these settings"""
    offloader: bool | Offloading | None = None
    """show long tool results as previews: `True`, `False`, or these settings"""


@dataclass(frozen=True, slots=True)
class FacadeConfig:
    """A checked configuration: which parts are on."""

    compression: Compression | None = None
    offloading: Offloading | None = None
    agentic: bool = False


def read_config(config: Any) -> FacadeConfig:
    """Check `"auto"`, `"agentic"` or a configuration.

    With a strategy everything is on, and given keys override it; without one only the given parts are on.

    Raises:
        ConfigurationError: Names what is wrong.
    """
    if isinstance(config, str):
        config = {"strategy": config}
    if not isinstance(config, Mapping):
        raise ConfigurationError(f"`config` must be 'auto', 'agentic' or a mapping, not {shown(config)}")
    off = {name: False for name, value in config.items() if value is None and name in ("compression", "offloader")}
    found = read(Config, {**config, **off})
    on = found.strategy is not None
    return FacadeConfig(
        _part(on if found.compression is None else found.compression, Compression),
        _part(on if found.offloader is None else found.offloader, Offloading),
        agentic=found.strategy == AGENTIC,
    )


def _part(value: Any, model: type[M]) -> M | None:
    """Return a part that was given as settings, as the name of its method, or as a switch."""
    if isinstance(value, bool):
        return model() if value else None
    return model.model_validate({"method": value} if isinstance(value, str) else value)


def check_options(options: Mapping[str, Any]) -> None:
    """Raise `ConfigurationError` for an unknown option."""
    for name in options:
        if name not in OPTIONS:
            raise ConfigurationError(f"unknown option `{name:.60}`; {unknown_key(name, OPTIONS)}")


def core_options(
    compression: Compression | None, offloading: Offloading | None, mode: str = STANDARD.name
) -> dict[str, Any]:
    """Return the settings as options of `backscroll.AsyncContextManager`.

    `mode`: the preset, which holds for what the settings leave to their defaults. Raises `ConfigurationError` if it is
    unknown.
    """
    preset, working_set = mode_named(mode), mode_named(mode).protect.working_set
    options: dict[str, Any] = {"protect": Protection(recent=0.0, working_set=working_set)}
    if offloading is not None:
        options |= {"tool_result_preview": _preview(offloading, preset), "cache_pricing": CachePricing()}
    if compression is None:
        return options | {"strategies": [], "compact_threshold": 1.0, "target_usage": 0.9}
    threshold = 1.0 if compression.threshold is None else compression.threshold
    folded = threshold * (1 - compression.summary_ratio)
    target = folded if compression.method == SUMMARIZE else min(TARGET, threshold * _OF_THRESHOLD)
    if preset is not STANDARD:
        target = min(target, preset.target_usage)
    names = (
        ["deduplicate", "excerpt", "digest"] if compression.method == TRUNCATE else ["deduplicate", "digest", "excerpt"]
    )
    if preset.strategies != DEFAULT_ORDER:  # of a mode whose digest needs its own
        names = list(preset.strategies)
    return options | {
        "strategies": names,
        "compact_threshold": threshold,
        "target_usage": target,
        "max_messages": compression.max_messages,
        "protect": Protection(
            recent=0.0, first=compression.protect_first, last=compression.protected_last, working_set=working_set
        ),
    }


def _preview(offloading: Offloading, preset: Mode) -> ToolResultPreview:
    """Return the previews of a mode where no size is given."""
    given = offloading.preview
    if preset.tool_result_preview is None or not {"threshold", "preview_tokens", "when"}.isdisjoint(
        offloading.model_fields_set
    ):
        return given
    return replace(preset.tool_result_preview, exempt_tools=given.exempt_tools)
