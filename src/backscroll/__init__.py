"""Backscroll keeps an agent's whole conversation and hands the model the best view that fits. The public names, nothing
else.
"""

from typing import TYPE_CHECKING

from backscroll.compaction.batch import Prices
from backscroll.errors import (
    BackscrollError,
    BudgetError,
    ConfigurationError,
    ConflictError,
    DamagedError,
    MessageError,
    ReferenceNotFound,
    StoreError,
    StoreUnavailable,
    TranscriptError,
)
from backscroll.families import Family
from backscroll.manager import ContextManager
from backscroll.notices import BackscrollWarning
from backscroll.overflows import is_overflow, overflow_sizes
from backscroll.pages import Hit, Recalled
from backscroll.reporting import Compaction
from backscroll.status import Status
from backscroll.summaries import SummaryAnswer, SummaryRequest
from backscroll.telling import Explained
from backscroll.usage import Usage

__all__ = [
    "BackscrollError",
    "BackscrollWarning",
    "BudgetError",
    "Compaction",
    "ConfigurationError",
    "ConflictError",
    "ContextManager",
    "DamagedError",
    "Explained",
    "Family",
    "Hit",
    "MessageError",
    "Prices",
    "Recalled",
    "ReferenceNotFound",
    "Status",
    "StoreError",
    "StoreUnavailable",
    "SummaryAnswer",
    "SummaryRequest",
    "TranscriptError",
    "Usage",
    "is_overflow",
    "overflow_sizes",
]

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> str:
        """Look the version up when it is asked for: reading metadata takes longer than the rest of the import."""
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import metadata  # noqa: PLC0415  see above

        try:
            return metadata.version("backscroll")
        except metadata.PackageNotFoundError:
            return "unknown (not installed)"
