"""Minting thinking blocks, and the check that every one sent back passes: "Preserved thinking" (Claude Platform Docs).

A block is bound to what preceded it when it was created, to the thinking blocks before it, to the model and, on some
models, to the account.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from backscroll.evaluation.fake_providers.anthropic_prefix import Step
from backscroll.evaluation.fake_providers.anthropic_request import THINKING, AnthropicRequest, Place
from backscroll.evaluation.fake_providers.chain import canonical, fingerprint
from backscroll.evaluation.fake_providers.claude_models import ClaudeModel
from backscroll.evaluation.fake_providers.errors import FakeProviderError, anthropic_error

PREFIX = "prefix_binding_mismatch"
_DIFFERENT = "The block is bound to a different conversation. Remove the block, or set"
_SETTING = '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
_MISSING = " The thinking block that preceded this one when it was created is missing."


class ThinkingRecord(NamedTuple):
    """What the signature of a thinking block binds."""

    signature: str
    model: ClaudeModel
    account: str
    prefix: str
    before: tuple[str, ...]
    """Signatures of the thinking that preceded it, in order."""
    response: str
    """Id of the response that held it."""
    content: str
    """Fingerprint of the block as it was returned."""


class Checked(NamedTuple):
    """What the check of one request found."""

    dropped: frozenset[tuple[int, int]]
    """Message and block of the thinking that the model does not see."""
    transformations: list[dict[str, str]]
    seen: tuple[str, ...]
    """Signatures of the thinking that precedes the reply."""


class ThinkingLedger:
    """All thinking blocks that were minted, by signature. One ledger serves all accounts and models of a provider."""

    def __init__(self) -> None:
        self._records: dict[str, ThinkingRecord] = {}
        self._of_response: dict[str, list[str]] = {}

    def mint(
        self,
        block: dict[str, Any],
        *,
        model: ClaudeModel,
        account: str,
        prefix: str,
        before: Iterable[str],
        response: str,
    ) -> dict[str, Any]:
        """Return a thinking block, signed, and remember what it is bound to."""
        signature = "sig_" + fingerprint(len(self._records), response, prefix, account)
        key = "signature" if block["type"] == "thinking" else "data"
        minted = {**block, key: signature}
        self._records[signature] = ThinkingRecord(
            signature=signature,
            model=model,
            account=account,
            prefix=prefix,
            before=tuple(before),
            response=response,
            content=fingerprint(minted),
        )
        self._of_response.setdefault(response, []).append(signature)
        return minted

    def check(self, steps: list[Step], model: ClaudeModel, account: str, enforced: str) -> Checked:
        """Return what the request's model sees of the thinking that was sent back.

        Args:
            steps: All blocks that the API reads, with their prefixes.
            model: The row of the request's model.
            account: The account of the request.
            enforced: What a mismatch leads to, as `enforcement` returns it.

        Raises:
            FakeProviderError: A signature is not one of these, or `enforced` is `error` and a block mismatches.
        """
        seen: list[str] = []
        dropped: set[tuple[int, int]] = set()
        found: list[dict[str, str]] = []
        failed: Place | None = None
        for place, prefix in steps:
            if place.kind not in THINKING:
                continue
            record = self._record(place)
            reason = _unreadable(record, model, account)
            if reason is not None:
                dropped.add((place.message, place.block))
                found.append({"type": "thinking_dropped", "path": place.path, "reason": reason})
                seen.append(record.signature)
                continue
            problem = None if enforced == "never" else _mismatch(record, prefix, seen)
            if problem is not None and enforced == "error":
                raise _bound_elsewhere(place, problem)
            if enforced == "drop_block" and (problem is not None or _follows(place, failed)):
                dropped.add((place.message, place.block))
                found.append({"type": "thinking_dropped", "path": place.path, "reason": PREFIX})
                failed = place
                continue
            if problem is not None:
                found.append({"type": "thinking_mismatch_allowed", "path": place.path, "reason": PREFIX})
            seen.append(record.signature)
        return Checked(frozenset(dropped), found, tuple(seen))

    def check_latest(self, request: AnthropicRequest) -> None:
        """Refuse a latest assistant message whose thinking is not whole: "Troubleshooting thinking".

        Of the thinking of one response all or none may be sent, in order and as it was returned.

        Raises:
            FakeProviderError: The text of that page.
        """
        latest = max((place.message for place in request.places() if place.role == "assistant"), default=-1)
        places = [place for place in request.places() if place.message == latest and place.kind in THINKING]
        records = [self._record(place, is_latest=True) for place in places]
        responses = list(dict.fromkeys(record.response for record in records))
        for response in responses:
            sent = [record.signature for record in records if record.response == response]
            if sent != self._of_response[response]:
                raise _modified(places[0])
        neighbors = zip(places, records, places[1:], records[1:], strict=False)
        for first, one, second, other in neighbors:
            if second.block == first.block + 1 and one.response != other.response:
                raise _modified(second)

    def _record(self, place: Place, *, is_latest: bool = False) -> ThinkingRecord:
        key = "signature" if place.kind == "thinking" else "data"
        record = self._records.get(place.content.get(key))
        if record is None:
            raise _invalid(place)
        if record.content != fingerprint(canonical(place.content)):
            # the page does not compare displayed text; some platforms refuse a changed one, so that none may be sent
            raise _modified(place) if is_latest else _invalid(place)
        return record


def _unreadable(record: ThinkingRecord, model: ClaudeModel, account: str) -> str | None:
    if record.model.account_bound and record.account != account:
        return "organization_binding_mismatch"
    return None if record.model.name in model.reads else "model_binding_mismatch"


def _mismatch(record: ThinkingRecord, prefix: str, seen: list[str]) -> str | None:
    """Return what follows the error's text where the block mismatches; `None` where it fits.

    Thinking before it must be an unbroken run that ends with the block that preceded it, or nothing at all: the oldest
    may be left out.
    """
    if record.prefix != prefix:
        return ""
    run = tuple(seen)
    return None if not run or record.before[-len(run) :] == run else _MISSING


def _follows(place: Place, failed: Place | None) -> bool:
    """A drop takes the rest of the turn's consecutive thinking with it."""
    return failed is not None and (place.message, place.block) == (failed.message, failed.block + 1)


def _invalid(place: Place) -> FakeProviderError:
    return anthropic_error(f"{place.path}: Invalid `signature` in `{place.kind}` block")


def _bound_elsewhere(place: Place, diagnosis: str) -> FakeProviderError:
    return anthropic_error(
        f"{place.path}: Invalid `signature` in `{place.kind}` block. {_DIFFERENT} {_SETTING}{diagnosis}"
    )


def _modified(place: Place) -> FakeProviderError:
    return anthropic_error(
        f"{place.path}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."
        " These blocks must remain as they were in the original response."
    )
