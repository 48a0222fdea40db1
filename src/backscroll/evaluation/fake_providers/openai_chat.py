"""A fake of OpenAI's chat completions that enforces the documented rules: `FakeOpenAIChat`."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from backscroll.evaluation.fake_providers.chain import as_text, canonical, count_bytes
from backscroll.evaluation.fake_providers.chat_rules import RULES, messages_of
from backscroll.evaluation.fake_providers.errors import openai_error
from backscroll.evaluation.fake_providers.prompt_cache import CacheUsage, PromptCache, Unit
from backscroll.evaluation.fake_providers.rules import Rule, refuse
from backscroll.evaluation.fake_providers.script import Call, Replies, Reply, Script, Text, kept

_MINIMUM = 1024  # tokens: "Prompt caching"


class FakeOpenAIChat:
    """OpenAI's chat completions with pairs of calls and results, and a cache of prefixes; deterministic.

    It carries no reasoning, as the API does not. Not safe for concurrent use.

    Attributes:
        cache: The prompt cache of the account.
        requests: The requests that were accepted or refused, in order.
    """

    def __init__(
        self,
        *,
        model: str = "gpt-5.4",
        replies: Script = None,
        window: int = 400_000,
        count: Callable[[str], int] = count_bytes,
        rules: Sequence[Rule[Mapping[str, Any]]] | None = None,
    ) -> None:
        """Make a provider that has seen no request.

        Args:
            model: Id of the model of requests that name none; any id is known.
            replies: What the model answers; see `FakeAnthropic`.
            window: Largest input in tokens.
            count: Tokens of a text. The default divides its UTF-8 bytes by four and rounds up.
            rules: What is refused; `None`: all of `chat_rules.RULES`. A test may leave one out, such as
                `cut-arguments`, which OpenAI itself accepts.
        """
        self.cache: PromptCache = PromptCache()
        self.requests: list[dict[str, Any]] = []
        self._model, self._replies, self._window = model, Replies(replies), window
        self._count, self._rules = count, RULES if rules is None else rules
        self._numbers = itertools.count(1)

    def create(self, **raw: Any) -> dict[str, Any]:
        """Answer a request as `client.chat.completions.create` does.

        Args:
            **raw: `messages`, and what else the API takes. `model` has a default.

        Returns:
            The JSON of a `ChatCompletion`. `usage` counts in tokens.

        Raises:
            FakeProviderError: The request breaks a rule: 400.
        """
        request: Mapping[str, Any] = raw
        self.requests.append(kept(raw))
        messages = messages_of(raw)
        refuse(self._rules, request)
        parts = [*(raw.get("tools") or ()), *messages]
        units = [Unit(as_text(canonical(part)), self._count(as_text(part))) for part in parts]
        prompt = sum(unit.tokens for unit in units)
        if prompt > self._window:
            raise openai_error(
                f"This model's maximum context length is {self._window} tokens. However, your messages resulted in"
                f" {prompt} tokens. Please reduce the length of the messages.",
                code="context_length_exceeded",
                param="messages",
            )
        message = self._message(self._replies.next(raw))
        known = str(raw.get("model") or self._model)
        billed = self.cache.bill_prefix(as_text([known, raw.get("prompt_cache_key")]), units, _MINIMUM)
        reason = "tool_calls" if "tool_calls" in message else "stop"
        return {
            "id": f"chatcmpl-{next(self._numbers):04}",
            "object": "chat.completion",
            "created": next(self._numbers),
            "model": known,
            "choices": [{"index": 0, "finish_reason": reason, "logprobs": None, "message": message}],
            "usage": self._usage(prompt, billed, self._count(as_text(message))),
        }

    def _usage(self, prompt: int, billed: CacheUsage, written: int) -> dict[str, Any]:
        return {
            "prompt_tokens": prompt,
            "completion_tokens": written,
            "total_tokens": prompt + written,
            "prompt_tokens_details": {"cached_tokens": billed.read},
        }

    def _message(self, answer: Reply) -> dict[str, Any]:
        text = "".join(part.text for part in answer.parts if isinstance(part, Text))
        calls = [self._call(part) for part in answer.parts if isinstance(part, Call)]
        content = text or (None if calls else "")
        message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": None, "annotations": []}
        return message | ({"tool_calls": calls} if calls else {})

    def _call(self, part: Call) -> dict[str, Any]:
        function = {"name": part.name, "arguments": as_text(dict(part.arguments))}
        return {"id": f"call_{next(self._numbers):04}", "type": "function", "function": function}
