"""The error with which a request ends that cannot be made to fit. Only exception classes may live here."""

from strands.types.exceptions import EventLoopException

from backscroll.errors import BudgetError


class RequestTooLarge(BudgetError, EventLoopException):
    """What must stay in a request does not fit the model's window, or the provider refused it again and again.

    It is a `BudgetError`, and one of Strands' own exceptions besides, so that its event loop hands it to the caller as
    it is.
    """

    def __init__(self, error: Exception) -> None:
        EventLoopException.__init__(self, error)
