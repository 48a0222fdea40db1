"""The error of a request that cannot be made small enough, known to callers of Backscroll and to Amplifier's hosts."""

from functools import cache
from typing import Any

from backscroll.errors import BudgetError


def no_room(error: BudgetError, provider: object) -> BudgetError:
    """The same error as a `ContextLengthError` of the kernel.

    The kernel hands a host no more of it than the name of its class and its text, so both say what happened.
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
        """What must stay in the request does not fit the budget."""

    ContextLengthError.__qualname__ = ContextLengthError.__name__  # the kernel puts it into the text that hosts get
    return ContextLengthError
