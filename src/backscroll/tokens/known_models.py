"""What the providers publish about their models: windows, prices, what is bound and compacted, and limits
of media.

Sources: the vendors' pages of models, prices, prompt caching, preserved reasoning and media, and two public tables of
windows and prices, LiteLLM's and that of models.dev (both MIT), read on the date of `AS_OF`. A figure that no source
states is None. All rows were compared with LiteLLM 1.109.1 and genai-prices 0.2.3. Where these differ from a row, it
has what the vendor's page says: DeepSeek's prices outside of peak hours, Mistral's since 2026-10-29. Both tables lack
some of the newest models, and of retired ones of Claude (3.x, 4.0, 4.1) they have only those on Amazon Bedrock. So the
largest output of claude-3-7-sonnet and the cache minimum of 3.x Sonnet are from Anthropic's pages of 2025.
"""

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

AS_OF = "2026-11-22"
"""The day on which the figures were read."""

ASSUMED_WINDOW = 128_000
"""Window in tokens of a model that the table does not know. Most hosted models since 2024 have at least this much."""


class Prices(NamedTuple):
    """US dollars per million tokens. None: unknown, or not offered."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    up_to: int | None = None
    """Tokens of a request above which the provider asks more than these. `None`: no such step."""


class MediaLimits(NamedTuple):
    """What a provider accepts of media in one request. None: it states no limit."""

    images: int | None = None
    """Images in one request."""
    image_bytes: int | None = None
    """Bytes of one image as sent, which is base64 where it is inline."""
    image_edge: int | None = None
    """Pixels of the longer edge of one image."""
    request_bytes: int | None = None
    """Bytes of the body of one request."""
    crowded: int | None = None
    """With more images than this in one request, `crowded_edge` replaces `image_edge`."""
    crowded_edge: int | None = None


@dataclass(frozen=True, slots=True)
class KnownModel:
    """What a provider publishes about one model."""

    id: str
    vendor: str
    window: int
    """Tokens that input and output share."""
    max_output: int | None
    """Largest output in tokens. `None`: the host decides; the window itself: input and output share it freely."""
    max_input: int | None = None
    """Largest input in tokens, where the provider states one below the window."""
    prices: Prices | None = None
    """`None`: unknown. A name that only begins like the row has none."""
    cache_minimum: int | None = None
    """Tokens of the shortest prefix that the provider caches."""
    binds: bool = False
    """The provider binds the model's reasoning to the messages before it, and refuses or drops it after a change."""
    native: bool | None = False
    """The provider compacts conversations of the model on demand. `None`: no source says."""
    tool_prompt: int = 0
    """Tokens that the provider adds to a request with tools, unless one of them is forced by `tool_choice`."""
    as_of: str = AS_OF


_MEGABYTE = 1_000_000

MEDIA: dict[str, MediaLimits] = {
    "anthropic": MediaLimits(600, 10 * _MEGABYTE, 8_000, 32 * _MEGABYTE, 20, 2_000),
    "openai": MediaLimits(images=1_500, request_bytes=512 * _MEGABYTE),
    "google": MediaLimits(request_bytes=20 * _MEGABYTE),
}
"""Limits of media by vendor. Sources: Anthropic's and OpenAI's pages on vision, Gemini's on inline data."""

_SMALL_WINDOW_IMAGES = 100
"""Images that Anthropic accepts in one request of a model whose window is below 1M. Source: its page on vision."""
_CLOUD_IMAGE_BYTES = 5 * _MEGABYTE
"""Bytes of one image that Claude accepts on Bedrock and Google Cloud. Source: the clouds' pages on Claude."""

_UNREAD_TOOL_PROMPT = 300
_TOOL_PROMPTS = {
    "claude-fable-5-2": _UNREAD_TOOL_PROMPT,
    "claude-mythos-5-2": _UNREAD_TOOL_PROMPT,
    "claude-fable-5-1": _UNREAD_TOOL_PROMPT,
    "claude-mythos-5-1": _UNREAD_TOOL_PROMPT,
    "claude-opus-5-5": _UNREAD_TOOL_PROMPT,
    "claude-sonnet-5-5": _UNREAD_TOOL_PROMPT,
    "claude-haiku-5-5": _UNREAD_TOOL_PROMPT,
    "claude-opus-5": 286,
    "claude-opus-4-8": 290,
    "claude-opus-4-7": 675,
    "claude-sonnet-5": 354,
    "claude-opus-4-6": 497,
    "claude-sonnet-4-6": 497,
    "claude-opus-4-5": 497,
    "claude-sonnet-4-5": 497,
    "claude-haiku-4-5": 497,
}
"""Tokens of the system prompt that Anthropic puts before tools, with `tool_choice` `auto` or `none`. It puts about 120
more before a forced tool. Source: its page on pricing, which has 496 or 497 for versions 4.5 and 4.6. What it says of
the newest models was not read: 300 is assumed.
"""

_CLAUDE = (
    # id, window, largest output, prices, cache minimum, binds, native
    ("claude-fable-5-2", 1_000_000, 128_000, Prices(8, 40, 0.20, 10), 512, True, None),
    ("claude-mythos-5-2", 1_000_000, 128_000, Prices(8, 40, 0.20, 10), 512, True, None),
    ("claude-fable-5-1", 1_000_000, 128_000, Prices(10, 50, 0.25, 12.5), 512, True, True),
    ("claude-mythos-5-1", 1_000_000, 128_000, Prices(10, 50, 0.25, 12.5), 512, True, True),
    ("claude-opus-5-5", 1_000_000, 128_000, Prices(4, 20, 0.20, 5), 512, True, True),
    ("claude-sonnet-5-5", 1_000_000, 128_000, Prices(2, 10, 0.10, 2.5), 512, True, True),
    ("claude-haiku-5-5", 1_000_000, 128_000, Prices(0.10, 0.50, 0.01, 0.125, 100_000), 512, True, True),
    ("claude-opus-5", 1_000_000, 128_000, Prices(5, 25, 0.50, 6.25), 512, False, True),
    ("claude-opus-4-8", 1_000_000, 128_000, Prices(5, 25, 0.50, 6.25), 1_024, False, True),
    ("claude-opus-4-7", 1_000_000, 128_000, Prices(5, 25, 0.50, 6.25), 2_048, False, True),
    ("claude-opus-4-6", 1_000_000, 128_000, Prices(5, 25, 0.50, 6.25), 4_096, False, True),
    ("claude-opus-4-5", 200_000, 64_000, Prices(5, 25, 0.50, 6.25), 4_096, False, False),
    ("claude-opus-4-1", 200_000, 32_000, Prices(15, 75, 1.50, 18.75), 1_024, False, False),
    ("claude-opus-4", 200_000, 32_000, Prices(15, 75, 1.50, 18.75), 1_024, False, False),
    ("claude-sonnet-5", 1_000_000, 128_000, Prices(2, 10, 0.20, 2.5), 1_024, False, True),
    ("claude-sonnet-4-6", 1_000_000, 128_000, Prices(3, 15, 0.30, 3.75), 1_024, False, True),
    ("claude-sonnet-4-5", 200_000, 64_000, Prices(3, 15, 0.30, 3.75), 1_024, False, False),
    ("claude-sonnet-4", 200_000, 64_000, Prices(3, 15, 0.30, 3.75), 1_024, False, False),
    ("claude-haiku-4-5", 200_000, 64_000, Prices(1, 5, 0.10, 1.25), 4_096, False, False),
    ("claude-3-7-sonnet", 200_000, 64_000, Prices(3, 15, 0.30, 3.75), 1_024, False, False),
    ("claude-3-5-sonnet", 200_000, 8_192, Prices(3, 15, 0.30, 3.75), 1_024, False, False),
    ("claude-3-5-haiku", 200_000, 8_192, Prices(0.80, 4, 0.08, 1), 2_048, False, False),
)

_OPENAI = (
    # id, window, largest input, largest output, prices, binds
    ("gpt-6.2-astra", 1_050_000, 922_000, 128_000, Prices(8, 40, 0.40, 10, 272_000), True),
    ("gpt-6.2-sol", 1_050_000, 922_000, 128_000, Prices(2, 10, 0.10, 2.5, 272_000), True),
    ("gpt-6.1-sol", 1_050_000, 922_000, 128_000, Prices(2, 10, 0.10, 2.5, 272_000), False),
    ("gpt-6.1-terra", 1_050_000, 922_000, 128_000, Prices(1, 5, 0.05, 1.25, 272_000), False),
    ("gpt-6-astra", 1_050_000, 922_000, 128_000, Prices(10, 50, 1, 12.5, 272_000), False),
    ("gpt-6-luna", 1_050_000, 922_000, 128_000, Prices(0.1, 0.5, 0.01, 0.125, 272_000), False),
    ("gpt-5.6-sol", 1_050_000, 922_000, 128_000, Prices(4, 20, 0.4, 5, 272_000), False),
    ("gpt-5.6-terra", 1_050_000, 922_000, 128_000, Prices(2, 12, 0.2, 2.5, 272_000), False),
    ("gpt-5.6-luna", 1_050_000, 922_000, 128_000, Prices(0.2, 1.2, 0.02, 0.25, 272_000), False),
    ("gpt-5.5", 1_050_000, None, 128_000, Prices(5, 30, 0.5, None, 272_000), False),
    ("gpt-5.4", 1_050_000, None, 128_000, Prices(2.5, 15, 0.25, None, 272_000), False),
    ("gpt-5.4-mini", 400_000, 272_000, 128_000, Prices(0.75, 4.5, 0.075), False),
    ("gpt-5", 400_000, 272_000, 128_000, Prices(1.25, 10, 0.125), False),
    ("gpt-5-mini", 400_000, 272_000, 128_000, Prices(0.25, 2, 0.025), False),
    ("gpt-5-nano", 400_000, 272_000, 128_000, Prices(0.05, 0.4, 0.005), False),
    ("gpt-4.1", 1_047_576, None, 32_768, Prices(2, 8, 0.5), False),
    ("gpt-4.1-mini", 1_047_576, None, 32_768, Prices(0.4, 1.6, 0.1), False),
    ("gpt-4.1-nano", 1_047_576, None, 32_768, Prices(0.1, 0.4, 0.025), False),
    ("gpt-4o", 128_000, None, 16_384, Prices(2.5, 10, 1.25), False),
    ("gpt-4o-mini", 128_000, None, 16_384, Prices(0.15, 0.6, 0.075), False),
    ("o3", 200_000, None, 100_000, Prices(2, 8, 0.5), False),
    ("o4-mini", 200_000, None, 100_000, Prices(1.1, 4.4, 0.275), False),
)

_OTHERS = (
    # vendor, id, window, largest output, prices, cache minimum; none of these binds reasoning
    ("google", "gemini-4-argon", 1_048_576, 1_048_576, Prices(2, 10, 0.10), 4_096),
    ("google", "gemini-3.8-flash", 1_048_576, 65_536, Prices(0.75, 3.75, 0.075), 4_096),
    ("google", "gemini-3.7-flash", 1_048_576, 65_536, Prices(0.75, 3.75, 0.075), 4_096),
    ("google", "gemini-3.6-flash", 1_048_576, 65_536, Prices(0.75, 3.75, 0.075), 4_096),
    ("google", "gemini-3.5-flash", 1_048_576, 65_536, Prices(1.5, 9, 0.15), 4_096),
    ("google", "gemini-3.1-pro-preview", 1_048_576, 65_536, Prices(2, 12, 0.2, None, 200_000), 4_096),
    ("google", "gemini-3.1-flash-lite", 1_048_576, 65_536, Prices(0.25, 1.5, 0.025), 4_096),
    ("google", "gemini-2.5-pro", 1_048_576, 65_536, Prices(1.25, 10, 0.125, None, 200_000), 2_048),
    ("google", "gemini-2.5-flash", 1_048_576, 65_536, Prices(0.3, 2.5, 0.03), 2_048),
    ("xai", "grok-4.7", 500_000, 500_000, Prices(2, 6, 0.5, None, 200_000), None),
    ("xai", "grok-4.6", 500_000, 500_000, Prices(2, 6, 0.5, None, 200_000), None),
    ("xai", "grok-4.5", 500_000, 500_000, Prices(2, 6, 0.3, None, 200_000), None),
    ("xai", "grok-4.3", 1_000_000, 1_000_000, Prices(1.25, 2.5, 0.2, None, 200_000), None),
    ("xai", "grok-4.20", 1_000_000, 1_000_000, Prices(1.25, 2.5, 0.2, None, 200_000), None),
    ("mistral", "mistral-large-4", 1_048_576, 1_048_576, Prices(0.7, 2.1, 0.07), None),
    ("mistral", "mistral-medium-3-5", 262_144, 262_144, Prices(1.5, 7.5, 0.15), None),
    ("mistral", "mistral-small-2603", 262_144, 262_144, Prices(0.15, 0.6, 0.015), None),
    ("deepseek", "deepseek-v4-pro", 1_000_000, 393_216, Prices(0.66, 1.98, 0.022), 64),
    ("deepseek", "deepseek-v4-flash", 1_000_000, 393_216, Prices(0.15, 0.6, 0.003), 64),
    ("qwen", "qwen3.8-max", 991_808, 131_072, Prices(2, 6, 0.25), None),
    ("qwen", "qwen3.8-flash", 991_808, 131_072, Prices(0.15, 0.47, 0.016, 0.2), None),
    ("qwen", "qwen3.7-max", 991_808, 65_536, Prices(2.5, 7.5, 0.5, 3.125), None),
    ("meta", "llama-4-maverick", 1_000_000, None, Prices(0.24, 0.97), None),
    ("meta", "llama-4-scout", 10_000_000, None, Prices(0.17, 0.66), None),
    ("meta", "llama-3.3-70b", 131_072, None, Prices(0.59, 0.79), None),
    ("amazon", "nova-2-lite", 1_000_000, 64_000, Prices(0.3, 2.5, 0.075), None),
    ("amazon", "nova-pro", 300_000, 10_000, Prices(0.8, 3.2, 0.2), None),
    ("amazon", "nova-micro", 128_000, 10_000, Prices(0.035, 0.14, 0.00875), None),
)

KNOWN_MODELS: tuple[KnownModel, ...] = (
    *(
        KnownModel(name, "anthropic", window, most, None, prices, minimum, binds, native, _TOOL_PROMPTS.get(name, 0))
        for name, window, most, prices, minimum, binds, native in _CLAUDE
    ),
    *(
        KnownModel(name, "openai", window, most, largest, prices, 1_024, binds, native=True)
        for name, window, largest, most, prices, binds in _OPENAI
    ),
    *(
        KnownModel(name, vendor, window, most, None, prices, minimum)
        for vendor, name, window, most, prices, minimum in _OTHERS
    ),
)
"""All rows. Names match by `find_model`, prices by the exact name only."""

LONGEST_NAME = 200
"""Characters of a model's name. A longer one is no model's: the longest addresses of Amazon Bedrock have 150, and the
patterns below take time that grows with the square of a name.
"""
_ROUTE = re.compile(r"^(?:[a-z_-]+[.:])+(?=[a-z])")
"""A provider or region before the name: `us.anthropic.`, `openai:`, `amazon.`. A version has digits before its dot."""
_LETTERS_THEN_VERSION = re.compile(r"^(llama|qwen)-?(?=\d)")
_VERSION = re.compile(r"\d{1,2}(?!\d)")
"""A rest such as `-7` or `-1-sol` names another version; `-20260922`, `-2026-11-17` and `-preview` do not."""
_SMALLER = re.compile(r"(mini|nano)(-|$)")
_EDITION = re.compile(r"(?:\d{6,8}|\d{4}-\d\d-\d\d|latest|preview|v\d+(-\d+)?)")
_VENDORS = (
    ("anthropic", re.compile(r"claude")),
    ("openai", re.compile(r"^(?:chat)?gpt-(?!oss)|^o[134](?:-|$)")),
    ("google", re.compile(r"gemini|gemma")),
    ("deepseek", re.compile(r"deepseek")),
    ("mistral", re.compile(r"mi[sx]tral|codestral|devstral|magistral|ministral")),
    ("xai", re.compile(r"grok")),
    ("qwen", re.compile(r"qwen|qwq")),
    ("meta", re.compile(r"llama")),
)
"""Vendors by what names of their models hold, in the table's spelling."""
_COMPACTING = ("anthropic", "openai")
_CLAUDE_VERSION = re.compile(r"claude.*?(\d{1,2})(?:-(\d{1,2}))?(?!\d)")
_GPT_VERSION = re.compile(r"^(?:chat)?gpt-(\d)(?:-(\d{1,2}))?(?!\d)")
_BEDROCK = re.compile(r"(^|[./:_])(anthropic\.|bedrock)", re.IGNORECASE)
_CLOUD = re.compile(r"(^|[./:_])(anthropic\.|bedrock|vertex)|@\d", re.IGNORECASE)


def canonical(model: str) -> str:
    """Return a model's name in the table's spelling: no provider or region before it, dashes for all separators.

    `us.anthropic.claude-opus-5-5-20260922-v1:0`, `openai/gpt-6.2-sol` and `models/gemini-2.5-pro` begin with
    `claude-opus-5-5`, `gpt-6-2-sol` and `gemini-2-5-pro` then. One of more than `LONGEST_NAME` characters is empty.
    """
    if len(model) > LONGEST_NAME:
        return ""
    name = _ROUTE.sub("", model.strip().lower().rsplit("/", 1)[-1])
    return _LETTERS_THEN_VERSION.sub(r"\1-", re.sub(r"[^a-z0-9]+", "-", name)).strip("-")


_BY_NAME = {canonical(model.id): model for model in KNOWN_MODELS}


class Found(NamedTuple):
    """The row of a name, and what of the name the row does not explain."""

    model: KnownModel
    rest: str
    """What follows the row's id in the name, such as `20260922-v1-0`; empty where the name is the id."""

    @property
    def same(self) -> bool:
        """Whether the name is this model: the id, or the id with a date, an edition or `-latest`."""
        return not self.rest or _EDITION.match(self.rest) is not None


@lru_cache(maxsize=256)
def _find(model: str) -> Found | None:
    name = canonical(model)
    best = name
    while best:
        row, rest = _BY_NAME.get(best), name[len(best) + 1 :]
        if row is not None:
            return None if _SMALLER.match(rest) else Found(row, rest)
        best = best.rpartition("-")[0]
    return None


def find_model(model: str | None) -> KnownModel | None:
    """Return the row whose id the name is, or begins with at a dash: the longest one. None: the table knows none.

    A row found by the beginning of the name has no prices. Names of smaller models (`-mini`, `-nano`) have rows of
    their own or none: their windows differ.
    """
    found = _find(model) if model and len(model) <= LONGEST_NAME else None  # a cache keeps what `_find` gets
    if found is None:
        return None
    return found.model if found.same else replace(found.model, prices=None)


def binds_reasoning(model: str | None) -> bool | None:
    """Return whether the provider binds the model's reasoning to the messages before it. None: unknown model.

    Bound are Claude Fable and Mythos from 5.1, Opus, Sonnet and Haiku 5.5, and OpenAI's models from gpt-6.2. A version
    that the table does not know is unknown. Sources: Anthropic's pages on preserved thinking, OpenAI's on preserved
    reasoning.
    """
    if not model or len(model) > LONGEST_NAME:
        return None
    found = _find(model)
    if found is not None and not _VERSION.match(found.rest if not found.same else ""):
        return found.model.binds
    name = canonical(model)
    claude, gpt = _CLAUDE_VERSION.search(name), _GPT_VERSION.match(name)
    if claude:
        return False if (int(claude[1]), int(claude[2] or 0)) <= (5, 0) else None
    if gpt:
        return (int(gpt[1]), int(gpt[2] or 0)) >= (6, 2)
    vendor = vendor_of(model)
    return False if vendor not in (None, "anthropic", "openai") or re.match(r"o[134](-|$)|gpt-(oss|35)", name) else None


def vendor_of(model: str | None) -> str | None:
    """Return the vendor of a model, in the table's spelling. None: the name does not say."""
    found = find_model(model)
    if found is not None or not model:
        return None if found is None else found.vendor
    name = canonical(model)
    return next((vendor for vendor, pattern in _VENDORS if pattern.search(name)), None)


def may_compact(vendor: str | None) -> bool:
    """Return whether a vendor's API compacts conversations on demand, as Anthropic's and OpenAI's do. One that is not
    known is taken to.
    """
    return vendor is None or vendor in _COMPACTING


def compacts_natively(model: str | None) -> bool | None:
    """Return whether the provider compacts conversations of the model on demand. None: unknown model.

    Anthropic does so for Opus and Sonnet from 4.6, for Fable and Mythos, and for Haiku 5.5, but not on Amazon Bedrock.
    OpenAI does so for every model of the Responses API. No other vendor does. Sources: "Compaction on demand" of
    Anthropic, and the type of the endpoint's `model` in openai 3.54.
    """
    if not model or len(model) > LONGEST_NAME:
        return None
    vendor = vendor_of(model)
    if not may_compact(vendor) or (vendor == "anthropic" and _BEDROCK.search(model)):
        return False
    found = _find(model)
    if found is not None and not _VERSION.match(found.rest if not found.same else ""):
        return found.model.native
    claude = _CLAUDE_VERSION.search(canonical(model))
    return False if claude and (int(claude[1]), int(claude[2] or 0)) < (4, 6) else None


def media_limits(model: str | None) -> MediaLimits | None:
    """Return what the provider of a model accepts of media in one request. None: unknown model, or no stated limit."""
    row = find_model(model)
    limits = MEDIA.get(row.vendor) if row else None
    if not row or not limits or row.vendor != "anthropic":
        return limits
    if row.window < 1_000_000:
        limits = limits._replace(images=_SMALL_WINDOW_IMAGES)
    return limits._replace(image_bytes=_CLOUD_IMAGE_BYTES) if _CLOUD.search(model or "") else limits
