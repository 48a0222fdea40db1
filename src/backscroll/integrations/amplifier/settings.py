"""Every option that an Amplifier configuration may hold, and what it does here. Reads and checks; does nothing else.

The names are those of the context contract, of its documentation site, and of the reference modules context-simple and
context-persistent, so that their configurations can stay as they are.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from backscroll.compaction.cache_pricing import CachePricing
from backscroll.compaction.options import Protection
from backscroll.compaction.strategies import AUTO, STRATEGIES
from backscroll.compaction.strategies.excerpt import ExcerptStrategy
from backscroll.compaction.summarization import LEAST_WINDOW
from backscroll.errors import ConfigurationError
from backscroll.integrations.settings import Count, PositiveShare, SettingsModel, Share, Text, nearest, read
from backscroll.stores.options import StorageOptions
from backscroll.tokens.budget import BudgetOptions

TRUNCATE, SUMMARIZE = "truncate", "summarize"
ALWAYS = "always"
SIMPLE_MARGIN = 4_096  # tokens that context-simple keeps free of a window
NOTICE = 800  # tokens that it keeps for its notice
_CHARACTERS = 4  # for each token, where a length is given in characters
COMPACTIONS = ("auto", SUMMARIZE, *STRATEGIES)
SUMMARIZED = ("auto", SUMMARIZE, "digest", "importance")  # these put a summary in the place of what leaves


def _compaction(name: Any) -> Any:
    if name not in COMPACTIONS:
        raise ValueError(f"one of {', '.join(COMPACTIONS)}")
    return name


class Persistence(SettingsModel):
    """The transcript, as a mapping."""

    enabled: bool | None = None
    """whether there is a transcript; by default where no `store` is given"""
    storage_path: Text | None = None
    """as the option `storage_path`, before which it goes"""
    transcript_path: Text | None = None
    """as the option `transcript_path`, before which it goes"""


class PriceSettings(SettingsModel):
    """Prices, relative to an input token that no cache holds."""

    read: Share = CachePricing().read
    """price of a token that is read from the provider's cache"""
    write: Annotated[float, Field(ge=0)] = CachePricing().write
    """price of a token that is written to it; at least `read`"""
    ttl_seconds: Annotated[float, Field(gt=0)] = CachePricing().ttl_seconds
    """seconds after which it is cold"""


class Config(SettingsModel):
    """A configuration as it is given."""

    contract: Literal["2.1.0", "2.1", "2.0", "1.0", "1"] = "2.1.0"
    """the protocol to serve; `1.0` is `should_compact`, `compact`, and `get_messages` for what is to be sent"""
    max_tokens: Annotated[int, Field(ge=1)] = 200_000
    """input tokens of a request where no provider tells its window; the window where one tells its output only"""
    compact_threshold: PositiveShare = 0.92
    """share of the budget at which a compaction starts"""
    compaction_threshold: PositiveShare | None = None
    """the same, as the contract names it"""
    target_usage: PositiveShare = 0.50
    """share of the budget that a compaction aims at"""
    protected_recent: Share = 0.30
    """share of the budget, in tokens, whose newest messages are spared where possible"""
    protected_tool_results: Count = 5
    """how many of the newest tool results stay whole where possible"""
    max_messages: Annotated[int, Field(ge=8)] | None = None
    """messages of a request from which its oldest are folded into the summary; at least 8"""
    compaction_strategy: Annotated[str, BeforeValidator(_compaction)] = "auto"
    """`auto`: everything, least harm first. `truncate`: results are cut, then the oldest messages dropped. `summarize`:
    the oldest turns are told by a summary, which a model of the host writes. Or one of Backscroll's own strategies
    alone
    """
    summarizer: bool | None = None
    """whether a model of the host writes summaries, beside the requests; by default with
    `compaction_strategy: summarize` only. Without one, and until it has answered, code writes them
    """
    summary_provider: Text | None = None
    """the mounted provider that is asked for summaries; by default the one of the newest request"""
    summary_model: Text | None = None
    """the model that it is asked to use, where it lets a request choose; by default its own"""
    summary_context_tokens: Annotated[int, Field(ge=LEAST_WINDOW)] = 32_000
    """tokens that one call for a summary may take in; more is summarised in parts; at least 2,000"""
    summary_wait_seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """seconds that a request waits for a summary which is being made; 0 = not at all"""
    summary_reuse_prefix: bool = False
    """ask for it as one more turn of the newest request, whose beginning the provider has cached; by its own model, so
    without `summary_model`
    """
    truncate_chars: Annotated[int, Field(ge=16 * _CHARACTERS)] | None = None
    """characters that stay of a long argument or text, at least 64; of a long result its ends and the lines that matter
    stay
    """
    truncate_boundary: Text | None = None
    """No effect: cuts are made where a line ends"""
    preserve_system: bool = True
    """leading system messages stay in every request; `false` is ignored with a warning"""
    persistence: bool | Persistence = False
    """keep the conversation on disk: `true` with a place given beside it, or a mapping that holds `enabled`,
    `storage_path` or `transcript_path`
    """
    storage_path: Text | None = None
    """folder of transcripts; the session's own is `<session id>.jsonl` in it. A path alone turns persistence on"""
    store: Text | None = None
    """address of a store, such as `sqlite:///agent.db`, that keeps the session under the host's session id: with its
    plans, so that the next request after a resume is the same. Instead of a transcript
    """
    blob_store: Text | None = None
    """folder, or `s3://bucket/prefix`, for the large messages of the store, instead of the store itself"""
    blob_threshold_bytes: Count = 65_536
    """bytes from which a stored message is large"""
    encryption_key_env: Text | None = None
    """name of the environment variable that holds the key, 32 bytes as base64 text, by which everything in the store is
    encrypted
    """
    transcript_path: Text | None = None
    """file of the transcript itself, one message a line"""
    memory_files: list[Text] = Field([])
    """files whose text stands at the beginning of the conversation as system messages, read when it begins"""
    recall_tool: bool | Literal["always"] = True
    """mount the tool `recall`, with which the model reads what a request left out: with the first prompt of a session
    that has other tools, or `always`, at once
    """
    budget_formula: Literal["contract", "context-simple"] = "contract"
    """`contract`: window less output less 1,000. `context-simple`: half of the output, a margin of 4,096, and
    `compaction_notice_token_reserve`
    """
    output_reserve_fraction: Share | None = None
    """share of the provider's largest output that is kept free of its window: 1.0, or 0.5 by `context-simple`"""
    margin_tokens: Count | None = None
    """tokens kept free of the window instead of 1,000"""
    overhead_tokens: Count | None = None
    """tokens outside the messages, such as tool definitions; by default learned from reported usage"""
    clear_at_least_tokens: Count = 20_000
    """tokens that old results must be worth before they are masked for their price; 0 = never"""
    cache_pricing: PriceSettings | None = None
    """prices by which that is reckoned, relative to a plain input token; and seconds after which a cache is cold"""
    tokenizer: Text = "auto"
    """`auto` (exact o200k, offline), another vocabulary, `estimate`"""
    model: Text | None = None
    """name of the model, for its factor and image rules; the provider's goes first"""
    compaction_notice_enabled: bool = True
    """the summary's first line is the notice; `false` is ignored with a warning"""
    compaction_notice_token_reserve: Count = NOTICE
    """tokens kept free for the notice by the formula `context-simple`; else none is needed, as it is counted"""
    compaction_notice_verbosity: Any = None
    """No effect: the notice says how much was compacted and how to get it back"""
    compaction_notice_min_level: Any = None
    """No effect: there is a notice as soon as messages are left out"""


@dataclass(frozen=True, slots=True)
class Settings:
    """A configuration that was read, and what follows from it."""

    config: Config
    options: Mapping[str, Any] = field(repr=False)  # among them the key
    """What `AsyncContextManager` is made with."""
    storage_path: str | None
    """Folder of the transcript; None where none is kept, or its file is named."""
    transcript_path: str | None
    summarizer: bool
    """Whether a provider is asked for summaries."""
    ignored: tuple[tuple[str, str], ...] = ()
    """Options that are not followed, each with the reason."""


def read_settings(config: Mapping[str, Any] | None) -> Settings:
    """Checks a configuration and says what is to be done. Raises `ConfigurationError` for a value that cannot work;
    names that nobody knows are among the `ignored`, since a host may hand on what is meant for others.
    """
    given = dict(config or {})
    if "encryption_key" in given:
        raise ConfigurationError(
            "encryption_key must not be in a configuration, which hosts write into logs and metadata: put the key into "
            "an environment variable and give the variable's name as encryption_key_env"
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
        reason = f"compaction_strategy {found.compaction_strategy!r} has no summary; those that do: "
        ignored.append(("summarizer", reason + ", ".join(SUMMARIZED)))
    wanted = found.compaction_strategy == SUMMARIZE if found.summarizer is None else found.summarizer
    summarizer = wanted and found.compaction_strategy in SUMMARIZED
    return Settings(found, _options(found), storage, transcript, summarizer, tuple(ignored))


def _take_unknown(given: dict[str, Any], known: Iterable[str], part: str = "") -> list[tuple[str, str]]:
    """Takes the names that nobody knows out of what was given."""
    unknown = [name for name in given if name not in known]
    for name in unknown:
        del given[name]
    return [(f"{part}{name}", "; ".join(filter(None, ("unknown option", nearest(name, known))))) for name in unknown]


def _transcript(found: Config) -> tuple[str | None, str | None]:
    """Folder and file of the transcript; neither where nothing is to be kept."""
    wanted, storage, transcript = found.persistence, found.storage_path, found.transcript_path
    if isinstance(wanted, Persistence):
        storage, transcript = wanted.storage_path or storage, wanted.transcript_path or transcript
        enabled = wanted.enabled if wanted.enabled is not None else not found.store
    else:
        enabled = bool((wanted and not found.store) or storage or transcript)
    if enabled and not (storage or transcript):
        raise ConfigurationError(
            "persistence needs a place: give store (an address), storage_path (a folder) or transcript_path (a file)"
        )
    if enabled and found.store:
        raise ConfigurationError("give either a store or a transcript (storage_path, transcript_path), not both")
    return (storage, transcript) if enabled else (None, None)


def _options(found: Config) -> dict[str, Any]:
    simple = found.budget_formula == "context-simple"
    reserve, margin = found.output_reserve_fraction, found.margin_tokens
    if margin is None:
        margin = SIMPLE_MARGIN + found.compaction_notice_token_reserve if simple else 1_000
    same = {"target_usage", "max_messages", "overhead_tokens", "tokenizer", "model"}
    key = _key(found.encryption_key_env)
    return found.model_dump(include=same) | {
        "budget": BudgetOptions(found.max_tokens, margin, reserve if reserve is not None else 0.5 if simple else 1.0),
        "compact_threshold": _threshold(found),
        "protect": Protection(found.protected_recent, found.protected_tool_results),
        "clear_at_least_tokens": found.clear_at_least_tokens or None,
        "cache_pricing": _cache_pricing(found),
        "storage": StorageOptions(found.blob_store, found.blob_threshold_bytes, key),
        "strategies": _strategies(found.compaction_strategy, found.truncate_chars),
    }


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    if not os.environ.get(variable):
        raise ConfigurationError(
            "encryption_key_env names no environment variable that is set: give the name of one that holds the key. "
            "What was given is not shown, since it may be the key itself"
        )
    return os.environ[variable]


def _cache_pricing(found: Config) -> CachePricing | None:
    if found.cache_pricing is not None:
        return CachePricing(**found.cache_pricing.model_dump())
    return CachePricing() if found.compaction_strategy == "auto" else None


def _threshold(found: Config) -> float:
    one, other = found.compact_threshold, found.compaction_threshold
    if other is not None and "compact_threshold" in found.model_fields_set and one != other:
        raise ConfigurationError(
            f"compact_threshold ({one}) and compaction_threshold ({other}) are two names of one option: give one"
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
