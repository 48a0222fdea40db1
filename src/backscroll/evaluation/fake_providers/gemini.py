"""A fake of Gemini's `generateContent` that enforces the documented rules: `FakeGemini`.

Sources: "Thought signatures" and "Context caching" (Gemini API), the types of the google-genai client, and error texts
as users of the API reported them.
"""

import base64
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from backscroll.evaluation.fake_providers.chain import as_text, count_bytes, fingerprint
from backscroll.evaluation.fake_providers.errors import FakeProviderError, gemini_error
from backscroll.evaluation.fake_providers.prompt_cache import PromptCache, Unit
from backscroll.evaluation.fake_providers.script import Replies, Reply, Script, Text, Thinking, kept

DUMMIES = frozenset({"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"})
"""Signatures for calls that no model made."""

_DATA = frozenset({
    "text", "inlineData", "fileData", "functionCall", "functionResponse", "toolCall", "toolResponse",
    "executableCode", "codeExecutionResult",
})  # fmt: skip
_PART = _DATA | {"thought", "thoughtSignature", "mediaResolution", "videoMetadata"}
_MODEL = re.compile(r"(?:models/)?gemini-(\d+)(?:\.\d+)?-.*")
_WINDOW = 1_048_576

Part = dict[str, Any]


class _Content(NamedTuple):
    at: int
    role: str
    parts: list[Part]

    @property
    def calls(self) -> list[Part]:
        return [part for part in self.parts if "functionCall" in part]

    @property
    def responses(self) -> list[Part]:
        return [part for part in self.parts if "functionResponse" in part]


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
    ) -> None:
        """Make a provider that has seen no request.

        Args:
            model: Id of the model of requests that name none.
            replies: What the model answers; see `FakeAnthropic`.
            window: Largest input in tokens.
            count: Tokens of a text. The default divides its UTF-8 bytes by four and rounds up.
            ids: Calls get an `id`, as from Gemini 3 on; without one, only their order identifies the responses.
        """
        self.cache: PromptCache = PromptCache()
        self.requests: list[dict[str, Any]] = []
        self._model, self._replies, self._window, self._count = model, Replies(replies), window, count
        self._signed: dict[str, str] = {}
        self._ids = ids
        self._numbers = itertools.count(1)

    def generate_content(
        self,
        *,
        contents: list[Mapping[str, Any]] | str,
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
        generation = _generation(known)
        turns = _contents(contents)
        for error in itertools.chain(_order(turns), self._signatures(turns) if generation >= 3 else ()):
            raise error
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

    def _signatures(self, turns: list[_Content]) -> Iterator[FakeProviderError]:
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

    def _units(self, turns: list[_Content], system: Any, tools: list[Any] | None) -> list[Unit]:
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


def _generation(model: str) -> int:
    found = _MODEL.fullmatch(model)
    if found is None:
        raise gemini_error(f"models/{model} is not found for API version v1beta", status_code=404, status="NOT_FOUND")
    return int(found[1])


def _contents(contents: list[Mapping[str, Any]] | str) -> list[_Content]:
    given: list[Mapping[str, Any]] = (
        [{"role": "user", "parts": [{"text": contents}]}] if isinstance(contents, str) else contents
    )
    return [
        _Content(at, str(content.get("role") or "user"), [_camel_case(part) for part in content.get("parts") or ()])
        for at, content in enumerate(given)
    ]


def _camel_case(part: Mapping[str, Any]) -> Part:
    """Return a part with the wire's names, without nulls, and bytes as base64."""
    found: Part = {}
    for key, value in part.items():
        name = re.sub(r"_([a-z])", lambda letter: letter[1].upper(), key)
        if value is not None:
            found[name] = base64.b64encode(value).decode() if isinstance(value, bytes) else value
    return found


def _order(turns: list[_Content]) -> Iterator[FakeProviderError]:
    if not turns:
        yield gemini_error("* GenerateContentRequest.contents: contents is not specified")
        return
    for turn in turns:
        yield from _fields(turn)
    if turns[0].role != "user" or turns[-1].role != "user":
        yield gemini_error(
            "Please ensure that multiturn requests start with a user role and end with a user role or a function"
            " response."
        )
    for turn, following in zip(turns, [*turns[1:], None], strict=True):
        answers = following.responses if following else []
        if turn.calls and len(answers) != len(turn.calls):
            yield gemini_error(
                "Please ensure that the number of function response parts is equal to the number of function call"
                " parts of the function call turn."
            )
        if turn.calls and not all(_answers(part, turn.calls) for part in answers):
            yield gemini_error("Please ensure that function responses match the function calls of the turn before.")
    yield from _neighbors(turns)


def _neighbors(turns: list[_Content]) -> Iterator[FakeProviderError]:
    for before, turn in zip([None, *turns], turns, strict=False):
        if turn.calls and (before is None or before.role != "user"):
            yield gemini_error(
                "Please ensure that function call turn comes immediately after a user turn or after a function response"
                " turn."
            )
        if turn.responses and (before is None or not before.calls):
            yield gemini_error(
                "Please ensure that function response turn comes immediately after a function call turn."
            )


def _fields(turn: _Content) -> Iterator[FakeProviderError]:
    where = f"GenerateContentRequest.contents[{turn.at}]"
    if turn.role not in ("user", "model"):
        yield gemini_error("Please use a valid role: user, model.")
    if not turn.parts:
        yield gemini_error(f"* {where}.parts: contents.parts must not be empty.")
    for number, part in enumerate(turn.parts):
        unknown = sorted(set(part) - _PART)
        if unknown:
            yield gemini_error(
                f'Invalid JSON payload received. Unknown name "{unknown[0]}" at'
                f" 'contents[{turn.at}].parts[{number}]': Cannot find field."
            )
        if len(_DATA & set(part)) != 1:
            yield gemini_error(
                f"* {where}.parts[{number}].data: required oneof field 'data' must have one initialized field"
            )
        if "functionCall" in part and turn.role != "model":
            yield gemini_error("Please ensure that function call turn comes from the model.")
        if "functionResponse" in part and turn.role != "user":
            yield gemini_error("Please ensure that function response turn comes from the user.")


def _answers(part: Part, calls: list[Part]) -> bool:
    """Return whether a response names one of the calls: by its id, if it has one, and by its name."""
    response = part["functionResponse"]
    return any(
        response.get("id") in (None, call["functionCall"].get("id"))
        and response.get("name") == call["functionCall"].get("name")
        for call in calls
    )


def _identity(part: Part) -> str:
    """Return what a signature is bound to: the data of its part."""
    return fingerprint({key: value for key, value in part.items() if key in _DATA})


def _decoded(signature: str) -> str:
    """Return the text of a dummy signature, which may be sent plain or in base64."""
    if signature in DUMMIES:
        return signature
    try:
        return base64.b64decode(signature, validate=True).decode()
    except ValueError:
        return ""
