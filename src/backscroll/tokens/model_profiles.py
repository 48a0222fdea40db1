"""How model families count: one table, and the lookup by model name.

Factors are relative to the count of the o200k vocabulary, measured on 3,510 agent messages with each family's own
tokenizer or counting endpoint. Image rules are those that the providers published. A caller replaces the table by
passing a `ModelProfile` instead of a name.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil
from typing import NamedTuple

from backscroll.tokens.known_models import LONGEST_NAME


def _openai_image(base: int, tile: int) -> Callable[[int, int], int]:
    """Count tokens per 512 px tile, after fitting into 2,048 px and scaling the short side down to 768 px."""

    def tokens(width: int, height: int) -> int:
        scale = min(1.0, 2048 / max(width, height))
        scale = min(scale, 768 / min(width, height)) if min(width, height) * scale > 768 else scale
        return base + tile * ceil(width * scale / 512) * ceil(height * scale / 512)

    return tokens


_OPENAI_IMAGE = _openai_image(85, 170)


def _openai_patches(factor: float) -> Callable[[int, int], int]:
    """Count as the small models do: patches of 32 px, at most 1,536 after scaling, times the model's factor."""
    return lambda width, height: ceil(min(1_536, ceil(width / 32) * ceil(height / 32)) * factor)


def _claude_image(cap: int) -> Callable[[int, int], int]:
    """Count one token per patch of 28 x 28 px, up to the size at which the service scales down."""
    return lambda width, height: min(cap, ceil(width / 28) * ceil(height / 28))


def _gemini_image(width: int, height: int) -> int:
    """Count 258 tokens up to 384 px, else per tile, whose side is the short side / 1.5, within 256 to 768 px."""
    if max(width, height) <= 384:
        return 258
    side = max(256, min(768, int(min(width, height) / 1.5)))
    return 258 * ceil(width / side) * ceil(height / side)


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """How one family of models turns text and media into tokens."""

    name: str
    factor: float = 1.2
    """Tokens per o200k token."""
    per_digit: float = 0.0
    """Additional tokens per ASCII digit, for vocabularies that split numbers into digits."""
    exact: bool = False
    """True if the counted vocabulary is the family's own."""
    image: Callable[[int, int], int] = _OPENAI_IMAGE
    """Tokens of an image from its width and height in pixels."""
    image_cap: int = 1_568
    """Tokens assumed for an image of unknown size."""
    pdf_page: int = 3_000
    """Tokens of one page of a PDF."""


class Counting(NamedTuple):
    """How a family counts texts. A lane's requests record it, so that another program counts alike."""

    family: str
    factor: float
    per_digit: float
    exact: bool


COUNTED = ModelProfile("as counted", factor=1.0, exact=True, image_cap=1_445)
"""No model is named, or the tokenizer is the caller's own: counts are used unchanged."""

UNKNOWN = ModelProfile("unknown", factor=1.2, image_cap=4_784)

_CLAUDE = ModelProfile("claude", factor=1.20, image=_claude_image(1_568), image_cap=1_568)
_CLAUDE_NEW = ModelProfile("claude 4.7+", factor=1.52, image=_claude_image(4_784), image_cap=4_784)

FAMILIES: tuple[tuple[str, ModelProfile], ...] = (
    (r"gpt-4o-mini", ModelProfile("openai", 1.0, exact=True, image=_openai_image(2_833, 5_667), image_cap=48_169)),
    (
        r"gpt-(4\.1|5(\.\d)?)-mini",
        ModelProfile("openai", 1.0, exact=True, image=_openai_patches(1.62), image_cap=2_489),
    ),
    (
        r"gpt-(4\.1|5(\.\d)?)-nano",
        ModelProfile("openai", 1.0, exact=True, image=_openai_patches(2.46), image_cap=3_779),
    ),
    (r"o4-mini", ModelProfile("openai", 1.0, exact=True, image=_openai_patches(1.72), image_cap=2_642)),
    (r"(^|[/.:_-])(gpt|chatgpt|o[134])([-.\d]|$)", ModelProfile("openai", factor=1.0, exact=True, image_cap=1_445)),
    (r"claude", _CLAUDE),
    (
        r"gemini|gemma",
        ModelProfile("gemini", factor=1.11, per_digit=0.48, image=_gemini_image, image_cap=1_548, pdf_page=560),
    ),
    (r"llama", ModelProfile("llama", factor=1.00)),
    (r"qwen|qwq", ModelProfile("qwen", factor=0.98, per_digit=0.52)),
    (r"deepseek", ModelProfile("deepseek", factor=1.05)),
    (r"mi[sx]tral|codestral|devstral|magistral|ministral", ModelProfile("mistral", factor=1.03, per_digit=0.50)),
    (r"(^|[/.:_-])glm", ModelProfile("glm", factor=0.99, per_digit=0.13)),
    (r"kimi|moonshot", ModelProfile("kimi", factor=0.99)),
)

_NAMED = {family.name: family for family in (UNKNOWN, COUNTED, _CLAUDE_NEW, *(each for _, each in FAMILIES))}

_CLAUDE_VERSION = re.compile(r"claude.*?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)", re.IGNORECASE)


def family_of(model: str | None, *, counted: bool = False) -> ModelProfile:
    """Return the family of a model name such as `us.anthropic.claude-opus-4-8` or `openai/gpt-5`.

    Args:
        model: The name. An unknown one counts 1.2 tokens per o200k token. `None`: counts are used unchanged.
        counted: The tokenizer was made for this model: its counts are used unchanged, and the family decides on media
            only.
    """
    if not model:
        return COUNTED
    if len(model) > LONGEST_NAME:
        model = ""
    found = next((family for pattern, family in FAMILIES if re.search(pattern, model, re.IGNORECASE)), UNKNOWN)
    if found is _CLAUDE and _is_new_claude(model):
        found = _CLAUDE_NEW
    return replace(found, factor=1.0, per_digit=0.0, exact=True) if counted else found


def refuses_prefill(model: str | None) -> bool:
    """Return whether a model refuses a request that ends with its own text: Claude from 4.6 on.

    Source: "Prefill" in "What's new in Claude 4.6" (Claude Platform Docs).
    """
    version = _CLAUDE_VERSION.search(model) if model and len(model) <= LONGEST_NAME else None
    return version is not None and (int(version[1]), int(version[2] or 0)) >= (4, 6)


def counting_of(family: ModelProfile) -> Counting:
    """Return how a family counts texts."""
    return Counting(family.name, family.factor, family.per_digit, family.exact)


def family_that_counts(counting: Counting) -> ModelProfile:
    """Return a family that counts texts this way; media follow the named family, else the unknown one."""
    name, factor, per_digit, exact = counting
    return replace(_NAMED.get(name, UNKNOWN), name=name, factor=factor, per_digit=per_digit, exact=exact)


def _is_new_claude(model: str) -> bool:
    version = _CLAUDE_VERSION.search(model)
    if not version:
        return True  # unversioned aliases point to the newest model, and the larger factor is the safe one
    return (int(version[1]), int(version[2] or 0)) >= (4, 7)
