"""Every setting of the Strands facade, as models from which code and documentation are made.

Reads and checks; does nothing else. What a part is called in a configuration it is called as a plugin of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from backscroll.compaction.cache_pricing import CachePricing
from backscroll.compaction.options import Protection, ToolResultPreview
from backscroll.errors import ConfigurationError
from backscroll.integrations.settings import Count, M, PositiveShare, SettingsModel, Text, read, shown, unknown_key

AUTO, AGENTIC = "auto", "agentic"
TRUNCATE, SUMMARIZE = "truncate", "summarize"
RETRIEVAL_TOOL = "retrieve_offloaded_content"
TARGET = 0.5  # share of the window that `truncate` comes down to
_OF_THRESHOLD = 0.75  # the same where the threshold is lower than that, as a share of it
_OF_LONG = 0.6  # of what counts as long, a preview that nobody named
_FIXED = 2  # messages that a window must hold besides what is protected
_ONLY = {TRUNCATE: ("window_size",), SUMMARIZE: ("summary_ratio", "system_prompt", "model")}
OPTIONS = (
    *("store", "session", "storage", "lease", "redact", "on_event", "tokenizer"),
    *("budget", "clear_at_least_tokens", "cache_pricing"),
)
"""Options of `backscroll.AsyncContextManager` that stand beside the configuration."""


def _model(value: Any) -> Any:
    if not callable(getattr(value, "stream", None)):
        raise ValueError("a Strands model, which has a method `stream`")
    return value


def _storage(value: Any) -> Any:
    if not callable(getattr(value, "write", None)) and not callable(getattr(value, "store", None)):
        raise ValueError("a Strands storage, which has a method `write` or `store`")
    return value


class Proactive(SettingsModel):
    """When compression begins."""

    threshold: PositiveShare = 0.7
    """share of the model's window at which that begins; above 0, at most 1"""


class Compression(SettingsModel):
    """How requests are kept small."""

    method: Literal["truncate", "summarize"] = "truncate"
    """`truncate`: long results are cut, then the oldest messages leave, and a digest written by code tells of them.
    `summarize`: the oldest leave, and a model's summary stands in the digest
    """
    proactive: bool | Proactive = True
    """compress before the window is full; `False`: only where a request would not fit, or the provider refused it"""
    window_size: Annotated[int, Field(ge=8)] = 40  # below 8 a window would be folded at every step
    """`truncate` only: messages of a request from which its oldest leave, down to half; at least 8"""
    summary_ratio: Annotated[float, Field(ge=0.1, le=0.8)] = 0.3
    """`summarize` only: share of the threshold that is won by folding the oldest messages; 0.1 to 0.8"""
    protect_first: Count = 1
    """messages at the start that never leave a request"""
    protect_last: Count = 10
    """messages at the end that never leave a request"""
    system_prompt: Text | None = None
    """`summarize` only: what the summarizer is told, instead of the default prompt"""
    model: Annotated[Any, AfterValidator(_model)] = None
    """`summarize` only: the model that writes summaries; the agent's `aux_model` if none is named"""

    @property
    def threshold(self) -> float | None:
        """Share of the window at which compression begins; None = only where a request would not fit."""
        if isinstance(self.proactive, Proactive):
            return self.proactive.threshold
        return Proactive().threshold if self.proactive else None

    @property
    def max_messages(self) -> int | None:
        """Messages of a request; None with `summarize`, which has no such limit."""
        return self.window_size if self.method == TRUNCATE else None

    @property
    def protected_last(self) -> int:
        """`protect_last`; one that nobody gave is at most half of a small window."""
        if self.max_messages is None or "protect_last" in self.model_fields_set:
            return self.protect_last
        return max(0, min(self.protect_last, self.window_size // 2 - self.protect_first))

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        other = SUMMARIZE if self.method == TRUNCATE else TRUNCATE
        for name in _ONLY[other]:
            if name in self.model_fields_set:
                raise ConfigurationError(
                    f"compression.{name} belongs to the method {other!r}, and the method is {self.method!r}: leave it "
                    f"out, or give method={other!r}"
                )
        if self.max_messages is not None and self.protect_first + self.protected_last + _FIXED > self.max_messages:
            raise ConfigurationError(
                f"compression.window_size ({self.window_size}) cannot hold protect_first ({self.protect_first}), "
                f"protect_last ({self.protected_last}) and {_FIXED} more: raise the window or protect fewer messages"
            )
        return self


class Offloading(SettingsModel):
    """How long tool results are shown."""

    threshold: Annotated[int, Field(ge=2)] = 2_500
    """tokens from which a tool result is long"""
    preview_tokens: Annotated[int, Field(ge=1)] = 1_500
    """tokens of the preview that stands for it; below the threshold"""
    when: Literal["seen", "arrival"] = "seen"
    """`seen`: with the next compression after the model saw it whole. `arrival`: at once. One over a quarter of the
    window always at once
    """
    tool_result_storage: Annotated[Any, AfterValidator(_storage)] = None
    """where long results are stored as well, block by block; the conversation itself always keeps them"""

    @property
    def preview(self) -> ToolResultPreview:
        """The same as an option; where only one of the two sizes was given, the other follows from it."""
        over, keep = self.threshold, self.preview_tokens
        if "preview_tokens" not in self.model_fields_set:
            keep = max(1, min(keep, int(over * _OF_LONG)))
        elif "threshold" not in self.model_fields_set:
            over = max(over, int(keep / _OF_LONG))
        if keep >= over:
            raise ConfigurationError(
                f"offloader.preview_tokens ({keep}) must be below offloader.threshold ({over}): lower the one or raise "
                "the other"
            )
        return ToolResultPreview(over, keep, self.when, ("recall", RETRIEVAL_TOOL))

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        _ = self.preview
        return self


class Config(SettingsModel):
    """A configuration of the facade."""

    strategy: Literal["auto", "agentic"] | None = None
    """with one, everything is on and given keys override; `agentic`: the model manages its own context as well. Without
    one, only the given parts are on
    """
    compression: bool | Literal["truncate", "summarize"] | Compression | None = None
    """keep requests small: `True`, `False`, the name of a method, or these settings"""
    offloader: bool | Offloading | None = None
    """show long tool results as previews: `True`, `False`, or these settings"""


@dataclass(frozen=True, slots=True)
class FacadeConfig:
    """A configuration that was read: which parts are on."""

    compression: Compression | None = None
    offloading: Offloading | None = None
    agentic: bool = False


def read_config(config: Any) -> FacadeConfig:
    """Reads `"auto"`, `"agentic"` or a configuration. Raises `ConfigurationError`, which names what is wrong.

    With a strategy everything is on, and given keys override; without one only the given parts are on.
    """
    if isinstance(config, str):
        config = {"strategy": config}
    if not isinstance(config, Mapping):
        raise ConfigurationError(f"a configuration is 'auto', 'agentic' or a mapping, not {shown(config)}")
    off = {name: False for name, value in config.items() if value is None and name in ("compression", "offloader")}
    found = read(Config, {**config, **off})
    on = found.strategy is not None
    return FacadeConfig(
        _part(on if found.compression is None else found.compression, Compression),
        _part(on if found.offloader is None else found.offloader, Offloading),
        agentic=found.strategy == AGENTIC,
    )


def _part(value: Any, model: type[M]) -> M | None:
    """A part that was given as its settings, as the name of its method, or switched on or off."""
    if isinstance(value, bool):
        return model() if value else None
    return model.model_validate({"method": value} if isinstance(value, str) else value)


def check_options(options: Mapping[str, Any]) -> None:
    """Raises `ConfigurationError` for an option that nobody knows."""
    for name in options:
        if name not in OPTIONS:
            raise ConfigurationError(f"unknown option `{name:.60}`; {unknown_key(name, OPTIONS)}")


def core_options(compression: Compression | None, offloading: Offloading | None) -> dict[str, Any]:
    """The same as options of `backscroll.AsyncContextManager`."""
    options: dict[str, Any] = {"protect": Protection(recent=0.0)}
    if offloading is not None:
        options |= {"tool_result_preview": offloading.preview, "cache_pricing": CachePricing()}
    if compression is None:
        return options | {"strategies": [], "compact_threshold": 1.0, "target_usage": 0.9}
    threshold = 1.0 if compression.threshold is None else compression.threshold
    folded = threshold * (1 - compression.summary_ratio)
    target = folded if compression.method == SUMMARIZE else min(TARGET, threshold * _OF_THRESHOLD)
    names = (
        ["deduplicate", "excerpt", "digest"] if compression.method == TRUNCATE else ["deduplicate", "digest", "excerpt"]
    )
    return options | {
        "strategies": names,
        "compact_threshold": threshold,
        "target_usage": target,
        "max_messages": compression.max_messages,
        "protect": Protection(recent=0.0, first=compression.protect_first, last=compression.protected_last),
    }
