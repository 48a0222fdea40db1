"""Every error that Backscroll raises, in one tree by who has to act.

BackscrollError
|-- MessageError (ValueError)               a message cannot be stored or sent: the caller corrects it
|-- BudgetError                             the required messages exceed the budget
|   `-- RequestTooLargeError                the provider rejected every shorter view, too
|-- ReferenceNotFoundError (LookupError)    a reference names nothing in this session
|-- ConfigurationError (ValueError)         an option, name or combination can never work
|-- StoreError                              the store of the session failed
|   |-- ConflictError                       another writer was first, and both cannot be right
|   |-- CorruptionError                     the bytes read back differ from the bytes written
|   `-- StoreUnavailableError               the store cannot be reached, or is full
`-- TranscriptError                         a file to replay holds no readable conversation
"""


class BackscrollError(Exception):
    """Root of the tree: `except BackscrollError` catches everything this package raises on purpose."""


class MessageError(BackscrollError, ValueError):
    """A message is not a mapping, has no role, or is not strictly JSON. Nothing was changed."""


class BudgetError(BackscrollError):
    """The required messages do not fit the token budget, or the budget is not positive."""


class RequestTooLargeError(BudgetError):
    """The provider rejected a request as too long many times in a row, each time with a shorter view."""


class ReferenceNotFoundError(BackscrollError, LookupError):
    """No message or part of this session has the given reference."""


class ConfigurationError(BackscrollError, ValueError):
    """An option is unknown, out of range, or contradicts another one. Raised at construction."""


class StoreError(BackscrollError):
    """The store failed. The message being added is not acknowledged."""


class ConflictError(StoreError):
    """Two writers, or two uses of one idempotency key, contradict each other."""


class CorruptionError(StoreError):
    """A record read from the store is torn or altered. The error names its position."""


class StoreUnavailableError(StoreError):
    """The store cannot be reached or has no room. Retry later: nothing was half written."""


class TranscriptError(BackscrollError):
    """A file holds no conversation in a known format, or is torn. The error says what and where."""
