"""Every error that Backscroll raises, as one tree by who has to act. Only exception classes may live here.

BackscrollError
|-- MessageError (ValueError)         the caller handed over a message that cannot be kept or sent
|-- BudgetError                       what must stay in the view is larger than the budget
|-- ReferenceNotFound (LookupError)   a reference names nothing in this session
|-- ConfigurationError (ValueError)   an option, name or combination that can never work
|-- StoreError                        the place where the session is kept failed
|   |-- ConflictError                 somebody else wrote first, and both cannot be right
|   |-- DamagedError                  what was read back is not what was written
|   `-- StoreUnavailable              it cannot be reached, or is full
`-- TranscriptError                   a file that was to be replayed holds no readable conversation
"""


class BackscrollError(Exception):
    """The root: `except BackscrollError` catches everything this package raises on purpose."""


class MessageError(BackscrollError, ValueError):
    """A message is not a mapping, has no role, or is not strictly JSON. Nothing was changed."""


class BudgetError(BackscrollError):
    """The messages that must stay do not fit the token budget, or the budget is not positive."""


class ReferenceNotFoundError(BackscrollError, LookupError):
    """No entry or part of this session has the reference that was asked for."""


class ConfigurationError(BackscrollError, ValueError):
    """An option is unknown, out of range, or contradicts another one; raised at construction."""


class StoreError(BackscrollError):
    """The store failed; the message that was being added is not acknowledged."""


class ConflictError(StoreError):
    """Two writers, or two uses of one idempotency id, that cannot both be right."""


class CorruptionError(StoreError):
    """A record read from the store is torn or altered; the message names its place."""


class StoreUnavailableError(StoreError):
    """The store cannot be reached or has no room; retry later, nothing was half written."""


class TranscriptError(BackscrollError):
    """A file holds no conversation in a known format, or is torn; the message says what and where."""
