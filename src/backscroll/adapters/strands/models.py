"""What a Strands model tells of itself, and summaries by one. Decides nothing about views."""

from collections.abc import Callable, Mapping
from typing import Any

from backscroll.errors import BackscrollError
from backscroll.summaries import INSTRUCTIONS, SummaryAnswer, SummaryRequest

BULLETS = "\nWrite it as bullet points, one fact each, under a short heading for each of the above."
DEFAULT_PROMPT = INSTRUCTIONS + BULLETS
"""What the summarizer is told, with `{tokens}` for the length of the summary."""
MAIN = "main"


def model_name(model: Any) -> str:
    """Its id, by which requests of one model are one lane; `main` where it has none."""
    found = _config(model).get("model_id")
    return found if isinstance(found, str) and found else MAIN


def input_budget(model: Any) -> int | None:
    """Tokens that a request may hold: the window less the output that the model is configured for, at most half of the
    window; None where it names no window.
    """
    window = getattr(model, "context_window_limit", None)
    if type(window) is not int or window <= 0:
        return None
    config = _config(model)
    params = config.get("params")
    told = [config.get("max_tokens")]
    if isinstance(params, Mapping):
        told += [params.get("max_tokens"), params.get("max_completion_tokens"), params.get("max_output_tokens")]
    output = next((found for found in told if type(found) is int and found > 0), 0)
    return window - min(output, window // 2)


def _config(model: Any) -> Mapping[str, Any]:
    found = model.get_config()
    return found if isinstance(found, Mapping) else vars(found) if hasattr(found, "__dict__") else {}


def prompt_tokens(usage: Mapping[str, Any]) -> int:
    """All input tokens of a call. Some providers count cached ones within, others beside: the total tells which."""
    taken, given, total = (usage.get(name) or 0 for name in ("inputTokens", "outputTokens", "totalTokens"))
    if taken + given == total:
        return int(taken)
    return int(taken + (usage.get("cacheReadInputTokens") or 0) + (usage.get("cacheWriteInputTokens") or 0))


def cache_tokens(usage: Mapping[str, Any], tokens: int) -> tuple[int, int]:
    """Of all input tokens of a call, those that were read from the provider's cache and those that were written."""
    read, written = (int(usage.get(name) or 0) for name in ("cacheReadInputTokens", "cacheWriteInputTokens"))
    return (read, written) if read + written <= tokens else (0, 0)


class SummaryFromModel:
    """A summarizer over a Strands model; `model` is asked at each call, so that an agent may change its own."""

    def __init__(self, model: Callable[[], Any], system_prompt: str | None) -> None:
        self._model = model
        self._system_prompt = system_prompt

    async def __call__(self, request: SummaryRequest) -> SummaryAnswer:
        """One call of the model. Raises what it raises."""
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
            raise BackscrollError(f"the model {model_name(model)} answered a request for a summary with no text")
        tokens = (prompt_tokens(usage), int(usage.get("outputTokens") or 0)) if usage else (None, None)
        return SummaryAnswer(text, model_name(model), *tokens)
