"""The error of a request that cannot be made small enough, for callers of Backscroll and for Amplifier's hosts."""

from functools import cache
from typing import Any

from backscroll.errors import BudgetError


def no_room(error: BudgetError, provider: object) -> BudgetError:
    """Return the error as a `ContextLengthError` of the kernel.

    The kernel gives hosts only the class name and the text, so both state the cause.
    """
    name, model = (getattr(provider, key, None) for key in ("name", "default_model"))
    raised: BudgetError = _kind()(
        f"context length exceeded: {error}",
        provider=name if isinstance(name, str) else None,
        model=model if isinstance(model, str) else None,
    )
    return raised


@cache
def _kind() -> Any:
    from amplifier_core.llm_errors import ContextLengthError as KernelError  # noqa: PLC0415  # the host brings it

    class ContextLengthError(BudgetError, KernelError):  # type: ignore[misc]  # the kernel ships no types
        """The messages that must stay do not fit the budget."""

    ContextLengthError.__qualname__ = ContextLengthError.__name__  # the kernel puts it into the text for hosts
    return ContextLengthError
