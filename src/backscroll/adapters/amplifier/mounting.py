"""`mount()`: a configuration and a coordinator in, a mounted context out. No logic of its own.

May run twice for one session: under a module-source resolver the kernel validates a module by mounting it on a
coordinator of its own first. So nothing is opened here, and nothing outlives its cleanup.
"""

import warnings
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from backscroll.adapters.amplifier.context import AmplifierContext, OldContext
from backscroll.adapters.amplifier.files import TranscriptFile, transcript_file
from backscroll.adapters.amplifier.providers import ProviderSummarizer
from backscroll.adapters.amplifier.settings import Settings, read_settings
from backscroll.adapters.amplifier.signals import ALL, NAME, OPTION_IGNORED, Signals
from backscroll.adapters.amplifier.tool import RecallTool

Cleanup = Callable[[], Awaitable[None]]


async def mount(coordinator: Any, config: Mapping[str, Any] | None = None) -> Cleanup:
    """Mounts a context at `context`, and its tool `recall` at `tools`; answers what frees them.

    `config`: see `settings.SETTINGS`. Raises `ConfigurationError` for a value that cannot work; an option that nobody
    knows is left out with a warning and the event `context:option_ignored`.
    """
    settings = read_settings(config)
    context = _context(coordinator, settings)
    await coordinator.mount("context", context)
    if settings.recall_tool:
        tool = RecallTool(*context.recall_tool("anthropic"))
        await coordinator.mount("tools", tool, name=tool.name)
    contribute = getattr(coordinator, "register_contributor", None)
    if contribute is not None:
        contribute("observability.events", NAME, lambda: list(ALL))
    for name, reason in settings.ignored:
        warnings.warn(f"{NAME}: option {name!r} is ignored: {reason}", RuntimeWarning, stacklevel=2)
        await context.tell(OPTION_IGNORED, {"option": name, "reason": reason})
    return context.aclose


def _context(coordinator: Any, settings: Settings) -> AmplifierContext:
    session = str(getattr(coordinator, "session_id", None) or "session")
    path = transcript_file(settings.storage_path, settings.transcript_path, session)
    kind = OldContext if settings.old else AmplifierContext
    transcript = None if path is None else TranscriptFile(path)
    kept = {"session": session, "store": settings.store} if settings.store else {}
    asked = ProviderSummarizer(coordinator, settings.summary_provider, settings.summary_model)
    summarizer = asked if settings.summarizer else None
    return kind(Signals(coordinator), {**settings.options, **kept}, transcript, settings.memory_files, summarizer)
