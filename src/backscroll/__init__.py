"""Backscroll keeps an agent's whole conversation and hands the model the best view that fits. The public names, nothing
else.
"""

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
from backscroll.pages import Hit, Recalled
from backscroll.reporting import Compaction
from backscroll.status import Status
from backscroll.summaries import SummaryAnswer, SummaryRequest
from backscroll.telling import Explained
from backscroll.usage import Usage

__all__ = [
    "BackscrollError",
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
]
