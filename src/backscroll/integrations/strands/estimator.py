"""The one estimator for whole Strands requests: the core's own, over messages, system prompt and tool definitions."""

from collections.abc import Mapping, Sequence
from functools import cache
from math import ceil
from typing import Any

from backscroll.integrations.strands.serialization import to_json
from backscroll.messages import read_message, validated
from backscroll.messages.parts import compact
from backscroll.tokens.engines import resolve
from backscroll.tokens.engines.measurer import Measurer
from backscroll.tokens.model_profiles import ModelProfile, family_of
from backscroll.tokens.usage import estimate_count, estimate_message


class TokenEstimate(int):
    """Input tokens of a request, as expected."""

    upper: int
    """The most that is to be feared; what fits by this fits."""
    counted: bool
    """Whether the texts were counted with the model's own vocabulary, and not estimated from another one's."""

    def __new__(cls, tokens: int, upper: int, counted: bool) -> "TokenEstimate":
        """The number, with what is known of it."""
        made = super().__new__(cls, tokens)
        made.upper, made.counted = upper, counted
        return made

    def __getnewargs__(self) -> tuple[int, int, bool]:  # type: ignore[override]  # what makes copies and pickles
        return int(self), self.upper, self.counted


def estimate_input_tokens(
    messages: Sequence[Any],
    system_prompt: str | Sequence[Mapping[str, Any]] | None = None,
    tool_specs: Sequence[Mapping[str, Any]] | None = None,
    *,
    model: str | None = None,
) -> TokenEstimate:
    """Tokens of a whole request before it is sent, media included.

    `model`: its id, for the vocabulary and the rules for images of its family; without one, o200k's. Raises
    `MessageError` for what is no message. An agent's own requests are anchored on what the provider reported instead:
    `ContextManagerPlugin.usage`.
    """
    measurer = _measurer()
    family = family_of(model, counted=False)
    counted = family.exact and measurer.tokenizer.exact
    readings = [read_message(validated(to_json(message))) for message in messages]
    sums = [
        estimate_message(reading, counts, family)
        for reading, counts in zip(readings, measurer.measure(readings), strict=True)
    ]
    outside = outside_tokens(measurer, family, system_prompt, tool_specs)
    middle, upper = sum(found.middle for found in sums) + outside[0], sum(found.upper for found in sums) + outside[1]
    return TokenEstimate(middle, upper, counted)


def outside_tokens(
    measurer: Measurer, family: ModelProfile, system_prompt: Any, tool_specs: Sequence[Any] | None
) -> tuple[int, int]:
    """Middle and upper estimate of what stands in a request outside its messages."""
    texts = [text for text in (system_text(system_prompt),) if text]
    texts += [compact(to_json(dict(spec))) for spec in tool_specs or ()]
    found = [estimate_count(measurer.count(text), family) for text in texts]
    return ceil(sum(middle for middle, _ in found)), ceil(sum(upper for _, upper in found))


def system_text(system_prompt: Any) -> str:
    """The text of a system prompt, given as a text or as blocks."""
    if isinstance(system_prompt, str) or not system_prompt:
        return system_prompt or ""
    return "\n".join(block["text"] for block in system_prompt if isinstance(block.get("text"), str))


@cache
def _measurer() -> Measurer:
    return Measurer(resolve("auto"))
