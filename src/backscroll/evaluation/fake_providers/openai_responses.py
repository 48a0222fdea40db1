"""A fake of OpenAI's Responses API that enforces the documented rules: `FakeOpenAIResponses`."""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, Literal, NamedTuple

from backscroll.evaluation.fake_providers.chain import as_text, canonical, count_bytes, fingerprint
from backscroll.evaluation.fake_providers.errors import openai_error
from backscroll.evaluation.fake_providers.openai_calls import Offered, call_item, offered
from backscroll.evaluation.fake_providers.openai_contents import Item
from backscroll.evaluation.fake_providers.openai_reasoning import (
    BINDS,
    Prefix,
    ReasoningLedger,
    ReasoningRecord,
    Version,
    rendered,
)
from backscroll.evaluation.fake_providers.openai_rules import RULES, ItemsRequest, items_of
from backscroll.evaluation.fake_providers.prompt_cache import CacheUsage, PromptCache, Unit
from backscroll.evaluation.fake_providers.rules import Rule, refuse
from backscroll.evaluation.fake_providers.script import Call, Replies, Reply, Script, Text, Thinking, kept

_MODEL = re.compile(r"gpt-(\d+)(?:\.(\d+))?(-mini|-nano)?(?:-.*)?")
_MINIMUM = 1024  # tokens: "Prompt caching"
_BILLS_WRITES = (5, 6)


class _Prepared(NamedTuple):
    """A request that passed every check."""

    raw: Mapping[str, Any]
    items: list[Item]
    removed: dict[int, dict[str, str]]
    start: str
    end: Prefix
    units: list[Unit]
    after: int
    """Tokens that follow `input`: the instructions, from GPT-6.2 on."""
    version: Version


class FakeOpenAIResponses:
    """OpenAI's Responses API with preserved reasoning, compaction and prompt caching; deterministic, without a clock.

    It encrypts the reasoning of its replies. Reasoning whose prefix changed is removed and reported from GPT-6.2 on, as
    "Preserved reasoning" (OpenAI) says; the request succeeds. Not safe for concurrent use.

    Attributes:
        cache: The prompt cache of the account.
        transformations: What the last accepted request lost.
        requests: The requests that were accepted or refused, in order.
    """

    def __init__(
        self,
        *,
        model: str = "gpt-6.2-sol",
        replies: Script = None,
        account: str = "account-1",
        window: int | None = None,
        on_mismatch: Literal["remove", "error"] = "remove",
        keeps_replies: bool = False,
        count: Callable[[str], int] = count_bytes,
        rules: Sequence[Rule[ItemsRequest]] | None = None,
    ) -> None:
        """Make a provider that has seen no request.

        Args:
            model: Id of the model of requests that name none.
            replies: What the model answers; see `FakeAnthropic`.
            account: The organization of the requests.
            window: Largest input in tokens. `None`: that of the model.
            on_mismatch: `remove`: as the API does. `error`: refuse a changed prefix with 400, so that a test sees it.
            keeps_replies: `compact` returns the model's messages as well, with their ids. Users saw that of gpt-5.4.
            count: Tokens of a text. The default divides its UTF-8 bytes by four and rounds up.
            rules: What is refused; `None`: all of `openai_rules.RULES`. A test may leave one out.
        """
        self.cache: PromptCache = PromptCache()
        self.transformations: list[dict[str, str]] = []
        self.requests: list[dict[str, Any]] = []
        self._model, self._replies, self._account = model, Replies(replies), account
        self._window, self._on_mismatch, self._count = window, on_mismatch, count
        self._compact_keeps = ("user", "assistant") if keeps_replies else ("user",)
        self._ledger, self._rules = ReasoningLedger(), RULES if rules is None else rules
        self._numbers = itertools.count(1)

    def for_account(self, account: str) -> "FakeOpenAIResponses":
        """Return the same provider for requests of another organization, with a cache of its own."""
        other = copy(self)
        other.cache, other.transformations, other.requests = PromptCache(), [], []
        other._account = account  # noqa: SLF001 # a copy of ourselves
        return other

    def create(self, **raw: Any) -> dict[str, Any]:
        """Answer a request as `client.responses.create` does.

        Args:
            **raw: `input`, and what else the API takes. `model` has a default; `previous_response_id` is refused.

        Returns:
            The JSON of a `Response`. `usage` counts in tokens; `input_transformations` lists removed reasoning.

        Raises:
            FakeProviderError: The request breaks a rule: 400, or 404 for an unknown model or item.
        """
        self.requests.append(kept(raw))
        ready = self._prepare(raw)
        self.transformations = list(ready.removed.values())
        known = self._id("resp")
        if ready.items[-1]["type"] == "compaction_trigger":
            output = [self._ledger.mint_compaction(self._id("cmp"), ready.end.value)]
        else:
            output = self._output(ready, self._replies.next(raw), known)
        self._ledger.remember(known, output, is_stored=raw.get("store") is not False)
        return {
            "id": known,
            "object": "response",
            "created_at": next(self._numbers),
            "status": "completed",
            "model": str(raw.get("model") or self._model),
            "instructions": raw.get("instructions"),
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": raw.get("tool_choice") or "auto",
            "tools": raw.get("tools") or [],
            "prompt_cache_key": raw.get("prompt_cache_key"),
            "input_transformations": list(self.transformations),
            "usage": self._usage(ready, output),
        }

    def compact(self, **raw: Any) -> dict[str, Any]:
        """Compact as `client.responses.compact` does: the user's messages, then one compaction item.

        Returns:
            The JSON of a `CompactedResponse`. Its `output` is the beginning of the next input, as it is.

        Raises:
            FakeProviderError: As `create` does.
        """
        self.requests.append(kept(raw))
        ready = self._prepare(raw)
        self.transformations = list(ready.removed.values())
        item = self._ledger.mint_compaction(self._id("cmp"), ready.end.value)
        asked = [each for each in ready.items if each["type"] == "message" and each["role"] in self._compact_keeps]
        return {
            "id": self._id("resp"),
            "object": "response.compaction",
            "created_at": next(self._numbers),
            "output": [*asked, item],
            "usage": self._usage(ready, [item]),
        }

    def count_tokens(self, **raw: Any) -> dict[str, Any]:
        """Return the tokens of a request as `client.responses.input_tokens.count` does, after the same checks."""
        ready = self._prepare(raw)
        total = sum(unit.tokens for unit in ready.units) + ready.after
        return {"object": "response.input_tokens", "input_tokens": total}

    def _id(self, prefix: str) -> str:
        return f"{prefix}_{next(self._numbers):04}"

    def _prepare(self, raw: Mapping[str, Any]) -> _Prepared:
        known = str(raw.get("model") or self._model)
        found = _MODEL.fullmatch(known)
        if found is None:
            raise openai_error(
                f"The model `{known}` does not exist or you do not have access to it.",
                status_code=404,
                code="model_not_found",
                param="model",
            )
        version = (int(found[1]), int(found[2] or 0))
        items = items_of(raw.get("input"))
        refuse(self._rules, ItemsRequest(raw, items, version, self._ledger.alone))
        form = (raw.get("text") or {}).get("format")
        instructions = None if version >= BINDS else raw.get("instructions")
        start = fingerprint(canonical(raw.get("tools") or []), canonical(form))
        removed = self._ledger.removed(start, items, version, self._account)
        changed = [each for each in removed.values() if each["reason"] == "prefix_mismatch"]
        if changed and self._on_mismatch == "error":
            raise openai_error(
                f"Reasoning item '{changed[0]['id']}' has another prefix than when it was created (`on_mismatch` is"
                " `error`; the API removes it)."
            )
        end = list(self._ledger.prefixes(start, items))[-1]
        units = self._units(raw, [item for at, item in enumerate(items) if at not in removed], instructions)
        after = self._tokens(raw["instructions"]) if version >= BINDS and raw.get("instructions") else 0
        total = sum(unit.tokens for unit in units) + after
        if total > (self._window or _largest_input(version, small=bool(found[3]))):
            raise openai_error(
                "Your input exceeds the context window of this model. Please adjust your input and try again.",
                code="context_length_exceeded",
            )
        return _Prepared(
            raw=raw, items=items, removed=removed, start=start, end=end, units=units, after=after, version=version
        )

    def _units(self, raw: Mapping[str, Any], items: list[Item], instructions: Any) -> list[Unit]:
        """Return the prompt in the order of "Prompt caching" (OpenAI): tools, format, instructions, input."""
        parts: list[Any] = list(raw.get("tools") or ())
        parts += [part for part in ((raw.get("text") or {}).get("format"), instructions) if part]
        parts += [rendered(item) for item in items if item["type"] != "compaction_trigger"]
        return [Unit(as_text(canonical(part)), self._tokens(part)) for part in parts]

    def _tokens(self, part: Any) -> int:
        return self._count(as_text(canonical(part)))

    def _output(self, ready: _Prepared, answer: Reply, response: str) -> list[Item]:
        """Return the items of a reply, its reasoning bound to the request and to what precedes it in the reply."""
        tools = offered(ready.raw)
        output = [self._item(part, tools) for part in answer.parts]
        if self._reaches_threshold(ready):
            output.insert(0, self._ledger.mint_compaction(self._id("cmp"), ready.end.value))
        is_stored = ready.raw.get("store") is not False
        for at, item in enumerate(output):
            if item["type"] == "reasoning":
                *_, prefix = self._ledger.prefixes(ready.start, ready.items + output[:at])
                record = ReasoningRecord(
                    id=self._id("rs"),
                    version=ready.version,
                    account=self._account,
                    prefix=prefix.value,
                    anchor=prefix.anchor,
                    response=response,
                    is_stored=is_stored,
                )
                output[at] = self._ledger.mint_reasoning(record, item["summary"])
        return output

    def _reaches_threshold(self, ready: _Prepared) -> bool:
        wishes = ready.raw.get("context_management") or ()
        limits = [wish.get("compact_threshold") for wish in wishes if wish.get("type") == "compaction"]
        total = sum(unit.tokens for unit in ready.units) + ready.after
        return any(limit is not None and total >= limit for limit in limits)

    def _item(self, part: Text | Thinking | Call, tools: Mapping[str, Offered]) -> Item:
        if isinstance(part, Thinking):
            return {"type": "reasoning", "summary": part.text}
        if isinstance(part, Call):
            call = self._id("call")
            return call_item(part, self._id("fc"), call, tools)
        content = [{"type": "output_text", "text": part.text, "annotations": []}]
        return {
            "id": self._id("msg"),
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": content,
        }

    def _usage(self, ready: _Prepared, output: list[Item]) -> dict[str, Any]:
        raw = ready.raw
        keys = [
            raw.get("model") or self._model,
            raw.get("prompt_cache_key"),
            (raw.get("reasoning") or {}).get("effort"),
        ]
        billed: CacheUsage = self.cache.bill_prefix(as_text(keys), ready.units, _MINIMUM)
        total = billed.read + billed.written + billed.uncached + ready.after
        thought = sum(self._tokens(item) for item in output if item["type"] == "reasoning")
        written = sum(self._tokens(item) for item in output)
        return {
            "input_tokens": total,
            "input_tokens_details": {
                "cached_tokens": billed.read,
                "cache_write_tokens": billed.written if ready.version >= _BILLS_WRITES else 0,
            },
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": thought},
            "total_tokens": total + written,
        }


def _largest_input(version: Version, *, small: bool) -> int:
    """Return the largest input in tokens, from the public tables of LiteLLM and genai-prices of November 2026."""
    if version < (5, 0):
        return 1_047_576
    return 272_000 if small or version < (5, 4) else 922_000
