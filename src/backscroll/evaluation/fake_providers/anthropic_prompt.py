"""The prompt that a Claude model reads of a request, block by block, with the marks of "Prompt caching"."""

from collections.abc import Callable, Collection
from typing import Any

from backscroll.evaluation.fake_providers.anthropic_prefix import Step
from backscroll.evaluation.fake_providers.anthropic_request import THINKING, AnthropicRequest, last_mark
from backscroll.evaluation.fake_providers.chain import as_text, canonical
from backscroll.evaluation.fake_providers.claude_models import ClaudeModel
from backscroll.evaluation.fake_providers.prompt_cache import Unit


def prompt_of(
    request: AnthropicRequest,
    steps: list[Step],
    dropped: Collection[tuple[int, int]],
    model: ClaudeModel,
    count: Callable[[str], int],
) -> list[Unit]:
    """Return the units of a prompt: tools, system, messages.

    Args:
        request: The request.
        steps: The blocks that the API reads.
        dropped: Message and block of the thinking that the model does not see.
        model: The row of its model.
        count: Tokens of a text.
    """

    def unit(block: Any, context: Any = None) -> Unit:
        text = as_text(canonical(block))
        return Unit(as_text([context, text]), count(text), last_mark(block))

    system = [request.system] if isinstance(request.system, str) else request.system or []
    units = [unit(tool) for tool in request.tools if not tool.get("defer_loading")]
    units += [unit(block, "system") for block in system]
    last_turn = 0 if model.keeps_thinking else _last_turn(request)
    context: Any = _shared_by_messages(request)
    bearers = [len(units) - 1] if units else []
    for place, _ in steps:
        is_thinking = place.kind in THINKING
        if (place.message, place.block) in dropped or (is_thinking and place.message < last_turn):
            continue
        defined = request.definition(place.content)
        block = place.content if defined is None else [place.content, defined]
        units.append(unit(block, [context, place.role, place.block == 0, request.extras(place.message)]))
        context = None
        if not is_thinking:
            bearers.append(len(units) - 1)
    if request.automatic_mark and bearers:
        units[bearers[-1]] = units[bearers[-1]]._replace(mark=request.automatic_mark)
    return units


def _shared_by_messages(request: AnthropicRequest) -> list[Any]:
    """Return parameters whose change invalidates the cache of the messages, and not of tools and system."""
    thinking = {key: item for key, item in request.thinking.items() if key != "block_binding"}
    effort = (request.raw.get("output_config") or {}).get("effort")
    return [request.raw.get("tool_choice"), thinking, effort]


def _last_turn(request: AnthropicRequest) -> int:
    """Return the last message of the user that is no tool result: older models keep thinking from there on."""
    turns = [
        place.message
        for place in request.places()
        if place.role == "user" and place.block == 0 and place.kind != "tool_result"
    ]
    return max(turns, default=0)
