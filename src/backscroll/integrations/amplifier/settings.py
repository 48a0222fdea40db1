"""Every option of an Amplifier configuration.

The names are those of the context contract, of its documentation site, and of the reference modules context-simple and
context-persistent, so that their configurations work unchanged.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from backscroll.compaction.modes import STANDARD, mode_named
from backscroll.compaction.options import CachePricing, Protection
from backscroll.compaction.strategies import AUTO, STRATEGIES
from backscroll.compaction.strategies.excerpt import ExcerptStrategy
from backscroll.compaction.summarization import LEAST_WINDOW, MOST_INSTRUCTIONS
from backscroll.errors import ConfigurationError
from backscroll.integrations.settings import Count, PositiveShare, SettingsModel, Share, Text, nearest, read
from backscroll.stores.options import StorageOptions
from backscroll.tokens.budget import BudgetOptions

TRUNCATE, SUMMARIZE = "truncate", "summarize"
ALWAYS = "always"
SIMPLE_MARGIN = 4_096  # tokens that context-simple keeps free of a window
NOTICE = 800  # tokens that it keeps for its notice
_TARGET, _RESULTS = 0.50, 5  # the host's own defaults in the mode `standard`
_CHARACTERS = 4  # per token, for lengths given in characters
COMPACTIONS = ("auto", SUMMARIZE, *STRATEGIES)
SUMMARIZED = ("auto", SUMMARIZE, "digest", "importance")  # these summarize the messages that leave a view


def _compaction(name: Any) -> Any:
    if name not in COMPACTIONS:
        raise ValueError(f"one of {', '.join(COMPACTIONS)}")
    return name


class Persistence(SettingsModel):
    """The transcript, as a mapping."""

    enabled: bool | None = None
    """whether to keep a transcript; default: only without a `store`"""
    storage_path: Text | None = None
    """like the option `storage_path`, and takes precedence"""
    transcript_path: Text | None = None
    """like the option `transcript_path`, and takes precedence"""


class PriceSettings(SettingsModel):
    """Prices relative to an uncached input token."""

    read: Share = CachePricing().read
    """price of a token read from the provider's cache"""
    write: Annotated[float, Field(ge=0)] = CachePricing().write
    """price of a token written to it; at least `read`"""
    ttl_seconds: Annotated[float, Field(gt=0)] = CachePricing().ttl_seconds
    """seconds after which the provider drops its cache"""


class Config(SettingsModel):
    """A configuration as the user writes it."""

    contract: Literal["2.1.0", "2.1", "2.0", "1.0", "1"] = "2.1.0"
    """the contract to implement; in `1.0` the host calls `should_compact` and `compact` and sends `get_messages`"""
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    """input tokens of a request if no provider names its window; the window if one names only its output limit.
    Default: by the model's window, else 200,000
    """
    windows: dict[Text, Annotated[int, Field(ge=1)]] | None = None
    """windows in tokens by model name, before the built-in table of known models"""
    compact_threshold: PositiveShare | None = None
    """share of the budget at which a compaction starts; default: by `mode`, 0.92 or 0.75"""
    compaction_threshold: PositiveShare | None = None
    """the contract's name for `compact_threshold`"""
    mode: Literal["standard", "lean", "facts"] = "standard"
    """`standard`: a hand-over like a colleague's notes, then the newest messages. `lean`: cost least per request.
    `facts`: most single facts per token. A mode sets the defaults of `compact_threshold`, `target_usage`,
    `protected_recent`, `working_set` and `protected_tool_results`, and how long results and the digest are shown
    """
    target_usage: PositiveShare | None = None
    """share of the budget at which a compaction ends; default: by `mode`, 0.50, 0.35 or 0.55"""
    compact_at: Annotated[int, Field(ge=1)] | None = None
    """tokens of a request at which a compaction starts even if the budget is larger; default: by `compact_threshold`"""
    compact_to: Annotated[int, Field(ge=1)] | None = None
    """tokens of a request at which a compaction ends; below `compact_at`; default: by `target_usage`"""
    protected_recent: Share | None = None
    """share of the budget, in tokens: the newest messages up to it are spared if possible; default: by `mode`, 0.15 or
    0.10
    """
    working_set: Share | None = None
    """share of the budget, in tokens: loaded skills, instruction files, plans and lately read files up to it are spared
    if possible; default: by `mode`, 0.10 or 0.25
    """
    protected_tool_results: Count | None = None
    """number of newest tool results that stay whole if possible; default: by `mode`, 5, or 0 in others"""
    max_messages: Annotated[int, Field(ge=8)] | None = None
    """maximum messages per request; older ones are summarized; at least 8; by default no limit"""
    compaction_strategy: Annotated[str, BeforeValidator(_compaction)] = "auto"
    """`auto`: all strategies, least harmful first. `truncate`: shorten results, then drop the oldest messages.
    `summarize`: replace the oldest turns by a summary that a model of the host writes. Or the name of one of
    Backscroll's own strategies
    """
    summarizer: bool | None = None
    """whether a model of the host writes summaries, in the background; default: only with
    `compaction_strategy: summarize`. Until it has answered, code writes them
    """
    summary_provider: Text | None = None
    """name of the mounted provider for summaries; default: that of the newest request"""
    summary_model: Text | None = None
    """model for summaries, if the provider lets a request choose; default: its own"""
    summary_context_tokens: Annotated[int, Field(ge=LEAST_WINDOW)] = 32_000
    """maximum input tokens of one summary call; longer input is summarized in parts; at least 2,000"""
    summary_wait_seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """maximum seconds that a request waits for a running summary; 0: do not wait"""
    summary_reuse_prefix: bool = False
    """ask for the summary as one more turn of the newest request, whose beginning the provider has cached; only with
    the request's own model, so without `summary_model`
    """
    summary_instructions: Annotated[str, Field(min_length=1, max_length=MOST_INSTRUCTIONS)] | None = None
    """text added to the prompt for summaries, such as what to keep in this field of work; at most 16,384 characters"""
    truncate_chars: Annotated[int, Field(ge=16 * _CHARACTERS)] | None = None
    """characters to keep of a long argument or text, at least 64; long results keep their ends and relevant lines"""
    truncate_boundary: Text | None = None
    """no effect: texts are cut at line ends"""
    preserve_system: bool = True
    """keep leading system messages in every request; `false` is ignored with a warning"""
    persistence: bool | Persistence = False
    """keep the conversation on disk: `true` together with an option that names the place, or a mapping with `enabled`,
    `storage_path` or `transcript_path`
    """
    storage_path: Text | None = None
    """folder of transcripts; the session's file is `<session id>.jsonl`. A path alone turns persistence on"""
    store: Text | None = None
    """address of a store, such as `sqlite:///agent.db`, instead of a transcript. It keeps the session under the host's
    session id with its plans, so that the next request after a resume is identical
    """
    blob_store: Text | None = None
    """folder or `s3://bucket/prefix` for the store's large messages; default: the store itself"""
    blob_threshold_bytes: Count = 65_536
    """minimum size of a large message in bytes"""
    encryption_key_env: Text | None = None
    """name of the environment variable with the encryption key of the store, 32 bytes as base64 text; default: not
    encrypted
    """
    transcript_path: Text | None = None
    """path of the transcript file, one message a line"""
    memory_files: list[Text] = Field([])
    """files that are read when the conversation begins and put at its start as system messages"""
    recall_tool: bool | Literal["always"] = True
    """mount the tool `recall`, with which the model reads what a request left out. `true`: with the first prompt, if
    the session has other tools. `always`: at once
    """
    compact_tool: bool | Literal["always"] = False
    """mount the tool `compact`, with which the model asks for a compaction and says why. `true` and `always`: as for
    `recall_tool`
    """
    budget_formula: Literal["contract", "context-simple"] = "contract"
    """`contract`: the window minus the output limit minus 1,000. `context-simple`: the window minus half the output
    limit, 4,096 and `compaction_notice_token_reserve`
    """
    output_reserve_fraction: Share | None = None
    """share of the provider's output limit to keep free; default: 1.0, or 0.5 with `context-simple`"""
    margin_tokens: Count | None = None
    """tokens to keep free of the window; default: by the formula"""
    overhead_tokens: Count | None = None
    """tokens of a request outside the messages, such as tool definitions; default: learned from reported usage"""
    clear_at_least_tokens: Count = 5_000
    """clear old tool results early only if this frees at least this many tokens; 0: never clear early"""
    plan_ahead: bool = True
    """prepare a compaction that will soon be due in a thread, so that no request waits for it"""
    cache_pricing: PriceSettings | None = None
    """prices for that decision, relative to an uncached input token, and the lifetime of the provider's cache"""
    tokenizer: Text = "auto"
    """`auto` (exact o200k, offline), the name of another vocabulary, or `estimate`"""
    model: Text | None = None
    """model name, for its window, token factor and image rules; a model named by the provider takes precedence"""
    compaction_notice_enabled: bool = True
    """start the summary with a notice; `false` is ignored with a warning"""
    compaction_notice_token_reserve: Count = NOTICE
    """tokens kept free for the notice with the formula `context-simple`; otherwise the notice is counted"""
    compaction_notice_verbosity: Any = None
    """no effect: the notice always says how much was compacted and how to read it"""
    compaction_notice_min_level: Any = None
    """no effect: there is a notice as soon as messages are left out"""


@dataclass(frozen=True, slots=True)
class Settings:
    """A checked configuration and the options derived from it."""

    config: Config
    options: Mapping[str, Any] = field(repr=False)  # includes the key
    """Arguments of `AsyncContextManager`."""
    storage_path: str | None
    """Folder of the transcript; `None`: no transcript, or its file is named."""
    transcript_path: str | None
    summarizer: bool
    """Whether a provider writes summaries."""
    ignored: tuple[tuple[str, str], ...] = ()
    """Ignored options, each with the reason."""


def read_settings(config: Mapping[str, Any] | None) -> Settings:
    """Check a configuration and derive the options.

    Unknown names are only listed in `ignored`, since a host may pass on options meant for others.

    Raises:
        ConfigurationError: A value cannot work.
    """
    given = dict(config or {})
    if "encryption_key" in given:
        raise ConfigurationError(
            "`encryption_key` must not be in a configuration, which hosts write into logs and metadata: put the key in "
            "an environment variable and set `encryption_key_env` to the variable's name"
        )
    ignored = _take_unknown(given, Config.model_fields)
    if isinstance(given.get("persistence"), Mapping):
        given["persistence"] = dict(given["persistence"])
        ignored += _take_unknown(given["persistence"], Persistence.model_fields, "persistence.")
    found = read(Config, given)
    storage, transcript = _transcript(found)
    if not found.preserve_system:
        ignored.append(("preserve_system", "leading system messages always stay"))
    if not found.compaction_notice_enabled:
        ignored.append(("compaction_notice_enabled", "the summary always says that something was left out"))
    if found.summarizer and found.compaction_strategy not in SUMMARIZED:
        reason = f"`compaction_strategy` {found.compaction_strategy!r} has no summary; these do: "
        ignored.append(("summarizer", reason + ", ".join(SUMMARIZED)))
    wanted = found.compaction_strategy == SUMMARIZE if found.summarizer is None else found.summarizer
    summarizer = wanted and found.compaction_strategy in SUMMARIZED
    return Settings(
        config=found,
        options=_options(found),
        storage_path=storage,
        transcript_path=transcript,
        summarizer=summarizer,
        ignored=tuple(ignored),
    )


def _take_unknown(given: dict[str, Any], known: Iterable[str], part: str = "") -> list[tuple[str, str]]:
    """Remove unknown names from the configuration and return them with a reason."""
    unknown = [name for name in given if name not in known]
    for name in unknown:
        del given[name]
    return [(f"{part}{name}", "; ".join(filter(None, ("unknown option", nearest(name, known))))) for name in unknown]


def _transcript(found: Config) -> tuple[str | None, str | None]:
    """Return folder and file of the transcript; `None` for both if none is kept."""
    wanted, storage, transcript = found.persistence, found.storage_path, found.transcript_path
    if isinstance(wanted, Persistence):
        storage, transcript = wanted.storage_path or storage, wanted.transcript_path or transcript
        enabled = wanted.enabled if wanted.enabled is not None else not found.store
    else:
        enabled = bool((wanted and not found.store) or storage or transcript)
    if enabled and not (storage or transcript):
        raise ConfigurationError(
            "`persistence` needs a place: set `store` (an address), `storage_path` (a folder) or `transcript_path` "
            "(a file)"
        )
    if enabled and found.store:
        raise ConfigurationError(
            "`store` cannot be combined with a transcript: remove `store`, or `storage_path` and `transcript_path`"
        )
    return (storage, transcript) if enabled else (None, None)


def _options(found: Config) -> dict[str, Any]:
    simple = found.budget_formula == "context-simple"
    reserve, margin = found.output_reserve_fraction, found.margin_tokens
    if margin is None:
        margin = SIMPLE_MARGIN + found.compaction_notice_token_reserve if simple else 1_000
    share = reserve if reserve is not None else 0.5 if simple else 1.0
    same = {"mode", "compact_at", "compact_to", "max_messages", "plan_ahead", "overhead_tokens", "tokenizer", "model"}
    key, usual = _key(found.encryption_key_env), found.mode == STANDARD.name
    return found.model_dump(include=same) | {
        "budget": BudgetOptions(found.max_tokens, margin, share, found.windows),
        "compact_threshold": _threshold(found),
        "target_usage": _TARGET if found.target_usage is None and usual else found.target_usage,
        "protect": _protection(found),
        "clear_at_least_tokens": found.clear_at_least_tokens or None,
        "cache_pricing": _cache_pricing(found),
        "storage": StorageOptions(found.blob_store, found.blob_threshold_bytes, key),
        "strategies": _strategies(found.compaction_strategy, found.truncate_chars),
    }


def _protection(found: Config) -> Protection:
    """Return what compactions spare: what the mode says, except what is given."""
    preset = mode_named(found.mode).protect
    results = _RESULTS if found.mode == STANDARD.name else preset.results
    return Protection(
        preset.recent if found.protected_recent is None else found.protected_recent,
        results if found.protected_tool_results is None else found.protected_tool_results,
        working_set=preset.working_set if found.working_set is None else found.working_set,
    )


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    if not os.environ.get(variable):
        raise ConfigurationError(
            "`encryption_key_env` names no environment variable that is set: use the name of one that holds the key. "
            "The value is not shown, since it may be the key itself"
        )
    return os.environ[variable]


def _cache_pricing(found: Config) -> CachePricing | None:
    if found.cache_pricing is not None:
        return CachePricing(**found.cache_pricing.model_dump())
    return CachePricing() if found.compaction_strategy == "auto" else None


def _threshold(found: Config) -> float | None:
    one, other = found.compact_threshold, found.compaction_threshold
    if one is not None and other is not None and one != other:
        raise ConfigurationError(
            f"`compact_threshold` ({one}) and `compaction_threshold` ({other}) are the same option: set only one"
        )
    return one if other is None else other


def _strategies(name: str, characters: int | None) -> str | list[Any]:
    if name == "auto" and characters is None:
        return AUTO
    keep = None if characters is None else characters // _CHARACTERS
    excerpt = ExcerptStrategy() if keep is None else ExcerptStrategy(over=max(ExcerptStrategy().over, keep), keep=keep)
    ladder: dict[str, list[Any]] = {
        "auto": ["deduplicate", excerpt, "digest"],
        TRUNCATE: ["deduplicate", excerpt, "truncate"],
        SUMMARIZE: ["deduplicate", "digest"],
        "importance": ["deduplicate", excerpt, "importance"],
        "excerpt": [excerpt],
    }
    return ladder.get(name, [name])
