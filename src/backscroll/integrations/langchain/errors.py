"""The error of a request that cannot be made to fit."""

from langchain_core.exceptions import ContextOverflowError

from backscroll.errors import RequestTooLargeError


class RequestTooLarge(RequestTooLargeError, ContextOverflowError):
    """The messages that must stay do not fit the model's window, or the provider kept rejecting the request.

    It is both a `BudgetError` and LangChain's own error, which other middleware knows.
    """
