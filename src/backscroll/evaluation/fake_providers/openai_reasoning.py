"""Minting reasoning and compaction items, and what happens to reasoning that is sent back.

Sources: "Preserved reasoning", "Keep the prefix unchanged", "Reasoning" and "Compaction" (OpenAI). The prefix of
reasoning is `tools`, `text.format` and the earlier items. The top-level `instructions` are no part of it from GPT-6.2
on, and no earlier model compares prefixes.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from backscroll.evaluation.fake_providers.chain import PrefixChain, canonical, fingerprint
from backscroll.evaluation.fake_providers.errors import FakeProviderError, openai_error
from backscroll.evaluation.fake_providers.openai_contents import Item

Version = tuple[int, int]
BINDS = (6, 2)
"""The first version that removes reasoning after a change of its prefix."""

_ENVELOPE = frozenset({"id", "status"})
"""Fields of an item that are not rendered for the model; ids have to be taken out where reasoning is."""


class ReasoningRecord(NamedTuple):
    """What an encrypted reasoning item is bound to."""

    id: str
    version: Version
    account: str
    prefix: str
    anchor: str
    """The compaction item that its prefix begins at; empty: none."""
    response: str
    is_stored: bool


class Prefix(NamedTuple):
    """The prefix at a place of `input`."""

    value: str
    anchor: str


class Output(NamedTuple):
    """One item of a response, as far as the API remembers it."""

    response: str
    reasoning: str | None
    """Id of the reasoning that it was produced with."""
    is_stored: bool


class ReasoningLedger:
    """All reasoning and compaction items that were minted."""

    def __init__(self) -> None:
        self._records: dict[str, ReasoningRecord] = {}
        self._by_id: dict[str, ReasoningRecord] = {}
        self._compactions: set[str] = set()
        self._outputs: dict[str, Output] = {}

    def mint_reasoning(self, record: ReasoningRecord, text: str) -> Item:
        """Return a new reasoning item."""
        encrypted = "enc_" + fingerprint(len(self._records), record)
        self._records[encrypted] = self._by_id[record.id] = record
        summary = [{"type": "summary_text", "text": text}]
        return {"id": record.id, "type": "reasoning", "summary": summary, "encrypted_content": encrypted}

    def mint_compaction(self, known: str, prefix: str) -> Item:
        """Return a new compaction item."""
        encrypted = "cmp_" + fingerprint(len(self._compactions), prefix)
        self._compactions.add(encrypted)
        return {"id": known, "type": "compaction", "encrypted_content": encrypted}

    def remember(self, response: str, output: list[Item], *, is_stored: bool) -> None:
        """Remember which items of a response belong to which reasoning, and under which `call_id`."""
        reasoning: str | None = None
        for item in output:
            if item["type"] == "reasoning":
                reasoning = item["id"]
            entry = Output(response, None if item["type"] == "reasoning" else reasoning, is_stored)
            for known in (item["id"], item.get("call_id")):
                if known:
                    self._outputs[known] = entry

    def alone(self, items: list[Item]) -> Iterator[FakeProviderError]:
        """Yield an error for reasoning without the item that it was produced with, and for stored items without their
        reasoning, with the text that users reported.
        """
        before: set[str] = set()
        for at, item in enumerate(items):
            known = str(item.get("id") or "")
            if item.get("type") == "reasoning" and known in self._by_id:
                following = items[at + 1] if at + 1 < len(items) else None
                if not self._belongs(following, self._by_id[known].response):
                    yield openai_error(
                        f"Item '{known}' of type 'reasoning' was provided without its required following item."
                    )
            needed = self._outputs.get(known)
            if needed and needed.is_stored and needed.reasoning and needed.reasoning not in before:
                yield openai_error(
                    f"Item '{known}' of type '{item.get('type')}' was provided without its required 'reasoning' item:"
                    f" '{needed.reasoning}'."
                )
            before.add(known)

    def removed(self, start: str, items: list[Item], version: Version, account: str) -> dict[int, dict[str, str]]:
        """Return which reasoning the model does not see, by index in `input`, as `input_transformations` reports it.

        Raises:
            FakeProviderError: Encrypted content is not what was returned.
        """
        found: dict[int, dict[str, str]] = {}
        for at, (item, prefix) in enumerate(zip(items, self.prefixes(start, items), strict=False)):
            if item["type"] != "reasoning":
                continue
            record = self._record(item)
            reason = _reason(record, prefix, version, account)
            if reason is not None:
                found[at] = {"type": "reasoning", "id": record.id, "action": "removed", "reason": reason}
        return found

    def prefixes(self, start: str, items: list[Item]) -> Iterator[Prefix]:
        """Yield the prefix before each item, and the one after the last.

        A compaction item of the API begins a prefix of its own: what is before it may change.

        Raises:
            FakeProviderError: A compaction item is not one of these.
        """
        chain, anchor = PrefixChain(start), ""
        for item in items:
            yield Prefix(chain.value, anchor)
            if item["type"] == "compaction":
                anchor = item["encrypted_content"]
                if anchor not in self._compactions:
                    raise _unverified(anchor)
                chain = PrefixChain(fingerprint(start, anchor))
            elif item["type"] not in ("reasoning", "compaction_trigger"):
                chain.add(rendered(item))
        yield Prefix(chain.value, anchor)

    def _record(self, item: Item) -> ReasoningRecord:
        encrypted = item.get("encrypted_content")
        if encrypted:
            if encrypted not in self._records:
                raise _unverified(str(encrypted))
            return self._records[encrypted]
        record = self._by_id.get(item["id"])
        if record is None or not record.is_stored:
            raise openai_error(
                f"Item with id '{item['id']}' not found. Items are not persisted when `store` is set to false. Try"
                " again with `store` set to true, or remove this item from your input.",
                status_code=404,
            )
        return record

    def _belongs(self, item: Item | None, response: str) -> bool:
        if item is None:
            return False
        for known in (item.get("id"), item.get("call_id")):
            entry = self._outputs.get(str(known))
            if entry is not None:
                return entry.response == response
        return item["type"] == "message" and item.get("role") == "assistant"


def _reason(record: ReasoningRecord, prefix: Prefix, version: Version, account: str) -> str | None:
    if record.account != account:
        return "organization_mismatch"
    if record.version >= BINDS and version < record.version:
        return "model_mismatch"
    if min(version, record.version) < BINDS:
        return None
    if prefix.anchor and prefix.anchor != record.anchor:
        return None  # reasoning from before a compaction by the API stays valid after it
    return None if record.prefix == prefix.value and record.anchor == prefix.anchor else "prefix_mismatch"


def rendered(item: Item) -> Any:
    """Return what of an item the model reads: not its id and status, and no empty annotations."""
    plain = {key: value for key, value in canonical(item).items() if key not in _ENVELOPE}
    if isinstance(plain.get("content"), list):
        plain["content"] = [
            {key: value for key, value in part.items() if value or key not in ("annotations", "logprobs")}
            for part in plain["content"]
        ]
    return plain


def _unverified(encrypted: str) -> Exception:
    return openai_error(
        f"The encrypted content {encrypted[:12]}... could not be verified. Reason: Encrypted content could not be"
        " decrypted or parsed.",
        code="invalid_encrypted_content",
    )
