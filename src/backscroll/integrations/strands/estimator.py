"""The estimator for whole Strands requests: the core's own, over messages, system prompt and tool definitions."""

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
    """The expected input tokens of a request."""

    upper: int
    """The upper estimate in tokens: a request that fits by this figure fits."""
    counted: bool
    """Whether texts were counted with the model's own vocabulary, not estimated from another."""

    def __new__(cls, tokens: int, upper: int, counted: bool) -> "TokenEstimate":
        """Create the number with its attributes."""
        made = super().__new__(cls, tokens)
        made.upper, made.counted = upper, counted
        return made

    def __getnewargs__(self) -> tuple[int, int, bool]:  # type: ignore[override]  # for copies and pickles
        return int(self), self.upper, self.counted


def estimate_input_tokens(
    messages: Sequence[Any],
    system_prompt: str | Sequence[Mapping[str, Any]] | None = None,
    tool_specs: Sequence[Mapping[str, Any]] | None = None,
    *,
    model: str | None = None,
) -> TokenEstimate:
    """Return the tokens of a whole request before it is sent, media included.

    Requests of an agent have better figures, calibrated by what the provider reported: `ContextManagerPlugin.usage`.

    Args:
        messages: Messages in Strands' form.
        system_prompt: A text, or blocks.
        tool_specs: Tool definitions in Strands' form.
        model: The model's id, for its vocabulary and image rules. `None`: those of o200k.

    Returns:
        The estimate in tokens, with its upper bound.

    Raises:
        MessageError: One of the messages is not a message.
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
    expected, upper = (
        sum(found.expected for found in sums) + outside[0],
        sum(found.upper for found in sums) + outside[1],
    )
    return TokenEstimate(expected, upper, counted)


def outside_tokens(
    measurer: Measurer, family: ModelProfile, system_prompt: Any, tool_specs: Sequence[Any] | None
) -> tuple[int, int]:
    """Return the expected tokens of a request outside its messages, and their upper bound."""
    texts = [text for text in (system_text(system_prompt),) if text]
    texts += [compact(to_json(dict(spec))) for spec in tool_specs or ()]
    found = [estimate_count(measurer.count(text), family) for text in texts]
    return ceil(sum(expected for expected, _ in found)), ceil(sum(upper for _, upper in found))


def system_text(system_prompt: Any) -> str:
    """Return the text of a system prompt, given as a text or as blocks."""
    if isinstance(system_prompt, str) or not system_prompt:
        return system_prompt or ""
    return "\n".join(block["text"] for block in system_prompt if isinstance(block.get("text"), str))


@cache
def _measurer() -> Measurer:
    return Measurer(resolve("auto"))
