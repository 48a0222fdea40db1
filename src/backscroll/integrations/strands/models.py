"""What a Strands model tells of itself, and summaries by one. Decides nothing about views."""

from collections.abc import Callable, Mapping
from typing import Any

from backscroll.compaction.summarization import INSTRUCTIONS, SummaryRequest, SummaryResponse
from backscroll.errors import BackscrollError
from backscroll.tokens.responses import Counted, read_usage

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


def counted_in(usage: Mapping[str, Any] | None) -> Counted | None:
    """What the provider counted, in the framework's words, which are Bedrock's; None where it counted nothing."""
    return read_usage(usage) if usage and "inputTokens" in usage else None


class SummaryFromModel:
    """A summarizer over a Strands model; `model` is asked at each call, so that an agent may change its own."""

    def __init__(self, model: Callable[[], Any], system_prompt: str | None) -> None:
        self._model = model
        self._system_prompt = system_prompt

    async def __call__(self, request: SummaryRequest) -> SummaryResponse:
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
        counted = counted_in(usage)
        return SummaryResponse(text, model_name(model), counted and counted.prompt, counted and counted.answer)
