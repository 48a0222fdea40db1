"""Every setting of the Strands facade, and what it does here: one table, from which code and documentation are made.

Reads and checks; does nothing else. What a part is called in a configuration it is called as a plugin of its own.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from backscroll.compaction.cache_pricing import Prices
from backscroll.errors import ConfigurationError
from backscroll.integrations.settings import Setting, is_count, is_number, is_share, is_text, nearest, one_of
from backscroll.tokens.budget import ARRIVAL, SEEN, Previews

AUTO, AGENTIC = "auto", "agentic"
TRUNCATE, SUMMARIZE = "truncate", "summarize"
RETRIEVAL_TOOL = "retrieve_offloaded_content"
LEAST_WINDOW = 8  # messages below which a window would be folded at every step
TARGET = 0.5  # share of the window that `truncate` comes down to
_OF_THRESHOLD = 0.75  # the same where the threshold is lower than that, as a share of it
_OF_LONG = 0.6  # of what counts as long, a preview that nobody named
_FIXED = 2  # messages that a window must hold besides what is protected


def _is_threshold(value: Any) -> bool:
    return is_number(value) and 0 < value <= 1


def _is_proactive(value: Any) -> bool:
    return type(value) is bool or isinstance(value, Mapping)


def _is_model(value: Any) -> bool:
    return callable(getattr(value, "stream", None))


def _is_storage(value: Any) -> bool:
    return callable(getattr(value, "write", None)) or callable(getattr(value, "store", None))


SETTINGS = (
    Setting(
        "compression.method", TRUNCATE, one_of(TRUNCATE, SUMMARIZE), "'truncate' or 'summarize'",
        "`truncate`: long results are cut, then the oldest messages leave, and a digest written by code tells of them. "
        "`summarize`: the oldest leave, and a model's summary stands in the digest",
    ),
    Setting(
        "compression.proactive", True, _is_proactive, "True, False or {'threshold': r}",
        "compress before the window is full; `False`: only where a request would not fit, or the provider refused it",
    ),
    Setting(
        "compression.proactive.threshold", 0.7, _is_threshold, "a share above 0, at most 1",
        "share of the model's window at which that begins",
    ),
    Setting(
        "compression.window_size", 40, is_count(LEAST_WINDOW), f"a whole number of messages, at least {LEAST_WINDOW}",
        "`truncate` only: messages of a request from which its oldest leave, down to half; not one at every step",
    ),
    Setting(
        "compression.summary_ratio", 0.3, is_share(0.1, 0.8), "a share from 0.1 to 0.8",
        "`summarize` only: share of the threshold that is won by folding the oldest messages",
    ),
    Setting(
        "compression.protect_first", 1, is_count(0), "a whole number of messages",
        "messages at the start that never leave a request",
    ),
    Setting(
        "compression.protect_last", 10, is_count(0), "a whole number of messages",
        "messages at the end that never leave a request",
    ),
    Setting(
        "compression.system_prompt", None, is_text, "a text",
        "`summarize` only: what the summarizer is told, instead of the default prompt",
    ),
    Setting(
        "compression.model", None, _is_model, "a Strands model",
        "`summarize` only: the model that writes summaries; the agent's `aux_model` if none is named",
    ),
    Setting(
        "offloader.threshold", 2_500, is_count(2), "a whole number of tokens, at least 2",
        "tokens from which a tool result is long",
    ),
    Setting(
        "offloader.preview_tokens", 1_500, is_count(1), "a whole number of tokens, at least 1",
        "tokens of the preview that stands for it; below the threshold",
    ),
    Setting(
        "offloader.when", SEEN, one_of(SEEN, ARRIVAL), "'seen' or 'arrival'",
        "`seen`: with the next compression after the model saw it whole. `arrival`: at once. One over a quarter of the "
        "window always at once",
    ),
    Setting(
        "offloader.tool_result_storage", None, _is_storage, "a Strands storage",
        "where long results are stored as well, block by block; the conversation itself always keeps them",
    ),
)  # fmt: skip  # a table
BY_NAME = {setting.name: setting for setting in SETTINGS}
PARTS = ("compression", "offloader")
OPTIONS = (
    *("store", "session", "blobs", "offload_over", "encryption_key", "lease", "redact", "on_event", "tokenizer"),
    *("max_tokens", "min_batch_tokens", "prices"),
)
"""Options of `backscroll.AsyncContextManager` that stand beside the configuration."""


@dataclass(frozen=True, slots=True)
class Compression:
    """How requests are kept small."""

    method: str = TRUNCATE
    threshold: float | None = 0.7
    """None = only where a request would not fit."""
    window_size: int | None = 40
    """None with `summarize`."""
    summary_ratio: float = 0.3
    protect_first: int = 1
    protect_last: int = 10
    system_prompt: str | None = None
    model: Any = None


@dataclass(frozen=True, slots=True)
class Offloading:
    """How long tool results are shown."""

    previews: Previews = field(default_factory=Previews)
    storage: Any = None


@dataclass(frozen=True, slots=True)
class Parts:
    """A configuration that was read: which parts are on."""

    compression: Compression | None = None
    offloading: Offloading | None = None
    agentic: bool = False


def default(name: str) -> Any:
    """The default of a setting."""
    return BY_NAME[name].default


def read_config(config: Any) -> Parts:
    """Reads `"auto"`, `"agentic"` or a configuration. Raises `ConfigurationError`, which names what is wrong.

    With a strategy everything is on, and given keys override; without one only the given parts are on.
    """
    if isinstance(config, str):
        config = {"strategy": config}
    if not isinstance(config, Mapping):
        raise ConfigurationError(f"a configuration is 'auto', 'agentic' or a mapping, not {config!r:.80}")
    known = ("strategy", *PARTS)
    for name in config:
        if name not in known:
            raise ConfigurationError(f"unknown key {name!r:.60}; {_near(name, known)}")
    strategy = config.get("strategy")
    if strategy not in (None, AUTO, AGENTIC):
        raise ConfigurationError(f"strategy is 'auto' or 'agentic', not {strategy!r:.60}")
    on = strategy is not None
    return Parts(
        _part(config.get("compression", on), "compression", _compression_of),
        _part(config.get("offloader", on), "offloader", read_offloading),
        agentic=strategy == AGENTIC,
    )


def check_options(options: Mapping[str, Any]) -> None:
    """Raises `ConfigurationError` for an option that nobody knows."""
    for name in options:
        if name not in OPTIONS:
            raise ConfigurationError(f"unknown option {name!r:.60}; {_near(name, OPTIONS)}")


def _part(value: Any, name: str, read: Callable[[Mapping[str, Any]], Any]) -> Any:
    if value is False or value is None:
        return None
    if value is True:
        return read({})
    if isinstance(value, str) and name == "compression":
        return read({"method": value})
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"{name} is True, False or a mapping of options, not {value!r:.80}")
    return read(value)


def _compression_of(given: Mapping[str, Any]) -> Compression:
    return read_compression(given)


def read_compression(given: Mapping[str, Any]) -> Compression:
    """The options of `compression`, checked one by one and together."""
    values = _checked("compression", given)
    method, window = values["method"], values["window_size"]
    foreign = ("summary_ratio", "system_prompt", "model") if method == TRUNCATE else ("window_size",)
    for name in foreign:
        if given.get(name) is not None:
            other = SUMMARIZE if method == TRUNCATE else TRUNCATE
            raise ConfigurationError(
                f"compression.{name} belongs to the method {other!r}, and the method is {method!r}"
            )
    first, last = values["protect_first"], values["protect_last"]
    if method == TRUNCATE and "protect_last" not in given:
        last = max(0, min(last, window // 2 - first))
    if method == TRUNCATE and first + last + _FIXED > window:
        raise ConfigurationError(
            f"compression.window_size ({window}) cannot hold protect_first ({first}), protect_last ({last}) and "
            f"{_FIXED} more: raise the window or protect fewer messages"
        )
    return Compression(
        method=method,
        threshold=_threshold(values["proactive"]),
        window_size=window if method == TRUNCATE else None,
        summary_ratio=values["summary_ratio"],
        protect_first=first,
        protect_last=last,
        system_prompt=values["system_prompt"],
        model=values["model"],
    )


def _threshold(proactive: Any) -> float | None:
    if type(proactive) is bool:
        return float(default("compression.proactive.threshold")) if proactive else None
    values = _checked("compression.proactive", proactive)
    return float(values["threshold"])


def read_offloading(given: Mapping[str, Any]) -> Offloading:
    """The options of `offloader`; where only one of the two sizes is given, the other follows from it."""
    values = _checked("offloader", given)
    over, keep = values["threshold"], values["preview_tokens"]
    if given.get("preview_tokens") is None:
        keep = max(1, min(keep, int(over * _OF_LONG)))
    elif given.get("threshold") is None:
        over = max(over, int(keep / _OF_LONG))
    if keep >= over:
        raise ConfigurationError(f"offloader.preview_tokens ({keep}) must be below offloader.threshold ({over})")
    return Offloading(Previews(over, keep, values["when"], ("recall", RETRIEVAL_TOOL)), values["tool_result_storage"])


def _checked(part: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a part, with what was given. Raises `ConfigurationError`."""
    own = {name.removeprefix(f"{part}."): found for name, found in BY_NAME.items() if name.startswith(f"{part}.")}
    own = {name: found for name, found in own.items() if "." not in name}
    found = {name: setting.default for name, setting in own.items()}
    for name, value in given.items():
        if name not in own:
            raise ConfigurationError(f"unknown key {f'{part}.{name}':.60}; {_near(name, own)}")
        found[name] = own[name].checked(value)
    return found


def _near(name: Any, known: Collection[str]) -> str:
    return nearest(name, known) or f"known are {', '.join(map(repr, known))}"


def core_options(compression: Compression | None, offloading: Offloading | None) -> dict[str, Any]:
    """The same as options of `backscroll.AsyncContextManager`."""
    options: dict[str, Any] = {"protected_recent": 0.0}
    if offloading is not None:
        options |= {"previews": offloading.previews, "prices": Prices()}
    if compression is None:
        return options | {"strategies": [], "compact_threshold": 1.0, "target_usage": 0.9}
    threshold = 1.0 if compression.threshold is None else compression.threshold
    folded = threshold * (1 - compression.summary_ratio)
    target = folded if compression.method == SUMMARIZE else min(TARGET, threshold * _OF_THRESHOLD)
    names = ["supersede", "clip", "digest"] if compression.method == TRUNCATE else ["supersede", "digest", "clip"]
    return options | {
        "strategies": names,
        "compact_threshold": threshold,
        "target_usage": target,
        "max_messages": compression.window_size,
        "protected_first": compression.protect_first,
        "protected_last": compression.protect_last,
    }
