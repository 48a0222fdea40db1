"""The error of a request that cannot be made to fit."""

from strands.types.exceptions import EventLoopException

from backscroll.errors import RequestTooLargeError


class RequestTooLarge(RequestTooLargeError, EventLoopException):
    """The messages that must stay do not fit the model's window, or the provider kept rejecting the request.

    It is both a `BudgetError` and one of Strands' own exceptions, so that Strands' event loop raises it unchanged.
    """

    def __init__(self, error: Exception) -> None:
        EventLoopException.__init__(self, error)
