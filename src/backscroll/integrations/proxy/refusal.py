"""An answer that the proxy gives by itself, because it sends a request nowhere: `RefusedHereError`."""


class RefusedHereError(Exception):
    """A request is not sent.

    Args:
        status: Of the answer to the client.
        reason: Its words. They name no value of the request: it may be a secret.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def no_view(error: Exception) -> RefusedHereError:
    """Return the refusal of a request of which no view can be made."""
    return RefusedHereError(500, f"Backscroll could not make a view: {type(error).__name__}: {error}")
