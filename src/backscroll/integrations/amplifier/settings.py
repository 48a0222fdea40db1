"""Every option that an Amplifier configuration may hold, and what it does here. Reads and checks; does nothing else.

The names are those of the context contract, of its documentation site, and of the reference modules context-simple and
context-persistent, so that their configurations can stay as they are.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from backscroll.compaction.cache_pricing import Prices
from backscroll.compaction.strategies import STRATEGIES
from backscroll.compaction.strategies.excerpt import ClipStrategy
from backscroll.errors import ConfigurationError
from backscroll.integrations.settings import Setting, is_count, is_number, is_share, is_text, nearest, one_of

TRUNCATE, SUMMARIZE = "truncate", "summarize"
ALWAYS = "always"
NO_EFFECT = "No effect: "
SIMPLE_MARGIN = 4_096  # tokens that context-simple keeps free of a window
NOTICE = 800  # tokens that it keeps for its notice
_CHARACTERS = 4  # for each token, where a length is given in characters

_is_count, _is_share = is_count(0), is_share(0, 1)


def _is_bool(value: Any) -> bool:
    return type(value) is bool


def _is_texts(value: Any) -> bool:
    return type(value) is list and all(map(is_text, value))


def _is_persistence(value: Any) -> bool:
    return _is_bool(value) or type(value) is dict


def _is_prices(value: Any) -> bool:
    known = ("cache_read", "cache_write", "cache_lifetime")
    return type(value) is dict and set(value) <= set(known) and all(map(is_number, value.values()))


CONTRACTS = ("2.1.0", "2.1", "2.0", "1.0", "1")
COMPACTIONS = ("auto", SUMMARIZE, *STRATEGIES)
TELLING = ("auto", SUMMARIZE, "digest", "importance")  # these put a summary in the place of what leaves
FORMULAS = ("contract", "context-simple")

SETTINGS = (
    Setting(
        "contract", "2.1.0", one_of(*CONTRACTS), f"one of {', '.join(CONTRACTS)}",
        "the protocol to serve; `1.0` is `should_compact`, `compact`, and `get_messages` for what is to be sent",
    ),
    Setting(
        "max_tokens", 200_000, _is_count, "a whole number of tokens",
        "input tokens of a request where no provider tells its window; the window where one tells its output only",
    ),
    Setting(
        "compact_threshold", 0.92, _is_share, "a share from 0 to 1",
        "share of the budget at which a compaction starts",
    ),
    Setting("compaction_threshold", None, _is_share, "a share from 0 to 1", "the same, as the contract names it"),
    Setting("target_usage", 0.50, _is_share, "a share from 0 to 1", "share of the budget that a compaction aims at"),
    Setting(
        "protected_recent", 0.30, _is_share, "a share from 0 to 1",
        "share of the budget, in tokens, whose newest messages are spared where possible",
    ),
    Setting(
        "protected_tool_results", 5, _is_count, "a whole number",
        "how many of the newest tool results stay whole where possible",
    ),
    Setting(
        "max_messages", None, _is_count, "a whole number",
        "messages of a request from which its oldest are folded into the summary; at least 8",
    ),
    Setting(
        "compaction_strategy", "auto", one_of(*COMPACTIONS), f"one of {', '.join(COMPACTIONS)}",
        "`auto`: everything, least harm first. `truncate`: results are cut, then the oldest messages dropped. "
        "`summarize`: the oldest turns are told by a summary, which a model of the host writes. Or one of Backscroll's "
        "own strategies alone",
    ),
    Setting(
        "summarizer", None, _is_bool, "true or false",
        "whether a model of the host writes summaries, beside the requests; by default with "
        "`compaction_strategy: summarize` only. Without one, and until it has answered, code writes them",
    ),
    Setting(
        "summary_provider", None, is_text, "a provider's name",
        "the mounted provider that is asked for summaries; by default the one of the newest request",
    ),
    Setting(
        "summary_model", None, is_text, "a model's name",
        "the model that it is asked to use, where it lets a request choose; by default its own",
    ),
    Setting(
        "summary_window", 32_000, _is_count, "a whole number of tokens",
        "tokens that one call for a summary may take in; more is summarised in parts",
    ),
    Setting(
        "summary_timeout", 0.0, is_number, "a number of seconds",
        "seconds that a request waits for a summary which is being made; 0 = not at all",
    ),
    Setting(
        "summary_as_turn", False, _is_bool, "true or false",
        "ask for it as one more turn of the newest request, whose beginning the provider has cached; by its own model, "
        "so without `summary_model`",
    ),
    Setting(
        "truncate_chars", None, _is_count, "a whole number of characters",
        "characters that stay of a long argument or text; of a long result its ends and the lines that matter stay",
    ),
    Setting("truncate_boundary", None, is_text, "a text", NO_EFFECT + "cuts are made where a line ends"),
    Setting(
        "preserve_system", True, _is_bool, "true or false",
        "leading system messages stay in every request; `false` is ignored with a warning",
    ),
    Setting(
        "persistence", False, _is_persistence, "true, false or a mapping",
        "keep the conversation on disk: `true` with a place given beside it, or a mapping that holds `enabled`, "
        "`storage_path` or `transcript_path`",
    ),
    Setting(
        "storage_path", None, is_text, "a path",
        "folder of transcripts; the session's own is `<session id>.jsonl` in it. A path alone turns persistence on",
    ),
    Setting(
        "store", None, is_text, "an address, such as sqlite:///agent.db",
        "keep the session in a store of Backscroll, under the host's session id: with its plans, so that the next "
        "request after a resume is the same. Instead of a transcript",
    ),
    Setting(
        "blobs", None, is_text, "a folder, or s3://bucket/prefix",
        "where the store's large messages are kept, instead of in itself",
    ),
    Setting("offload_over", 65_536, _is_count, "a whole number of bytes", "size from which a stored message is large"),
    Setting(
        "encryption_key_env", None, is_text, "the name of an environment variable",
        "variable that holds the key, 32 bytes as base64 text, by which everything in the store is encrypted",
    ),
    Setting("transcript_path", None, is_text, "a path", "file of the transcript itself, one message a line"),
    Setting(
        "memory_files", [], _is_texts, "a list of paths",
        "files whose text stands at the beginning of the conversation as system messages, read when it begins",
    ),
    Setting(
        "recall_tool", True, one_of(True, False, ALWAYS), f"true, false or {ALWAYS}",
        "mount the tool `recall`, with which the model reads what a request left out: with the first prompt of a "
        "session that has other tools, or `always`, at once",
    ),
    Setting(
        "budget_formula", "contract", one_of(*FORMULAS), f"one of {', '.join(FORMULAS)}",
        "`contract`: window less output less 1,000. `context-simple`: half of the output, a margin of 4,096, and "
        "`compaction_notice_token_reserve`",
    ),
    Setting(
        "output_reserve_fraction", None, _is_share, "a share from 0 to 1",
        "share of the provider's largest output that is kept free of its window: 1.0, or 0.5 by `context-simple`",
    ),
    Setting("margin_tokens", None, _is_count, "a whole number of tokens", "kept free of the window instead of 1,000"),
    Setting(
        "overhead_tokens", None, _is_count, "a whole number of tokens",
        "tokens outside the messages, such as tool definitions; by default learned from reported usage",
    ),
    Setting(
        "min_batch_tokens", 20_000, _is_count, "a whole number of tokens",
        "tokens that old results must be worth before they are masked for their price; 0 = never",
    ),
    Setting(
        "prices", None, _is_prices, "a mapping of cache_read, cache_write and cache_lifetime",
        "prices by which that is reckoned, relative to a plain input token; and seconds after which a cache is cold",
    ),
    Setting("tokenizer", "auto", is_text, "a name", "`auto` (exact o200k, offline), another vocabulary, `estimate`"),
    Setting("model", None, is_text, "a model's name", "for its factor and image rules; the provider's goes first"),
    Setting(
        "compaction_notice_enabled", True, _is_bool, "true or false",
        "the summary's first line is the notice; `false` is ignored with a warning",
    ),
    Setting(
        "compaction_notice_token_reserve", NOTICE, _is_count, "a whole number of tokens",
        "kept free for the notice by the formula `context-simple`; else none is needed, as it is counted",
    ),
    Setting(
        "compaction_notice_verbosity", None, lambda _: True, "anything",
        NO_EFFECT + "the notice says how much was compacted and how to get it back",
    ),
    Setting(
        "compaction_notice_min_level", None, lambda _: True, "anything",
        NO_EFFECT + "there is a notice as soon as messages are left out",
    ),
)  # fmt: skip  # a table
BY_NAME = {setting.name: setting for setting in SETTINGS}
_PERSISTENCE = ("enabled", "storage_path", "transcript_path")


@dataclass(frozen=True, slots=True)
class Settings:
    """A configuration that was read."""

    old: bool
    """Whether the contract 1.x is to be served."""
    options: Mapping[str, Any]
    """What `AsyncContextManager` is made with."""
    store: str | None
    storage_path: str | None
    transcript_path: str | None
    memory_files: tuple[str, ...]
    recall_tool: bool | str
    summarizer: bool
    """Whether a provider is asked for summaries."""
    summary_provider: str | None
    summary_model: str | None
    ignored: tuple[tuple[str, str], ...] = field(default=())
    """Options that are not followed, each with the reason."""


def read_settings(config: Mapping[str, Any] | None) -> Settings:
    """Checks a configuration and says what is to be done. Raises `ConfigurationError` for a value that cannot work;
    names that nobody knows are among the `ignored`.
    """
    given = dict(config or {})
    if "encryption_key" in given:
        raise ConfigurationError(
            "encryption_key must not be in a configuration, which hosts write into logs and metadata: put the key into "
            "an environment variable and give the variable's name as encryption_key_env"
        )
    ignored = [(name, _unknown(name, BY_NAME)) for name in given if name not in BY_NAME]
    values = {setting.name: setting.default for setting in SETTINGS}
    values |= {name: BY_NAME[name].checked(value) for name, value in given.items() if name in BY_NAME}
    storage, transcript = _persistence(values, ignored)
    if values["store"] and (storage or transcript):
        raise ConfigurationError("give either a store or a transcript (storage_path, transcript_path), not both")
    if not values["preserve_system"]:
        ignored.append(("preserve_system", "leading system messages always stay"))
    if not values["compaction_notice_enabled"]:
        ignored.append(("compaction_notice_enabled", "the summary always says that something was left out"))
    return Settings(
        old=values["contract"].startswith("1"),
        options=_options(values, given),
        store=values["store"],
        storage_path=storage,
        transcript_path=transcript,
        memory_files=tuple(values["memory_files"]),
        recall_tool=values["recall_tool"],
        summarizer=_summarizer(values, ignored),
        summary_provider=values["summary_provider"],
        summary_model=values["summary_model"],
        ignored=tuple(ignored),
    )


def _unknown(name: Any, known: Iterable[str]) -> str:
    near = nearest(name, known)
    return f"unknown option; {near}" if near else "unknown option"


def _persistence(values: Mapping[str, Any], ignored: list[tuple[str, str]]) -> tuple[str | None, str | None]:
    """Folder and file of the transcript; neither where nothing is to be kept."""
    wanted, storage, transcript = values["persistence"], values["storage_path"], values["transcript_path"]
    enabled = (wanted is True and not values["store"]) or bool(storage or transcript)
    if type(wanted) is dict:
        ignored += [
            (f"persistence.{name}", _unknown(name, _PERSISTENCE)) for name in wanted if name not in _PERSISTENCE
        ]
        for name in _PERSISTENCE[1:]:
            if wanted.get(name) is not None and not is_text(wanted[name]):
                raise ConfigurationError(f"persistence.{name} must be a path, not {wanted[name]!r:.80}")
        enabled = wanted.get("enabled", not values["store"])
        if not _is_bool(enabled):
            raise ConfigurationError(f"persistence.enabled must be true or false, not {enabled!r:.80}")
        storage = wanted.get("storage_path") or storage
        transcript = wanted.get("transcript_path") or transcript
    if enabled and not (storage or transcript):
        raise ConfigurationError(
            "persistence needs a place: give store (an address), storage_path (a folder) or transcript_path (a file)"
        )
    return (storage, transcript) if enabled else (None, None)


def _options(values: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    simple = values["budget_formula"] == "context-simple"
    reserve, margin = values["output_reserve_fraction"], values["margin_tokens"]
    if margin is None:
        margin = SIMPLE_MARGIN + values["compaction_notice_token_reserve"] if simple else 1_000
    options = {
        name: values[name]
        for name in (
            *("max_tokens", "target_usage", "protected_recent", "max_messages", "overhead_tokens", "tokenizer"),
            *("blobs", "offload_over", "summary_window", "summary_timeout", "summary_as_turn"),
        )
    }
    return options | {
        "compact_threshold": _threshold(values, given),
        "protected_results": values["protected_tool_results"],
        "min_batch_tokens": values["min_batch_tokens"] or None,
        "encryption_key": _key(values["encryption_key_env"]),
        "prices": _prices(values),
        "model": values["model"],
        "output_reserve": reserve if reserve is not None else 0.5 if simple else 1.0,
        "margin_tokens": margin,
        **_strategies(values["compaction_strategy"], values["truncate_chars"]),
    }


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    if not os.environ.get(variable):
        raise ConfigurationError(f"encryption_key_env names the variable {variable!r:.80}, which is not set")
    return os.environ[variable]


def _prices(values: Mapping[str, Any]) -> Prices | None:
    if values["prices"] is not None:
        return Prices(**values["prices"])
    return Prices() if values["compaction_strategy"] == "auto" else None


def _summarizer(values: Mapping[str, Any], ignored: list[tuple[str, str]]) -> bool:
    """Whether summaries are asked for; a strategy that never tells of anything would have them made in vain."""
    wanted: bool | None = values["summarizer"]
    if wanted and values["compaction_strategy"] not in TELLING:
        reason = f"compaction_strategy {values['compaction_strategy']!r} has no summary; those that do: "
        ignored.append(("summarizer", reason + ", ".join(TELLING)))
        return False
    return values["compaction_strategy"] == SUMMARIZE if wanted is None else wanted


def _threshold(values: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
    one, other = given.get("compact_threshold"), given.get("compaction_threshold")
    if one is not None and other is not None and one != other:
        raise ConfigurationError(
            f"compact_threshold ({one}) and compaction_threshold ({other}) are two names of one option: give one"
        )
    return values["compact_threshold"] if other is None else other


def _strategies(name: str, characters: int | None) -> dict[str, Any]:
    if name == "auto" and characters is None:
        return {"strategy": "auto"}
    if characters is not None and characters < 16 * _CHARACTERS:
        raise ConfigurationError(f"truncate_chars must be at least {16 * _CHARACTERS} characters, not {characters}")
    keep = None if characters is None else characters // _CHARACTERS
    clip = ClipStrategy() if keep is None else ClipStrategy(over=max(ClipStrategy().over, keep), keep=keep)
    ladder = {
        "auto": ["supersede", clip, "digest"],
        TRUNCATE: ["supersede", clip, "truncate"],
        SUMMARIZE: ["supersede", "digest"],
        "importance": ["supersede", clip, "importance"],
        "clip": [clip],
    }
    return {"strategies": ladder.get(name, [name])}
