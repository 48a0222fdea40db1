"""The error with which a fake provider refuses a request: status, message and body as on the wire."""

from typing import Any


class FakeProviderError(Exception):
    """A fake provider refused a request.

    Attributes:
        status_code: The HTTP status: 400, 404 or 413.
        message: The provider's text, without the status.
        body: The decoded JSON body of the response.
    """

    def __init__(self, status_code: int, message: str, body: dict[str, Any]) -> None:
        super().__init__(f"Error code: {status_code} - {message}")
        self.status_code = status_code
        self.message = message
        self.body = body


def anthropic_error(
    message: str, *, status_code: int = 400, kind: str = "invalid_request_error", code: str | None = None
) -> FakeProviderError:
    """Return an error in the shape of the page "Errors" of the Claude Platform Docs.

    Args:
        message: The text.
        status_code: The HTTP status.
        kind: The `type` of the error.
        code: `error.details.error_code`, which the page "Compaction on demand" documents; `None`: no details.
    """
    error: dict[str, Any] = {"type": kind, "message": message}
    if code is not None:
        error["details"] = {"error_code": code}
    return FakeProviderError(status_code, message, {"type": "error", "error": error})


def openai_error(
    message: str, *, status_code: int = 400, code: str | None = None, param: str | None = "input"
) -> FakeProviderError:
    """Return an error in the shape of OpenAI's API: `message`, `type`, `param` and `code`."""
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return FakeProviderError(status_code, message, {"error": error})


def gemini_error(message: str, *, status_code: int = 400, status: str = "INVALID_ARGUMENT") -> FakeProviderError:
    """Return an error in the shape of the Gemini API: `code`, `message` and `status`."""
    return FakeProviderError(
        status_code, message, {"error": {"code": status_code, "message": message, "status": status}}
    )


def bedrock_error(message: str, *, status_code: int = 400, kind: str = "ValidationException") -> FakeProviderError:
    """Return an error of Amazon Bedrock, with its name as the client of Python gives it.

    Args:
        message: The text.
        status_code: The HTTP status.
        kind: The name of the exception. `ParamValidationError` is raised by the client, before it sends.
    """
    return FakeProviderError(status_code, message, {"message": message, "__type": kind})
