"""Backscroll keeps an agent's whole conversation and hands the model the best view that fits. The public names, nothing
else.
"""

from typing import TYPE_CHECKING

from backscroll.compaction.decision import Strategy
from backscroll.compaction.native_request import NativeCompaction, NativeRequest
from backscroll.compaction.options import CachePricing, Protection, ToolResultPreview
from backscroll.compaction.result import CompactionResult
from backscroll.compaction.summarization import Summarizer, SummaryRequest, SummaryResponse
from backscroll.errors import (
    BackscrollError,
    BudgetError,
    ConfigurationError,
    ConflictError,
    CorruptionError,
    MessageError,
    ReferenceNotFoundError,
    RequestTooLargeError,
    StoreError,
    StoreUnavailableError,
    TranscriptError,
)
from backscroll.manager.async_manager import AsyncContextManager
from backscroll.manager.options import StorageOptions
from backscroll.manager.sync_manager import ContextManager
from backscroll.notices import BackscrollWarning
from backscroll.ports import BlobStore, Store, Tokenizer
from backscroll.recall.pages import RecallResult, SearchHit
from backscroll.session.deed_record import DeedRecord
from backscroll.session.explain import MessageStatus
from backscroll.session.open_calls import OpenCall
from backscroll.session.request_log import RequestItem, RequestRecord, RequestSnapshot
from backscroll.session.window_report import LargestMessage, WindowReport
from backscroll.tokens.budget import BudgetOptions
from backscroll.tokens.model_profiles import ModelProfile
from backscroll.tokens.usage import SummarizerUsage, TokenCount, ToolTokens, Usage
from backscroll.view.cache_marks import CacheMarks

__all__ = [
    "AsyncContextManager",
    "BackscrollError",
    "BackscrollWarning",
    "BlobStore",
    "BudgetError",
    "BudgetOptions",
    "CacheMarks",
    "CachePricing",
    "CompactionResult",
    "ConfigurationError",
    "ConflictError",
    "ContextManager",
    "CorruptionError",
    "DeedRecord",
    "LargestMessage",
    "MessageError",
    "MessageStatus",
    "ModelProfile",
    "NativeCompaction",
    "NativeRequest",
    "OpenCall",
    "Protection",
    "RecallResult",
    "ReferenceNotFoundError",
    "RequestItem",
    "RequestRecord",
    "RequestSnapshot",
    "RequestTooLargeError",
    "SearchHit",
    "StorageOptions",
    "Store",
    "StoreError",
    "StoreUnavailableError",
    "Strategy",
    "Summarizer",
    "SummarizerUsage",
    "SummaryRequest",
    "SummaryResponse",
    "TokenCount",
    "Tokenizer",
    "ToolResultPreview",
    "ToolTokens",
    "TranscriptError",
    "Usage",
    "WindowReport",
    "is_overflow",
    "overflow_sizes",
]

if TYPE_CHECKING:
    from backscroll.integrations.overflow_errors import is_overflow, overflow_sizes

    __version__: str
else:

    def __getattr__(name: str) -> object:
        """Look up what few programs need: the version, whose metadata takes longer to read than all the rest takes to
        import, and the two functions that read errors.
        """
        if name in ("is_overflow", "overflow_sizes"):
            from backscroll.integrations import overflow_errors  # noqa: PLC0415  see above

            return getattr(overflow_errors, name)
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import metadata  # noqa: PLC0415  see above

        try:
            return metadata.version("backscroll")
        except metadata.PackageNotFoundError:
            return "unknown (not installed)"

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, "__version__"})
