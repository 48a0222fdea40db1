"""A fake of Gemini's Interactions API that enforces the documented rules, without a history of its own.

Sources: `Interaction`, `Step` and `Usage` of google-genai 3.6, and "Thought signatures" (Gemini API).
"""

import base64
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from backscroll.evaluation.fake_providers.chain import as_text, count_bytes, fingerprint
from backscroll.evaluation.fake_providers.errors import FakeProviderError, gemini_error
from backscroll.evaluation.fake_providers.gemini import generation_of
from backscroll.evaluation.fake_providers.interactions_rules import RULES, Step, StepsRequest, is_of_model, steps_of
from backscroll.evaluation.fake_providers.prompt_cache import PromptCache, Unit
from backscroll.evaluation.fake_providers.rules import Rule, refuse
from backscroll.evaluation.fake_providers.script import Replies, Reply, Script, Text, Thinking, kept

_WINDOW = 1_048_576


class FakeInteractions:
    """The Interactions API with `store=False`: signed thoughts, order of steps and implicit caching; deterministic.

    From Gemini 3 on a thought precedes the first call of each answer. Its signature holds for the step behind it, and
    the calls of the current turn must bring it back. Not safe for concurrent use.

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
        rules: Sequence[Rule[StepsRequest]] | None = None,
    ) -> None:
        """Make a provider that has seen no request.

        Args:
            model: Id of the model of requests that name none.
            replies: What the model answers; see `FakeAnthropic`.
            window: Largest input in tokens.
            count: Tokens of a text. The default divides its UTF-8 bytes by four and rounds up.
            rules: What is refused; `None`: all of `interactions_rules.RULES`. A test may leave one out.
        """
        self.cache: PromptCache = PromptCache()
        self.requests: list[dict[str, Any]] = []
        self._model, self._replies, self._window, self._count = model, Replies(replies), window, count
        self._signed: dict[str, str] = {}
        """The identity of the step behind each thought, by its signature."""
        self._demands: dict[str, str] = {}
        """The signature of the thought before a call, by the call's id."""
        self._rules = RULES if rules is None else rules
        self._numbers = itertools.count(1)

    def create(self, **raw: Any) -> dict[str, Any]:
        """Answer a request as `client.interactions.create` does.

        Args:
            **raw: `input`, and what else the API takes. `model` has a default; `previous_interaction_id` is refused.

        Returns:
            The JSON of an `Interaction`. `usage` counts in tokens.

        Raises:
            FakeProviderError: The request breaks a rule: 400, or 404 for an unknown model.
        """
        self.requests.append(kept(raw))
        model = str(raw.get("model") or self._model)
        generation = generation_of(model)
        steps = steps_of(raw.get("input"))
        refuse(self._rules, StepsRequest(raw, steps, self._signatures if generation >= 3 else _no_signatures))
        parts = [*filter(None, [raw.get("system_instruction")]), *(raw.get("tools") or ()), *steps]
        units = [Unit(as_text(part), self._count(as_text(part))) for part in parts]
        total = sum(unit.tokens for unit in units)
        if total > self._window:
            raise gemini_error(
                f"The input token count ({total}) exceeds the maximum number of tokens allowed ({self._window})."
            )
        made = self._steps(self._replies.next(raw), signs=generation >= 3)
        has_calls = any(step["type"] == "function_call" for step in made)
        return {
            "id": f"interaction-{next(self._numbers):04}",
            "object": "interaction",
            "status": "requires_action" if has_calls else "completed",
            "created": "2026-11-01T00:00:00Z",
            "updated": "2026-11-01T00:00:00Z",
            "model": model,
            "steps": made,
            "usage": self._usage(model, generation, units, made),
        }

    def _signatures(self, steps: list[Step]) -> Iterator[FakeProviderError]:
        """Check each thought, and that no call of the current turn has lost its own."""
        begun = max((at for at, step in enumerate(steps) if step["type"] == "user_input"), default=0)
        for at, (step, following) in enumerate(itertools.zip_longest(steps, steps[1:])):
            signature = step.get("signature") if step["type"] == "thought" else None
            if signature is not None and self._signed.get(str(signature)) != fingerprint(following):
                yield gemini_error(f"Corrupted thought signature at 'input[{at}]'.")
            demanded = self._demands.get(str(step.get("id"))) if step["type"] == "function_call" else None
            if demanded is not None and at > begun:
                made = itertools.takewhile(is_of_model, reversed(steps[:at]))
                if demanded not in [each.get("signature") for each in made]:
                    yield gemini_error(f"Function call at 'input[{at}]' is missing the thought before it.")

    def _steps(self, answer: Reply, *, signs: bool) -> list[Step]:
        """Return the steps of a reply, with a signed thought before its first call and where the model thought."""
        made: list[Step] = []
        for piece in answer.parts:
            if isinstance(piece, Thinking):
                made.append({"type": "thought", "summary": [{"type": "text", "text": piece.text}]})
            elif isinstance(piece, Text):
                made.append({"type": "model_output", "content": [{"type": "text", "text": piece.text}]})
            else:
                if signs and not any(step["type"] in ("thought", "function_call") for step in made):
                    made.append({"type": "thought"})
                known = f"call-{next(self._numbers):04}"
                made.append(
                    {"type": "function_call", "id": known, "name": piece.name, "arguments": dict(piece.arguments)}
                )
        for step, following in reversed(list(itertools.pairwise(made))):  # a thought may precede a thought
            if step["type"] == "thought" and signs:
                self._sign(step, following, made)
        return made

    def _sign(self, step: Step, following: Step, made: list[Step]) -> None:
        text = "sig_" + fingerprint(len(self._signed), following)
        step["signature"] = base64.b64encode(text.encode()).decode()
        self._signed[step["signature"]] = fingerprint(following)
        for call in made:
            if call["type"] == "function_call":
                self._demands.setdefault(call["id"], step["signature"])

    def _usage(self, model: str, generation: int, units: list[Unit], made: list[Step]) -> dict[str, int]:
        billed = self.cache.bill_prefix(model, units, 4096 if generation >= 3 else 2048)
        prompt = billed.read + billed.written + billed.uncached
        thoughts = sum(self._count(as_text(step)) for step in made if step["type"] == "thought")
        written = sum(self._count(as_text(step)) for step in made if step["type"] != "thought")
        return {
            "initial_input_tokens": prompt,
            "total_input_tokens": prompt,
            "total_cached_tokens": billed.read,
            "total_output_tokens": written,
            "total_thought_tokens": thoughts,
            "total_tokens": prompt + written + thoughts,
        }


def _no_signatures(_: list[Step]) -> Iterator[FakeProviderError]:
    """Models before Gemini 3 validate none."""
    yield from ()
