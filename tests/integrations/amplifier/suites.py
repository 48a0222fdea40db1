"""The checks that amplifier-core ships for context modules, run without its plugin: what they ask must be answered."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from amplifier_core.testing import MockCoordinator
from amplifier_core.validation import ContextValidator
from amplifier_core.validation.behavioral import ContextBehaviorTests

BEHAVIOR = tuple(sorted(name for name in dir(ContextBehaviorTests) if name.startswith("test_")))
"""Names of the tests of behavior, for `behave`."""

CHECKS = (
    "module_importable",
    "mount_exists",
    "mount_signature",
    "protocol_compliance",
    "context_add_message",
    "context_get_messages_for_request",
    "context_get_messages",
    "context_set_messages",
    "context_clear",
)
"""What the validator looks at when it reaches the context's interface; a result with fewer has not seen it."""

Mount = Callable[[Any, dict[str, Any]], Awaitable[Any]]


def behave(mount: Mount, name: str, config: dict[str, Any] | None = None) -> None:
    """Runs one test of behavior on a context that `mount` mounts; it fails by its own assertion."""

    async def run() -> None:
        coordinator = MockCoordinator()
        cleanup = await mount(coordinator, config or {})
        await getattr(ContextBehaviorTests(), name)(coordinator.mount_points["context"])
        if cleanup is not None:
            await cleanup()

    asyncio.run(run())


def validated(module: str, config: dict[str, Any] | None = None) -> dict[str, str]:
    """The checks that a module passed by name, with the validator's words. `module` is a path or an importable name."""
    result = asyncio.run(ContextValidator().validate(module, config=config))
    return {check.name: check.message for check in result.checks if check.passed}
