"""`mount()`: the entry point that the kernel calls.

It may run twice for one session: under a module-source resolver the kernel validates a module by mounting it on a
coordinator of its own first. So nothing is opened here, and nothing outlives the cleanup.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from backscroll.compaction.summarization import Summarizer
from backscroll.integrations.amplifier.context import AmplifierContext
from backscroll.integrations.amplifier.hooks import BEGIN_EVENTS, CONTRIBUTED, NAME, OPTION_IGNORED, Signals
from backscroll.integrations.amplifier.old_context import OldContext
from backscroll.integrations.amplifier.providers import MountedProviders, ProviderSummarizer
from backscroll.integrations.amplifier.settings import ALWAYS, Config, Settings, read_settings
from backscroll.integrations.amplifier.tool import ModelTool
from backscroll.integrations.amplifier.transcript import TranscriptFile, transcript_file

Cleanup = Callable[[], Awaitable[None]]


async def mount(coordinator: Any, config: Mapping[str, Any] | None = None) -> Cleanup:
    """Mount a context at `context` and its tool `recall` at `tools`.

    Args:
        coordinator: The session's coordinator.
        config: The configuration; `settings.Config` has every option. An unknown option is ignored with a warning and
            the event `context:option_ignored`.

    Returns:
        The async function that releases both.

    Raises:
        ConfigurationError: A value cannot work.
    """
    settings = read_settings(config)
    signals = _signals(coordinator, settings)
    context = _context(coordinator, settings, signals)
    await coordinator.mount("context", context)
    wanted = settings.config
    await _offer(coordinator, signals, ModelTool(*context.recall_tool("anthropic")), wanted.recall_tool)
    await _offer(coordinator, signals, _compact_tool(context), wanted.compact_tool)
    register = getattr(coordinator, "register_capability", None)
    if register is not None:
        register("context.request_retention", context.request_retention)
        register("context.foreground_usage", context.foreground_usage)
    contribute = getattr(coordinator, "register_contributor", None)
    if contribute is not None:
        contribute("observability.events", NAME, lambda: list(CONTRIBUTED))
    for name, reason in settings.ignored:
        await context.warn(OPTION_IGNORED, {"option": name, "reason": reason})
    return context.aclose


def _compact_tool(context: AmplifierContext) -> ModelTool:
    """Return the tool that compacts the lane of the newest request, which may be another one at each call."""

    async def run(**arguments: Any) -> str:
        _, compact = context.compact_tool(lane=context.newest_lane)
        return await compact(**arguments)

    return ModelTool(context.compact_tool("anthropic")[0], run)


async def _offer(coordinator: Any, signals: Signals, tool: ModelTool, wanted: bool | str) -> None:
    """Mount the tool at once if the configuration says `always`; else with the first prompt of a session that has
    tools.

    Hosts check before the first prompt whether tools are mounted, and a session that should have none must have none.
    """

    async def begun(_: Mapping[str, Any]) -> None:
        mounted = coordinator.get("tools")
        if mounted and tool.name not in mounted:
            await coordinator.mount("tools", tool, name=tool.name)

    if wanted == ALWAYS:
        await coordinator.mount("tools", tool, name=tool.name)
    elif wanted:
        signals.hear(BEGIN_EVENTS, tool.name, begun)


def _signals(coordinator: Any, settings: Settings) -> Signals:
    config = settings.config
    kept = {"protected_recent": config.protected_recent, "protected_tool_results": config.protected_tool_results}
    return Signals(coordinator, kept)


def _context(coordinator: Any, settings: Settings, signals: Signals) -> AmplifierContext:
    session = str(getattr(coordinator, "session_id", None) or "session")
    child = bool(getattr(coordinator, "parent_id", None))
    path = transcript_file(settings.storage_path, settings.transcript_path, session, child=child)
    kind = OldContext if settings.config.contract.startswith("1") else AmplifierContext
    transcript = None if path is None else TranscriptFile(path)
    kept = {"session": session, "store": settings.config.store} if settings.config.store else {}
    asked = ProviderSummarizer(coordinator, settings.config.summary_provider, settings.config.summary_model)
    summarizer = _summarizer(asked, settings.config) if settings.summarizer else None
    return kind(
        signals,
        {**settings.options, **kept, "summarizer": summarizer},
        transcript,
        tuple(settings.config.memory_files),
        summarizer=asked if settings.summarizer else None,
        providers=MountedProviders(coordinator),
    )


def _summarizer(asked: ProviderSummarizer, config: Config) -> Summarizer:
    return Summarizer(
        asked,
        config.summary_context_tokens,
        config.summary_wait_seconds,
        reuse_prefix=config.summary_reuse_prefix,
        instructions=config.summary_instructions,
    )
