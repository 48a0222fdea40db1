"""Typical programs of users: type checkers accept every line. Nothing runs here."""

from collections.abc import Mapping
from typing import Any, assert_type

from backscroll import (
    AsyncContextManager,
    BackscrollError,
    BudgetError,
    BudgetOptions,
    CachePricing,
    CompactionResult,
    ContextManager,
    MessageStatus,
    Protection,
    RecallResult,
    RequestRecord,
    StorageOptions,
    Summarizer,
    SummaryRequest,
    SummaryResponse,
    Tokenizer,
    ToolResultPreview,
    Usage,
    WindowReport,
    is_overflow,
)


class Words:
    """A tokenizer of one's own."""

    name = "words"
    exact = False

    def count(self, text: str) -> int:
        return max(1, len(text.split())) if text else 0


def summarize(request: SummaryRequest) -> SummaryResponse:
    return SummaryResponse(request.prompt[: request.max_tokens], model="mine", input_tokens=10)


async def summarize_later(request: SummaryRequest) -> str:
    return request.prompt


def heard(event: str, data: dict[str, Any]) -> None:
    print(event, data)


def quickstart(messages: list[dict[str, Any]]) -> str:
    with ContextManager(budget=4_000) as context:
        seq = context.append({"role": "user", "content": "Hello"}, *messages, idempotency_key="first")
        assert_type(seq, int)
        view = context.get_messages_for_request()
        assert_type(view, list[dict[str, Any]])
        found = context.recall("[ref:16]")
        assert_type(found, RecallResult)
        return found.upper()


def options() -> ContextManager:
    tokenizer: Tokenizer = Words()
    return ContextManager(
        store="sqlite:///agent.db",
        session="support-42",
        budget=BudgetOptions(max_tokens=32_000),
        strategies=["excerpt", "digest"],
        protect=Protection(),
        summarizer=Summarizer(summarize),
        tool_result_preview=ToolResultPreview(),
        cache_pricing=CachePricing(),
        storage=StorageOptions(encryption_key="0" * 64),
        tokenizer=tokenizer,
        on_event=heard,
    )


def looks(context: ContextManager) -> None:
    assert_type(context.explain(), list[MessageStatus])
    assert_type(context.usage(), Usage)
    assert_type(context.window_report(), WindowReport)
    assert_type(context.list_requests(), list[RequestRecord])
    assert_type(context.compact(), CompactionResult | None)
    assert_type(context.trim(keep_last=4), CompactionResult | None)
    assert_type(context.undo_compaction(), bool)
    assert_type(context.fork("other", at=3), ContextManager)
    for hit in context.recall(query="printer").hits:
        assert_type(hit.seq, int)
    definition, handler = context.recall_tool("anthropic")
    assert_type(definition, dict[str, Any])
    assert_type(handler(ref="2"), str)


async def later(response: Mapping[str, Any]) -> int:
    async with AsyncContextManager(budget=8_000, summarizer=Summarizer(summarize_later)) as context:
        await context.append({"role": "user", "content": "Hello"})
        context.observe_response(response)
        view = await context.get_messages_for_request(8_000, lane="planner", model="gpt-5.5")
        assert_type(view, list[dict[str, Any]])
        usage = context.usage()
        return usage.used.tokens


def refused(context: ContextManager, error: Exception) -> bool:
    try:
        context.get_messages_for_request(100)
    except BudgetError as too_small:
        print(too_small)
    except BackscrollError:
        raise
    return is_overflow(error)
