"""The error of a request that cannot be made to fit."""

from pydantic_ai.exceptions import ModelContextWindowExceededError

from backscroll.errors import RequestTooLargeError


class RequestTooLarge(RequestTooLargeError, ModelContextWindowExceededError):
    """The provider rejected every shorter view, too.

    It is both a `BudgetError` and Pydantic AI's own error, on which its fallbacks choose another model.
    """

    def __init__(self, model_name: str, error: RequestTooLargeError) -> None:
        ModelContextWindowExceededError.__init__(self, model_name, str(error))
