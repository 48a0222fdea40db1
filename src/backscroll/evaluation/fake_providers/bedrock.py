"""A fake of Amazon Bedrock's Converse that enforces the documented rules: `FakeBedrock`."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from backscroll.evaluation.fake_providers.bedrock_request import BedrockRequest
from backscroll.evaluation.fake_providers.bedrock_rules import RULES
from backscroll.evaluation.fake_providers.chain import as_text, count_bytes, fingerprint
from backscroll.evaluation.fake_providers.errors import bedrock_error
from backscroll.evaluation.fake_providers.prompt_cache import CacheUsage, PromptCache, Unit
from backscroll.evaluation.fake_providers.rules import Rule, refuse
from backscroll.evaluation.fake_providers.script import Call, Replies, Script, Text, Thinking, kept

_WINDOW = 1_000_000
_MINIMUM = 1024  # tokens: "Prompt caching" of the user guide


class FakeBedrock:
    """Bedrock's Converse with order of roles, pairs, blank texts and cache points; deterministic, without a clock.

    It signs the reasoning of its replies. For models of Claude reasoning without a signature is refused; a signature is
    not compared with what precedes it, which `FakeAnthropic` does. Bytes are not read. Not safe for concurrent use.

    Attributes:
        cache: The prompt cache of the account.
        requests: The requests that were accepted or refused, in order.
    """

    def __init__(
        self,
        *,
        model: str = "anthropic.claude-opus-5-5-v1:0",
        replies: Script = None,
        window: int = _WINDOW,
        count: Callable[[str], int] = count_bytes,
        rules: Sequence[Rule[BedrockRequest]] | None = None,
    ) -> None:
        """Make a provider that has seen no request.

        Args:
            model: Id of the model of requests that name none; any id is known. Those of Claude refuse a prefill where
                Anthropic does.
            replies: What the model answers; see `FakeAnthropic`.
            window: Largest input in tokens.
            count: Tokens of a text. The default divides its UTF-8 bytes by four and rounds up.
            rules: What is refused; `None`: all of `bedrock_rules.RULES`. A test may leave one out.
        """
        self.cache: PromptCache = PromptCache()
        self.requests: list[dict[str, Any]] = []
        self._model, self._replies, self._window = model, Replies(replies), window
        self._count, self._rules = count, RULES if rules is None else rules
        self._numbers = itertools.count(1)

    def converse(self, **raw: Any) -> dict[str, Any]:
        """Answer a request as `client.converse` does.

        Args:
            **raw: `messages`, and what else the API takes. `modelId` has a default. `toolConfig` is required where the
                messages hold calls or results.

        Returns:
            The response, as the client of Python returns it. `usage` counts in tokens.

        Raises:
            FakeProviderError: The request breaks a rule: 400. `ParamValidationError` is what the client raises itself.
        """
        self.requests.append(kept(raw))
        model = str(raw.get("modelId") or self._model)
        request = BedrockRequest(raw, model)
        refuse(self._rules, request)
        units = self._units(request)
        if sum(unit.tokens for unit in units) > self._window:
            raise bedrock_error("Input is too long for requested model.")
        answer = self._replies.next(raw)
        content = [self._block(part) for part in answer.parts]
        is_call = any("toolUse" in block for block in content)
        billed = self.cache.bill_marks(model, units, _MINIMUM)
        return {
            "output": {"message": {"role": "assistant", "content": content}},
            "stopReason": answer.stop_reason or ("tool_use" if is_call else "end_turn"),
            "usage": _usage(billed, sum(self._count(as_text(block)) for block in content)),
            "metrics": {"latencyMs": 1},
        }

    def _units(self, request: BedrockRequest) -> list[Unit]:
        """Return the prompt in the order tools, system, messages. A cache point marks the block before it."""
        config = request.raw.get("toolConfig")
        tools = (config.get("tools") if isinstance(config, dict) else None) or []
        parts: list[Any] = [*tools, *(request.raw.get("system") or ())]
        parts += [{"role": place.role, **place.block} for place in request.places()]
        units: list[Unit] = []
        for part in parts:
            point = part.get("cachePoint")
            if point is None:
                text = _text(part)
                units.append(Unit(text, self._count(text)))
            elif units:
                units[-1] = units[-1]._replace(mark=str(point.get("ttl") or "5m"))
        return units

    def _block(self, part: Text | Thinking | Call) -> dict[str, Any]:
        if isinstance(part, Text):
            return {"text": part.text}
        if isinstance(part, Call):
            known = f"tooluse_{next(self._numbers):04}"
            return {"toolUse": {"toolUseId": known, "name": part.name, "input": dict(part.arguments)}}
        signature = "sig_" + fingerprint(next(self._numbers), part.text)
        if part.redacted:
            return {"reasoningContent": {"redactedContent": signature.encode()}}
        return {"reasoningContent": {"reasoningText": {"text": part.text, "signature": signature}}}


def _text(part: Any) -> str:
    """Return a block as JSON, bytes as text."""
    return as_text(_plain(part))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.hex() if isinstance(value, bytes | bytearray) else value


def _usage(billed: CacheUsage, output: int) -> dict[str, int]:
    prompt = billed.read + billed.written + billed.uncached
    return {
        "inputTokens": billed.uncached,
        "outputTokens": output,
        "totalTokens": prompt + output,
        "cacheReadInputTokens": billed.read,
        "cacheWriteInputTokens": billed.written,
    }
