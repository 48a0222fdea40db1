"""The name, budget and usage of a Strands model, and summaries by one."""

from collections.abc import Callable, Mapping
from typing import Any

from backscroll.compaction.summarization import INSTRUCTIONS, SummaryRequest, SummaryResponse
from backscroll.errors import BackscrollError
from backscroll.messages.counted import Counted
from backscroll.tokens.responses import read_usage

BULLETS = "\nWrite it as bullet points, one fact each, under a short heading for each of the above."
DEFAULT_PROMPT = INSTRUCTIONS + BULLETS
"""The summarizer's system prompt, with `{tokens}` for the length of the summary."""
MAIN = "main"


def model_name(model: Any) -> str:
    """Return the model's id, which names its lane; `main` if it has none."""
    found = _config(model).get("model_id")
    return found if isinstance(found, str) and found else MAIN


def input_budget(model: Any) -> int | None:
    """Return the tokens that a request may hold: the window minus the model's output limit, at most half of it; `None`
    if
    it names no window.
    """
    window = getattr(model, "context_window_limit", None)
    if type(window) is not int or window <= 0:
        return None
    config = _config(model)
    params = config.get("params")
    limits = [config.get("max_tokens")]
    if isinstance(params, Mapping):
        limits += [params.get("max_tokens"), params.get("max_completion_tokens"), params.get("max_output_tokens")]
    output = next((found for found in limits if type(found) is int and found > 0), 0)
    return window - min(output, window // 2)


def _config(model: Any) -> Mapping[str, Any]:
    found = model.get_config()
    return found if isinstance(found, Mapping) else vars(found) if hasattr(found, "__dict__") else {}


def counted_in(usage: Mapping[str, Any] | None) -> Counted | None:
    """Return what the provider counted, in the framework's form, which is Bedrock's; `None` if there is no count."""
    return read_usage(usage) if usage and "inputTokens" in usage else None


class SummaryFromModel:
    """A summarizer over a Strands model. It gets the model at each call: an agent may change its own."""

    def __init__(self, model: Callable[[], Any], system_prompt: str | None) -> None:
        self._model = model
        self._system_prompt = system_prompt

    async def __call__(self, request: SummaryRequest) -> SummaryResponse:
        """Call the model once. Raises the model's errors."""
        model = self._model()
        system = self._system_prompt or request.system + BULLETS
        texts, usage = list[str](), dict[str, Any]()
        messages = [{"role": "user", "content": [{"text": request.prompt}]}]
        async for event in model.stream(messages, None, system):
            delta = event.get("contentBlockDelta", {}).get("delta", {})
            if isinstance(delta.get("text"), str):
                texts.append(delta["text"])
            usage = event.get("metadata", {}).get("usage") or usage
        text = "".join(texts)
        if not text:
            raise BackscrollError(
                f"the model {model_name(model)} returned no text for a summary: choose another summary model"
            )
        counted = counted_in(usage)
        return SummaryResponse(text, model_name(model), counted and counted.prompt, counted and counted.answer)
