"""Hooks between session and host: our events, reported usage, rejections.

Nothing here raises into the host's loop. Payloads come from other modules and through the kernel's JSON, so they are
read leniently: usage may be a mapping or the text that the kernel makes of an object.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

from backscroll import events
from backscroll.integrations.overflow_errors import is_overflow, overflow_sizes

USAGE_EVENTS = ("llm:response", "provider:response")
ERROR_EVENTS = ("provider:error", "provider:retry", "llm:response")
PROMPT_EVENTS = ("prompt:submit",)
BEGIN_EVENTS = ("session:start", "session:resume", *PROMPT_EVENTS)
NAME = "context-backscroll"

OPTION_IGNORED = "context:option_ignored"
RESTORE_IGNORED = "context:set_messages_ignored"
REPLAY_IGNORED = "context:replay_ignored"
FILE_FAILED = "context:file_failed"
PROMPT_FAILED = "context:system_prompt_failed"
ALL = (*events.ALL, OPTION_IGNORED, RESTORE_IGNORED, REPLAY_IGNORED, FILE_FAILED, PROMPT_FAILED)
"""Every event of the module."""

WARNINGS: Mapping[str, str] = {
    **events.WARNINGS,
    OPTION_IGNORED: f"{NAME}: option {{option!r}} is ignored: {{reason}}",
    FILE_FAILED: f"{NAME}: cannot fully read or write {{path}} ({{error}}): check the file and its permissions",
    PROMPT_FAILED: f"{NAME}: the system prompt factory failed ({{error}}), and its last text is sent: fix the factory",
}
"""The warning for each event that also warns."""

_KERNELS = (events.COMPACTION, events.INCLUDE)
CONTRIBUTED = tuple(name for name in ALL if name not in (*_KERNELS, events.MESSAGE_ADDED))
"""The events offered to the host's observability. The kernel's own names are excluded, because a host that logs them
would log each twice; the event of each added message is excluded, because it would flood the log.
"""

OWN_CALL = ContextVar("backscroll_own_call", default=False)
"""True while we call a provider ourselves: usage reported then does not belong to the conversation. The kernel runs
async handlers in the emitter's context.
"""

_FIGURE = re.compile(r"(\w+)=(\d+)\b")
INCLUDED = 200  # characters of included content in its event
_SEARCHED = 4_000  # characters of an error that are searched


class Counted(NamedTuple):
    """Tokens that a provider reported for one call."""

    input: int
    output: int
    read: int
    written: int
    """Tokens read from the cache and written to it; some providers include them in `input`."""

    @property
    def cached(self) -> int:
        """Tokens read from the cache or written to it."""
        return self.read + self.written


def sentence(name: str, payload: Mapping[str, Any]) -> str:
    """Return the warning of an event; damaged lines of a file are named as its error."""
    damaged = ", ".join(map(str, payload.get("damaged_lines", ())))
    return WARNINGS[name].format_map({"error": f"damaged lines: {damaged}", **payload})


def usage_in(payload: Mapping[str, Any]) -> Counted | None:
    """Return the usage in a payload; `None` if there is none."""
    usage = payload.get("usage")
    if isinstance(usage, str):
        usage = {name: int(figure) for name, figure in _FIGURE.findall(usage)}
    if not isinstance(usage, Mapping):
        return None
    taken = _first(usage, "input_tokens", "prompt_tokens", "input")
    if taken is None:
        return None
    read = _first(usage, "cache_read_tokens", "cache_read_input_tokens", "cache_read")
    written = _first(usage, "cache_write_tokens", "cache_creation_input_tokens", "cache_write")
    return Counted(taken, _first(usage, "output_tokens", "completion_tokens", "output") or 0, read or 0, written or 0)


def _first(usage: Mapping[str, Any], *names: str) -> int | None:
    return next((usage[name] for name in names if type(usage.get(name)) is int and usage[name] >= 0), None)


def prompt_tokens(counted: Counted, estimate: int) -> int:
    """Return all input tokens of a call.

    Anthropic reports cached tokens separately, others include them. The reading closer to our estimate, as a ratio, is
    right: on a cache hit the two differ by nearly the whole prompt.
    """

    def far(tokens: int) -> float:
        return max(tokens, estimate) / max(1, min(tokens, estimate))

    return min(counted.input, counted.input + counted.cached, key=far)


def prompt_parts(counted: Counted, estimate: int) -> tuple[int, int, int]:
    """Return the input tokens of a call as uncached, read from the cache and written to it."""
    tokens = prompt_tokens(counted, estimate)
    if counted.cached > tokens:
        return tokens, 0, 0
    return tokens - counted.cached, counted.read, counted.written


def says_too_long(payload: Mapping[str, Any]) -> bool:
    """Return whether an error's payload says that the request was longer than the model's window."""
    if payload.get("status", "error") != "error":
        return False
    return is_overflow(_error_in(payload))


def sizes_in(payload: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return the tokens requested and allowed, if the error names them. Sources: `overflow_errors.py`."""
    return overflow_sizes(_error_in(payload))


def _error_in(payload: Mapping[str, Any]) -> str:
    parts = [payload.get(key) for key in ("error", "error_type", "message", "msg", "exception")]
    return " ".join(repr(found) for found in parts if found is not None)[:_SEARCHED]


def sendable(value: Any) -> Any:
    """Return a payload without lone surrogates, which the kernel's JSON rejects."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {sendable(key): sendable(item) for key, item in value.items()}
    return [sendable(item) for item in value] if isinstance(value, list) else value


class Signals:
    """The hooks of one session."""

    def __init__(self, coordinator: Any, protected: Mapping[str, Any] | None = None) -> None:
        self._protected = dict(protected or {})
        """Options that protect messages; added to each compaction's event."""
        self._hooks = getattr(coordinator, "hooks", None)
        self._unregister: list[Callable[[], Any]] = []

    async def emit(self, name: str, payload: dict[str, Any]) -> None:
        """Emit an event to the host.

        The event of each added message is emitted only if it has listeners: crossing into the kernel costs more than
        adding the message.
        """
        if self._hooks is not None and (name != events.MESSAGE_ADDED or self._heard(name)):
            await self._hooks.emit(name, sendable(self._payload(name, payload)))

    def _payload(self, name: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Return the payload with the keys that listeners of the kernel's own events read."""
        if name == events.COMPACTION:
            tokens = {"tokens_before": payload["before_tokens"], "tokens_after": payload["after_tokens"]}
            return {**payload, **tokens, **self._protected}
        if name == events.INCLUDE:  # a host logs it whole, and a system prompt may be long
            content = payload["content"]
            return {"path": None, **payload, "content": content[:INCLUDED], "characters": len(content)}
        return payload

    def _heard(self, name: str) -> bool:
        listing = getattr(self._hooks, "list_handlers", None)
        return listing is None or any(listing(name).values())

    def hear(self, names: Sequence[str], purpose: str, handle: Callable[[Mapping[str, Any]], Awaitable[None]]) -> None:
        """Call a function with the payload of these events, except while we call a provider ourselves.

        The handler is async even though it need not wait: the kernel runs plain functions in another thread.
        """
        register = getattr(self._hooks, "register", None)
        if register is None:
            return

        async def heard(_: str, payload: Mapping[str, Any]) -> None:
            if not OWN_CALL.get():
                await handle(payload)

        self._unregister += [register(name, heard, name=f"{NAME}:{purpose}:{name}") for name in names]

    def close(self) -> None:
        """Unregister all hooks."""
        for unregister in self._unregister:
            if callable(unregister):
                unregister()
        self._unregister.clear()
