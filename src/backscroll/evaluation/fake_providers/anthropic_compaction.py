"""The two compactions of the Messages API: minting the block of one on demand, and refusing a block that was altered.

Sources: "Compaction on demand", "Keep recent turns", "Compaction" and "Preserved thinking" (Claude Platform Docs).
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from backscroll.evaluation.fake_providers.anthropic_request import AnthropicRequest, Place, kind
from backscroll.evaluation.fake_providers.chain import fingerprint
from backscroll.evaluation.fake_providers.claude_models import ClaudeModel
from backscroll.evaluation.fake_providers.errors import FakeProviderError, anthropic_error

_LONGEST_INSTRUCTIONS = 16_384  # characters


class CompactionRecord(NamedTuple):
    """What the signature of an on-demand block binds."""

    start: str
    """Hash over `system` and `tools` of the request that compacted."""
    end: str
    """Hash after the last summarized message."""
    last_role: str
    text: str
    preserves: bool
    """Whether it ran on a model that preserves thinking; thinking survives no other compaction."""


class Compactions:
    """All on-demand blocks that were minted, by signature."""

    def __init__(self) -> None:
        self._records: dict[str, CompactionRecord] = {}

    def mint(self, record: CompactionRecord) -> dict[str, Any]:
        """Return the block of a new compaction."""
        signature = "cmp_" + fingerprint(len(self._records), record)
        self._records[signature] = record
        return {"type": "compaction", "content": record.text, "signature": signature}

    def record(self, block: Any) -> CompactionRecord | None:
        """Return the record of an on-demand block; `None` for other blocks."""
        return self._records.get(block.get("signature")) if kind(block) == "compaction" else None

    def check(self, request: AnthropicRequest, model: ClaudeModel) -> None:
        """Refuse blocks and requests that break a rule of compaction on demand.

        Raises:
            FakeProviderError: With the documented `error_code` in its body.
        """
        signed = [place for place in request.places() if _is_signed(place)]
        if len(signed) > 1:
            raise _error(f"{signed[1].path}: more than one signed compaction block", "compaction_block_ambiguous")
        for place in signed:
            self._check_block(place)
        if request.is_compaction:
            for error in _request_errors(request, model):
                raise error

    def _check_block(self, place: Place) -> None:
        if (place.message, place.block) != (0, 0):
            raise _error(
                f"{place.path}: a signed compaction block must be the first block of `messages`",
                "compaction_block_misplaced",
            )
        record = self._records.get(place.content["signature"])
        if record is None:
            raise _error(f"{place.path}: invalid `signature` in `compaction` block", "compaction_signature_invalid")
        if place.content.get("content") != record.text:
            raise _error(f"{place.path}: the content does not match the signature", "compaction_content_mismatch")
        if place.content.get("tool_changes") is not None:
            raise _error(f"{place.path}: the tool changes do not match", "compaction_tool_changes_mismatch")


def _is_signed(place: Place) -> bool:
    return place.kind == "compaction" and place.content.get("signature") is not None


def _error(message: str, code: str) -> FakeProviderError:
    """The codes are documented; the texts are ours."""
    return anthropic_error(message, code=code)


def _request_errors(request: AnthropicRequest, model: ClaudeModel) -> Iterator[FakeProviderError]:
    """Yield what "Compaction on demand" lists as rejected. The texts are ours where no code is given."""
    raw, wish = request.raw, request.raw["compaction"]
    if wish.get("type") != "summarize":
        yield anthropic_error("compaction: Input tag does not match any of the expected tags: 'summarize'")
    if len(wish.get("instructions") or "") > _LONGEST_INSTRUCTIONS:
        yield anthropic_error(f"compaction.instructions: String should have at most {_LONGEST_INSTRUCTIONS} characters")
    if not model.compacts:
        yield anthropic_error("compaction: this model does not support compaction on demand")
    refused: dict[str, Callable[[], object]] = {
        "context_management": lambda: raw.get("context_management"),
        "stop_sequences": lambda: raw.get("stop_sequences"),
        "output_config.format": lambda: (raw.get("output_config") or {}).get("format"),
        "tool_choice": lambda: (raw.get("tool_choice") or {}).get("type") in ("any", "tool"),
    }
    for name, is_given in refused.items():
        if is_given():
            yield anthropic_error(f"compaction: cannot be combined with `{name}`")
    blocks = [block for part in request.blocks for block in part]
    if all(_kind_is_compaction(block) for block in blocks):
        yield _error("compaction: nothing to summarize", "compaction_nothing_to_summarize")
    if any(kind(block) == "tool_use" for block in request.blocks[-1]):
        yield _error("compaction: the conversation ends with an open tool call", "compaction_incomplete_turn")


def _kind_is_compaction(block: Any) -> bool:
    return kind(block) == "compaction"
