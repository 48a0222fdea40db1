"""A kernel session with our module and a loop that does nothing: all that mounting needs. See `hosts` for work."""

import importlib
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from amplifier_core import AmplifierSession
from amplifier_core.module_sources import ModuleNotFoundError as SourceNotFound

from tests.integrations.amplifier.provider import Provider

MODULES = {
    "loop-silent": "tests.integrations.amplifier.kernel:mount_loop",
    "provider-silent": "tests.integrations.amplifier.kernel:mount_provider",
}
__amplifier_module_type__ = "orchestrator"


class Silent:
    """A loop that hands the prompt to the context, asks for a view, and answers nothing."""

    async def execute(self, prompt: str, context: Any, **_: Any) -> str:
        await context.add_message({"role": "user", "content": prompt})
        await context.get_messages_for_request()
        return ""


async def mount_loop(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    await coordinator.mount("orchestrator", Silent())


async def mount_provider(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    provider = Provider()
    await coordinator.mount("providers", provider, name=provider.name)


@asynccontextmanager
async def kernel_session(
    config: dict[str, Any] | None = None, kind: type = AmplifierSession, source: Path | None = None
) -> AsyncIterator[Any]:
    """A session, initialized. Our module is found by its entry point, or in the folder `source`."""
    plan = {
        "session": {
            "orchestrator": {"module": "loop-silent"},
            "context": {"module": "context-backscroll", "config": config or {}},
        },
        "providers": [{"module": "provider-silent"}],
    }
    with published(MODULES):
        session = kind(plan, session_id="kernel")
        try:
            if source is not None:
                await session.coordinator.mount("module-source-resolver", Folders({"context-backscroll": source}))
            await session.initialize()
            yield session
        finally:
            await session.cleanup()


@contextmanager
def published(modules: Mapping[str, str]) -> Iterator[Path]:
    """Installs a distribution whose only content are these entry points, as long as it lasts."""
    with tempfile.TemporaryDirectory() as folder:
        info = Path(folder) / "silent_modules-1.0.dist-info"
        info.mkdir()
        info.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: silent-modules\nVersion: 1.0\n")
        lines = [f"{name} = {target}" for name, target in modules.items()]
        info.joinpath("entry_points.txt").write_text("\n".join(["[amplifier.modules]", *lines, ""]))
        sys.path.insert(0, folder)
        importlib.invalidate_caches()
        try:
            yield Path(folder)
        finally:
            sys.path.remove(folder)
            importlib.invalidate_caches()


class Folders:
    """A module-source resolver that knows some folders; for all other modules the kernel uses entry points."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self._folders = folders

    def resolve(self, module_id: str, source_hint: Any = None, profile_hint: Any = None) -> "Folder":
        if module_id not in self._folders:
            raise SourceNotFound(module_id)
        return Folder(self._folders[module_id])


class Folder:
    """A module source on disk."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def resolve(self) -> Path:
        return self._path
