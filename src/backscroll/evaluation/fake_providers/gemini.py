"""A fake of Gemini's `generateContent` that enforces the documented rules: `FakeGemini`.

Sources: "Thought signatures" and "Context caching" (Gemini API), the types of the google-genai client, and error texts
as users of the API reported them.
"""

import base64
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from backscroll.evaluation.fake_providers.chain import as_text, count_bytes, fingerprint
from backscroll.evaluation.fake_providers.errors import FakeProviderError, gemini_error
from backscroll.evaluation.fake_providers.gemini_rules import (
    DATA,
    RULES,
    Content,
    ContentsRequest,
    Part,
    contents_of,
)
from backscroll.evaluation.fake_providers.prompt_cache import PromptCache, Unit
from backscroll.evaluation.fake_providers.rules import Rule, refuse
from backscroll.evaluation.fake_providers.script import Replies, Reply, Script, Text, Thinking, kept

DUMMIES = frozenset({"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"})
"""Signatures for calls that no model made."""

_MODEL = re.compile(r"(?:models/)?gemini-(\d+)(?:\.\d+)?-.*")
_WINDOW = 1_048_576


class FakeGemini:
    """Gemini's `generateContent` with thought signatures, order of turns and implicit caching; deterministic.

    From Gemini 3 on each step of the current turn has to bring back the signature of its first function call. Not safe
    for concurrent use.

    Attributes:
        cache: The implicit cache.
        requests: The requests that were accepted or refused, in order.
    """

    def __init__(
        self,
        *,
        model: str = "gemini-3.8-flash",
        replies: Script = None,
        window: int = _WINDOW,
        count: Callable[[str], int] = count_bytes,
        ids: bool = True,
        rules: Sequence[Rule[ContentsRequest]] | None = None,
    ) -> None:
        """Make a provider that has seen no request.

        Args:
            model: Id of the model of requests that name none.
            replies: What the model answers; see `FakeAnthropic`.
            window: Largest input in tokens.
            count: Tokens of a text. The default divides its UTF-8 bytes by four and rounds up.
            ids: Calls get an `id`, as from Gemini 3 on; without one, only their order identifies the responses.
            rules: What is refused; `None`: all of `gemini_rules.RULES`. A test may leave one out.
        """
        self.cache: PromptCache = PromptCache()
        self.requests: list[dict[str, Any]] = []
        self._model, self._replies, self._window, self._count = model, Replies(replies), window, count
        self._signed: dict[str, str] = {}
        self._ids, self._rules = ids, RULES if rules is None else rules
        self._numbers = itertools.count(1)

    def generate_content(
        self,
        *,
        contents: Sequence[Mapping[str, Any]] | str,
        model: str | None = None,
        system_instruction: Any = None,
        tools: list[Any] | None = None,
    ) -> dict[str, Any]:
        """Answer a request.

        Args:
            contents: The conversation, in the wire's camelCase or the client's snake_case; a text is one turn.
            model: Id of the model; `None`: that of the constructor.
            system_instruction: A text or a content.
            tools: Declarations of functions.

        Returns:
            The JSON of a `GenerateContentResponse`. `usageMetadata` counts in tokens.

        Raises:
            FakeProviderError: The request breaks a rule: 400, or 404 for an unknown model.
        """
        known = model or self._model
        raw = {"model": known, "contents": contents, "system_instruction": system_instruction, "tools": tools}
        self.requests.append(kept(raw))
        generation = generation_of(known)
        turns = contents_of(contents)
        refuse(self._rules, ContentsRequest(raw, turns, self._signatures if generation >= 3 else _no_signatures))
        units = self._units(turns, system_instruction, tools)
        total = sum(unit.tokens for unit in units)
        if total > self._window:
            raise gemini_error(
                f"The input token count ({total}) exceeds the maximum number of tokens allowed ({self._window})."
            )
        parts = self._parts(self._replies.next(raw))
        return {
            "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": self._usage(known, generation, units, parts),
            "modelVersion": known,
            "responseId": f"response-{next(self._numbers):04}",
        }

    def _signatures(self, turns: list[Content]) -> Iterator[FakeProviderError]:
        """Check the first function call of each step of the current turn, which begins with the user's last words."""
        begun = max((turn.at for turn in turns if turn.role == "user" and not turn.responses), default=0)
        for turn in turns[begun:]:
            for number, call in enumerate(turn.calls):
                signature = call.get("thoughtSignature")
                name = call["functionCall"].get("name")
                if signature is None and number == 0:
                    yield gemini_error(
                        "Function call is missing a thought_signature in functionCall parts. This is required for tools"
                        " to work correctly, and missing thought_signature may lead to degraded model performance."
                        f" Additional data, function call `{name}`, position {turn.at + 1}."
                    )
                is_minted = signature is not None and _decoded(signature) not in DUMMIES
                if is_minted and self._signed.get(str(signature)) != _identity(call):
                    yield gemini_error("Corrupted thought signature.")

    def _units(self, turns: list[Content], system: Any, tools: list[Any] | None) -> list[Unit]:
        parts: list[Any] = [system] if system else []
        parts += tools or []
        parts += [[turn.role, part] for turn in turns for part in turn.parts]
        return [Unit(as_text(part), self._count(as_text(part))) for part in parts]

    def _parts(self, answer: Reply) -> list[Part]:
        """Return the parts of a reply. The first call is signed; without calls, the last part."""
        parts: list[Part] = []
        for piece in answer.parts:
            if isinstance(piece, Thinking):
                parts.append({"text": piece.text, "thought": True})
            elif isinstance(piece, Text):
                parts.append({"text": piece.text})
            else:
                known = {"id": f"call-{next(self._numbers):04}"} if self._ids else {}
                parts.append({"functionCall": {**known, "name": piece.name, "args": dict(piece.arguments)}})
        thinks = any(isinstance(piece, Thinking) for piece in answer.parts)
        calls = [part for part in parts if "functionCall" in part]
        signed = calls[0] if calls else parts[-1] if thinks and parts else None
        if signed is not None:
            text = "sig_" + fingerprint(len(self._signed), signed)
            signature = base64.b64encode(text.encode()).decode()
            self._signed[signature] = _identity(signed)
            signed["thoughtSignature"] = signature
        return parts

    def _usage(self, model: str, generation: int, units: list[Unit], parts: list[Part]) -> dict[str, int]:
        billed = self.cache.bill_prefix(model, units, 4096 if generation >= 3 else 2048)
        prompt = billed.read + billed.written + billed.uncached
        thoughts = sum(self._count(as_text(part)) for part in parts if part.get("thought"))
        written = sum(self._count(as_text(part)) for part in parts if not part.get("thought"))
        return {
            "promptTokenCount": prompt,
            "cachedContentTokenCount": billed.read,
            "candidatesTokenCount": written,
            "thoughtsTokenCount": thoughts,
            "totalTokenCount": prompt + written + thoughts,
        }


def generation_of(model: str) -> int:
    """Return the first number in the name of a model of Gemini."""
    found = _MODEL.fullmatch(model)
    if found is None:
        raise gemini_error(f"models/{model} is not found for API version v1beta", status_code=404, status="NOT_FOUND")
    return int(found[1])


def _no_signatures(_: list[Content]) -> Iterator[FakeProviderError]:
    """Models before Gemini 3 validate none."""
    yield from ()


def _identity(part: Part) -> str:
    """Return what a signature is bound to: the data of its part."""
    return fingerprint({key: value for key, value in part.items() if key in DATA})


def _decoded(signature: str) -> str:
    """Return the text of a dummy signature, which may be sent plain or in base64."""
    if signature in DUMMIES:
        return signature
    try:
        return base64.b64decode(signature, validate=True).decode()
    except ValueError:
        return ""
