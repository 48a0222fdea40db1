"""Calls to the host's providers: the name of their model, and summaries."""

import asyncio
import inspect
from collections.abc import Mapping
from typing import Any

from backscroll.compaction.summarization import SummaryRequest, SummaryResponse
from backscroll.errors import ConfigurationError
from backscroll.integrations.amplifier import hooks as signals
from backscroll.integrations.amplifier.wire import CHARACTERS

MAIN = "main"
CALL_SECONDS = 300.0  # limit of one call, so that a provider that hangs does not block summaries for ever
PURPOSE = {"source": signals.NAME, "purpose": "summary"}
"""Metadata of a summary request, by which hooks and providers recognize it."""


class ProviderSummarizer:
    """A summarizer for `AsyncContextManager(summarizer=...)` that calls a mounted provider.

    Args:
        coordinator: The session's coordinator.
        name: Name of the provider. `None`: the provider of the newest request, else the first that is mounted.
        model: Sent as `ChatRequest.model`. `None`: the provider's own model.
        call_seconds: Limit of one call.
    """

    def __init__(
        self, coordinator: Any, name: str | None, model: str | None, call_seconds: float = CALL_SECONDS
    ) -> None:
        self._coordinator, self._name, self._model, self._call_seconds = coordinator, name, model, call_seconds
        self.serving: Any = None
        """The provider of the newest request."""

    async def __call__(self, request: SummaryRequest) -> SummaryResponse:
        """Make one call. Usage reported meanwhile belongs to this call, not to the conversation."""
        from amplifier_core import ChatRequest, Message  # noqa: PLC0415  # the host brings it; mounting does not need it

        provider = self._provider()
        asked = ChatRequest(
            messages=[Message(**message) for message in _messages(request)],
            tools=self._tools() if request.messages else None,
            max_output_tokens=2
            * request.max_tokens,  # reasoning counts too; a summary that is too long is rejected later
            model=self._model,
            metadata=dict(PURPOSE),
        )
        mark = signals.OWN_CALL.set(True)
        try:
            response = await asyncio.wait_for(provider.complete(asked), self._call_seconds)
        finally:
            signals.OWN_CALL.reset(mark)
        blocks = response.content
        text = blocks if isinstance(blocks, str) else "".join(_text(block) for block in blocks)
        named = getattr(response, "model", None) or self._model
        model = named if isinstance(named, str) else await model_of(provider)
        return SummaryResponse(text, model, *_counted(response, len(request.system + request.prompt) // CHARACTERS))

    def _tools(self) -> list[Any]:
        """Return the tools as loops send them: only an identical prefix is found in the provider's cache."""
        from amplifier_core import ToolSpec  # noqa: PLC0415  # as above

        mounted: Mapping[str, Any] = self._coordinator.get("tools") or {}
        return [
            ToolSpec(name=tool.name, description=tool.description, parameters=tool.input_schema)
            for tool in mounted.values()
        ]

    def _provider(self) -> Any:
        mounted: Mapping[str, Any] = self._coordinator.get("providers") or {}
        if self._name is None:
            found = next(iter(mounted.values()), None) if self.serving is None else self.serving
        else:
            named = (known for known in mounted.values() if getattr(known, "name", None) == self._name)
            found = mounted.get(self._name) or next(named, None)
        if found is None:
            wanted = "no provider is mounted" if self._name is None else f"no provider {self._name!r} is mounted"
            raise ConfigurationError(f"{wanted}; mounted are: {', '.join(mounted) or 'none'}")
        return found


def _messages(request: SummaryRequest) -> list[dict[str, Any]]:
    """Return a prompt of its own, or the conversation with one more turn."""
    turn = {"role": "user", "content": request.prompt}
    if not request.messages:
        return [{"role": "system", "content": request.system}, turn]
    return [*request.messages, turn]


def _text(block: Any) -> str:
    fields = _fields(block)
    text = fields.get("text") if fields.get("type") == "text" else None
    return text if isinstance(text, str) else ""


def _counted(response: Any, estimate: int) -> tuple[int | None, int | None]:
    """Return input and output tokens as the provider counted them; `None` if it did not."""
    counted = signals.usage_in({"usage": _fields(getattr(response, "usage", None))})
    return (None, None) if counted is None else (signals.prompt_tokens(counted, estimate), counted.output)


def _fields(value: Any) -> Mapping[str, Any]:
    dump = getattr(value, "model_dump", None)
    fields = value if dump is None else dump()
    return fields if isinstance(fields, Mapping) else {}


class MountedProviders:
    """The providers of a session, by the names under which the host mounted them."""

    def __init__(self, coordinator: Any) -> None:
        self._get = getattr(coordinator, "get", None)

    def _mounted(self) -> Mapping[str, Any]:
        return (self._get("providers") if self._get else None) or {}

    def only(self) -> Any:
        """Return the provider if exactly one is mounted; else `None`."""
        mounted = self._mounted()
        return next(iter(mounted.values())) if len(mounted) == 1 else None

    async def lane(self, provider: Any) -> str:
        """Return the mounted name of a provider with its model's name.

        Two instances of a provider may serve one model with different windows and have the same `name`; only the host's
        names distinguish them.
        """
        named = (name for name, mounted in self._mounted().items() if mounted is provider)
        name, model = next(named, getattr(provider, "name", None)), await model_of(provider)
        return f"{name}/{model}" if isinstance(name, str) and name and name != model else model


async def model_of(provider: Any) -> str:
    """Return the name of the provider's model; if unknown, the provider's own name."""
    try:
        for name in ("default_model", "model"):
            if isinstance(found := getattr(provider, name, None), str) and found:
                return found
        info = provider.get_info()
        info = await info if inspect.isawaitable(info) else info
        defaults: Any = info["defaults"] if isinstance(info, Mapping) else info.defaults
        model = defaults.get("model")
        if isinstance(model, str) and model:
            return model
        name = provider.name
    except Exception:  # the core asks for the window again and reports what fails
        name = MAIN
    return name if isinstance(name, str) and name else MAIN
