"""A fake of Anthropic's Messages API that enforces the documented rules: `FakeAnthropic`."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

from backscroll.evaluation.fake_providers import anthropic_request as wire
from backscroll.evaluation.fake_providers.anthropic_compaction import CompactionRecord, Compactions
from backscroll.evaluation.fake_providers.anthropic_prefix import PrefixWalk, continue_with, start_of
from backscroll.evaluation.fake_providers.anthropic_prompt import prompt_of
from backscroll.evaluation.fake_providers.anthropic_request import THINKING, AnthropicRequest
from backscroll.evaluation.fake_providers.anthropic_rules import RULES
from backscroll.evaluation.fake_providers.anthropic_thinking import Checked, ThinkingLedger
from backscroll.evaluation.fake_providers.chain import as_text, canonical, count_bytes, fingerprint
from backscroll.evaluation.fake_providers.claude_models import ClaudeModel, enforcement, find_model
from backscroll.evaluation.fake_providers.errors import anthropic_error
from backscroll.evaluation.fake_providers.prompt_cache import CacheUsage, PromptCache, Unit
from backscroll.evaluation.fake_providers.rules import Rule, refuse
from backscroll.evaluation.fake_providers.script import Call, Replies, Reply, Script, Text, Thinking, kept

_LARGEST_BODY = 32 * 1024 * 1024  # bytes: "Errors"
_THRESHOLD = 150_000  # tokens: "Compaction", the default trigger
_LARGEST_OUTPUT = 4096  # tokens, for requests without `max_tokens`


class _Prepared(NamedTuple):
    """A request that passed every check."""

    request: AnthropicRequest
    model: ClaudeModel
    walk: PrefixWalk
    checked: Checked
    units: list[Unit]


class FakeAnthropic:
    """Anthropic's Messages API with preserved thinking, compaction and prompt caching; deterministic, without a clock.

    It signs the thinking of its replies and refuses, drops or allows what is sent back as "Preserved thinking" (Claude
    Platform Docs) says. It is strict where the documents are silent: every change of a byte that is no cache mark
    counts. Not safe for concurrent use.

    Attributes:
        cache: The prompt cache of the account.
        transformations: What the last accepted request changed, also where the beta header was missing.
        requests: The requests that were accepted or refused, in order.
    """

    def __init__(
        self,
        *,
        model: str = "claude-opus-5-5",
        replies: Script = None,
        account: str = "account-1",
        account_created: str = "2026-10-01",
        batch: bool = False,
        window: int | None = None,
        count: Callable[[str], int] = count_bytes,
        rules: Sequence[Rule[AnthropicRequest]] | None = None,
    ) -> None:
        """Make a provider that has seen no request.

        Args:
            model: Id of the model of requests that name none.
            replies: What the model answers, one for each accepted request: an iterable of `Reply` or text, or a
                function of the request. `None`, and after the last one: the text "Done.". A request for a compaction
                takes one too, and its text is the summary.
            account: The organization of the requests.
            account_created: Its day of creation, `YYYY-MM-DD`. Accounts from 2026-08-31 on run the check by default.
            batch: Whether requests are items of a batch, where an unset behavior is `drop_block`.
            window: Tokens of the context window. `None`: the window of the model.
            count: Tokens of a text. The default divides its UTF-8 bytes by four and rounds up.
            rules: What is refused by the request alone; `None`: all of `anthropic_rules.RULES`. A test may leave one
                out.
        """
        self.cache: PromptCache = PromptCache()
        self.transformations: list[dict[str, str]] = []
        self.requests: list[dict[str, Any]] = []
        self._model = model
        self._replies = Replies(replies)
        self._account, self._created = account, account_created
        self._batch, self._window, self._count = batch, window, count
        self._rules = RULES if rules is None else rules
        self._thinking, self._compactions = ThinkingLedger(), Compactions()
        self._numbers = itertools.count(1)

    def for_account(self, account: str, *, account_created: str) -> "FakeAnthropic":
        """Return the same provider for requests of another account. Signatures are known to both, caches are not."""
        other = copy(self)
        other.cache, other.transformations, other.requests = PromptCache(), [], []
        other._account, other._created = account, account_created  # noqa: SLF001 # a copy of ourselves
        return other

    def create(self, **raw: Any) -> dict[str, Any]:
        """Answer a request as `client.beta.messages.create` does.

        Args:
            **raw: `messages`, and what else the API takes. `model` and `max_tokens` have defaults. Betas come as
                `betas` or in the header `anthropic-beta` of `headers` or `extra_headers`.

        Returns:
            The JSON of a `BetaMessage`. `usage` counts in tokens. `input_transformations` requires its beta header.

        Raises:
            FakeProviderError: The request breaks a rule: 400, 404 (unknown model) or 413 (larger than 32 MB).
        """
        self.requests.append(kept(raw))
        ready = self._prepare(raw)
        self.transformations = ready.checked.transformations
        answer = self._replies.next(raw)
        if ready.request.is_compaction:
            return self._compacted(ready, answer)
        content = self._content(ready, answer)
        billed = self.cache.bill_marks(ready.model.name, ready.units, ready.model.minimum)
        output = self._tokens(content)
        response = self._envelope(ready, content)
        response["stop_reason"] = answer.stop_reason or self._stop_reason(ready, content, output)
        response["usage"] = _usage(billed, output)
        return response

    def count_tokens(self, **raw: Any) -> dict[str, int]:
        """Return the tokens of a request, after the same checks.

        Raises:
            FakeProviderError: As `create` does.
        """
        return {"input_tokens": sum(unit.tokens for unit in self._prepare(raw).units)}

    def _prepare(self, raw: Mapping[str, Any]) -> _Prepared:
        if len(as_text(raw).encode("utf-8", "surrogatepass")) > _LARGEST_BODY:
            raise anthropic_error("Request exceeds the maximum size", status_code=413, kind="request_too_large")
        known = str(raw.get("model") or self._model)
        model = find_model(known)
        if model is None:
            raise anthropic_error(f"model: {known}", status_code=404, kind="not_found_error")
        request = AnthropicRequest(raw, model)
        refuse(self._rules, request)
        self._compactions.check(request, model)
        walk = PrefixWalk(request, self._compactions)
        self._thinking.check_latest(request)
        enforced = enforcement(model, account_created=self._created, setting=request.setting, batch=self._batch)
        checked = self._thinking.check(walk.steps, model, self._account, enforced)
        units = prompt_of(request, walk.steps, checked.dropped, model, self._count)
        self._check_window(raw, model, sum(unit.tokens for unit in units))
        return _Prepared(request=request, model=model, walk=walk, checked=checked, units=units)

    def _check_window(self, raw: Mapping[str, Any], model: ClaudeModel, prompt: int) -> None:
        window = self._window or model.window
        output = int(raw.get("max_tokens") or _LARGEST_OUTPUT)
        if prompt > window:
            raise anthropic_error(f"prompt is too long: {prompt} tokens > {window} maximum")
        if model.name == "opus-4-1" and prompt + output > window:  # models before 4.5: "Errors"
            raise anthropic_error(
                f"input length and `max_tokens` exceed context limit: {prompt} + {output} > {window}, decrease input"
                " length or `max_tokens` and try again"
            )

    def _stop_reason(self, ready: _Prepared, content: list[dict[str, Any]], output: int) -> str:
        prompt = sum(unit.tokens for unit in ready.units)
        if prompt + output > (self._window or ready.model.window):
            return "model_context_window_exceeded"
        return "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"

    def _content(self, ready: _Prepared, answer: Reply) -> list[dict[str, Any]]:
        """Return the blocks of a reply, its thinking bound to the request and to what precedes it in the reply."""
        is_silent = ready.request.thinking.get("type") == "disabled"
        content = [self._block(part) for part in answer.parts if not (is_silent and isinstance(part, Thinking))]
        prefix, seen = ready.walk.end, list(ready.checked.seen)
        compaction = self._threshold_block(ready)
        if compaction is not None:
            prefix, seen = fingerprint(start_of(ready.request), canonical(compaction)), []
        response = f"msg_{next(self._numbers):04}"
        for at, before in enumerate(continue_with(prefix, content)):
            if content[at]["type"] in THINKING:
                content[at] = self._thinking.mint(
                    content[at],
                    model=ready.model,
                    account=self._account,
                    prefix=before,
                    before=seen,
                    response=response,
                )
                seen.append(str(content[at].get("signature") or content[at].get("data")))
        return content if compaction is None else [compaction, *content]

    def _block(self, part: Text | Thinking | Call) -> dict[str, Any]:
        if isinstance(part, Text):
            return {"type": "text", "text": part.text}
        if isinstance(part, Call):
            known = f"toolu_{next(self._numbers):04}"
            return {"type": "tool_use", "id": known, "name": part.name, "input": dict(part.arguments)}
        return {"type": "redacted_thinking"} if part.redacted else {"type": "thinking", "thinking": part.text}

    def _threshold_block(self, ready: _Prepared) -> dict[str, Any] | None:
        """Return the block of a compaction by threshold, if the request asks for one and reaches its trigger."""
        edits = (ready.request.raw.get("context_management") or {}).get("edits") or ()
        wish = next((edit for edit in edits if edit.get("type") == "compact_20260112"), None)
        if wish is None or wire.THRESHOLD not in ready.request.betas:
            return None
        prompt = sum(unit.tokens for unit in ready.units)
        if prompt < ((wish.get("trigger") or {}).get("value") or _THRESHOLD):
            return None
        return {"type": "compaction", "content": f"Summary {next(self._numbers)} of {prompt} tokens."}

    def _compacted(self, ready: _Prepared, answer: Reply) -> dict[str, Any]:
        """Answer a compaction on demand: only its block, or no content where the model wrote no summary."""
        text = "".join(part.text for part in answer.parts if isinstance(part, Text))
        is_call = any(isinstance(part, Call) for part in answer.parts)
        failure = answer.stop_reason or ("tool_use" if is_call else None if text else "end_turn")
        content: list[dict[str, Any]] = []
        if failure is None:
            record = CompactionRecord(
                start=start_of(ready.request),
                end=ready.walk.end,
                last_role=ready.request.role(-1),
                text=text,
                preserves=ready.model.checks,
            )
            content = [self._compactions.mint(record)]
        billed = self.cache.bill_marks(ready.model.name, ready.units, ready.model.minimum)
        response = self._envelope(ready, content)
        response["stop_reason"] = failure or "compaction"
        usage = _usage(billed, self._tokens(content))
        zero = {key: 0 for key in usage if key != "cache_creation"}
        response["usage"] = {**zero, "iterations": [{"type": "compaction", **usage}]}
        return response

    def _tokens(self, content: list[dict[str, Any]]) -> int:
        return sum(self._count(as_text(block)) for block in content)

    def _envelope(self, ready: _Prepared, content: list[dict[str, Any]]) -> dict[str, Any]:
        response: dict[str, Any] = {
            "id": f"msg_{next(self._numbers):04}",
            "type": "message",
            "role": "assistant",
            "model": str(ready.request.raw.get("model") or self._model),
            "content": content,
            "stop_reason": None,
            "stop_sequence": None,
        }
        if wire.BINDING in ready.request.betas:
            response["input_transformations"] = list(self.transformations)
        return response


def _usage(billed: CacheUsage, output: int) -> dict[str, Any]:
    by_ttl = dict(billed.written_by_ttl)
    return {
        "input_tokens": billed.uncached,
        "cache_creation_input_tokens": billed.written,
        "cache_read_input_tokens": billed.read,
        "cache_creation": {f"ephemeral_{ttl}_input_tokens": by_ttl.get(ttl, 0) for ttl in ("5m", "1h")},
        "output_tokens": output,
    }
