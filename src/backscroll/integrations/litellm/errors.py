"""The error of a request that cannot be made to fit."""

from litellm import ContextWindowExceededError

from backscroll.errors import RequestTooLargeError


class RequestTooLarge(RequestTooLargeError, ContextWindowExceededError):  # type: ignore[misc]  # no types where checked
    """The messages that must stay do not fit the model's window, or the provider kept rejecting the request.

    It is both a `BudgetError` and LiteLLM's own error, so that a Router tries its `context_window_fallbacks`.

    Args:
        error: What happened.
        model: The model of the request, with its provider: `openai/gpt-4o`.
    """

    def __init__(self, error: Exception, model: str) -> None:
        provider, _, name = model.rpartition("/")
        ContextWindowExceededError.__init__(self, str(error), name, provider)
