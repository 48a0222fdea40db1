"""What goes to the host and comes from it by hooks: our events, reported usage, refusals. Decides nothing about views.

Nothing here raises into the host's loop. Payloads come from other modules and have gone through the kernel's JSON, so
they are read leniently: usage as a mapping or as the text that the kernel makes of an object.
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
    FILE_FAILED: f"{NAME}: {{path}} cannot be read or written as it should be ({{error}}): look at the file and "
    "its rights",
    PROMPT_FAILED: f"{NAME}: the system prompt factory failed ({{error}}), and its last text is sent: correct the "
    "factory",
}
"""The sentence of each event of the module that also warns."""

_KERNELS = (events.COMPACTION, events.INCLUDE)
CONTRIBUTED = tuple(name for name in ALL if name not in (*_KERNELS, events.MESSAGE_ADDED))
"""What the host's observability is given. Not the kernel's own names: a host that logs these as well would log each
twice. And not the event of each message, which would be a line in the log for each.
"""

OWN_CALL = ContextVar("backscroll_own_call", default=False)
"""Set while we ask a provider ourselves: what it reports then is not about the conversation. The kernel runs async
handlers in the context of whoever emits.
"""

_FIGURE = re.compile(r"(\w+)=(\d+)\b")
INCLUDED = 200  # characters of what is put into the conversation that its event holds
_SEARCHED = 4_000  # characters of an error that are searched for what it is about


class Counted(NamedTuple):
    """Tokens that a provider reported for one call."""

    input: int
    output: int
    read: int
    written: int
    """From the cache, and to it; some providers count them in `input` as well."""

    @property
    def cached(self) -> int:
        """Both."""
        return self.read + self.written


def sentence(name: str, payload: Mapping[str, Any]) -> str:
    """Return the warning of an event; damaged lines of a file are named as its error."""
    damaged = ", ".join(map(str, payload.get("damaged_lines", ())))
    return WARNINGS[name].format_map({"error": f"damaged lines: {damaged}", **payload})


def usage_in(payload: Mapping[str, Any]) -> Counted | None:
    """The usage that a payload tells of; None where it tells none."""
    told = payload.get("usage")
    if isinstance(told, str):
        told = {name: int(figure) for name, figure in _FIGURE.findall(told)}
    if not isinstance(told, Mapping):
        return None
    taken = _first(told, "input_tokens", "prompt_tokens", "input")
    if taken is None:
        return None
    read = _first(told, "cache_read_tokens", "cache_read_input_tokens", "cache_read")
    written = _first(told, "cache_write_tokens", "cache_creation_input_tokens", "cache_write")
    return Counted(taken, _first(told, "output_tokens", "completion_tokens", "output") or 0, read or 0, written or 0)


def _first(told: Mapping[str, Any], *names: str) -> int | None:
    return next((told[name] for name in names if type(told.get(name)) is int and told[name] >= 0), None)


def prompt_tokens(counted: Counted, estimate: int) -> int:
    """All input tokens of a call. Anthropic counts cached ones apart, others within: what is nearer to our own
    estimate, as a ratio, is right, since the two differ by nearly the whole prompt as soon as the cache hits.
    """

    def far(tokens: int) -> float:
        return max(tokens, estimate) / max(1, min(tokens, estimate))

    return min(counted.input, counted.input + counted.cached, key=far)


def prompt_parts(counted: Counted, estimate: int) -> tuple[int, int, int]:
    """The same in parts: neither read from the cache nor written to it, read, written."""
    tokens = prompt_tokens(counted, estimate)
    if counted.cached > tokens:
        return tokens, 0, 0
    return tokens - counted.cached, counted.read, counted.written


def says_too_long(payload: Mapping[str, Any]) -> bool:
    """Whether an error's payload says that the request was longer than the model's window."""
    if payload.get("status", "error") != "error":
        return False
    return is_overflow(_error_in(payload))


def sizes_in(payload: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Tokens that were requested and tokens that were allowed, where an error says so. Sources: what the interfaces of
    Anthropic, OpenAI and Gemini answer.
    """
    return overflow_sizes(_error_in(payload))


def _error_in(payload: Mapping[str, Any]) -> str:
    told = [payload.get(key) for key in ("error", "error_type", "message", "msg", "exception")]
    return " ".join(repr(found) for found in told if found is not None)[:_SEARCHED]


def sendable(value: Any) -> Any:
    """A payload without the half characters that the kernel's JSON refuses."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {sendable(key): sendable(item) for key, item in value.items()}
    return [sendable(item) for item in value] if isinstance(value, list) else value


class Signals:
    """The hooks of one session."""

    def __init__(self, coordinator: Any, protected: Mapping[str, Any] | None = None) -> None:
        self._protected = dict(protected or {})
        """Added to each compaction's event: the options that say what is spared."""
        self._hooks = getattr(coordinator, "hooks", None)
        self._unregister: list[Callable[[], Any]] = []

    async def emit(self, name: str, payload: dict[str, Any]) -> None:
        """Tells the host. The event that comes with every message is emitted only where somebody listens: a crossing
        into the kernel costs more than adding the message.
        """
        if self._hooks is not None and (name != events.MESSAGE_ADDED or self._heard(name)):
            await self._hooks.emit(name, sendable(self._payload(name, payload)))

    def _payload(self, name: str, payload: dict[str, Any]) -> dict[str, Any]:
        """The payload with the keys that listeners of the kernel's own events read."""
        if name == events.COMPACTION:
            tokens = {"tokens_before": payload["before_tokens"], "tokens_after": payload["after_tokens"]}
            return {**payload, **tokens, **self._protected}
        if name == events.INCLUDE:  # a host logs all of it, and a system prompt may be long
            content = payload["content"]
            return {"path": None, **payload, "content": content[:INCLUDED], "characters": len(content)}
        return payload

    def _heard(self, name: str) -> bool:
        listing = getattr(self._hooks, "list_handlers", None)
        return listing is None or any(listing(name).values())

    def hear(self, names: Sequence[str], purpose: str, handle: Callable[[Mapping[str, Any]], Awaitable[None]]) -> None:
        """Calls the function with the payload of these events, save while we ask a provider ourselves. It is async also
        where it waits for nothing: the kernel runs plain functions on a thread of its own.
        """
        register = getattr(self._hooks, "register", None)
        if register is None:
            return

        async def heard(_: str, payload: Mapping[str, Any]) -> None:
            if not OWN_CALL.get():
                await handle(payload)

        self._unregister += [register(name, heard, name=f"{NAME}:{purpose}:{name}") for name in names]

    def close(self) -> None:
        """Hears nothing more."""
        for unregister in self._unregister:
            if callable(unregister):
                unregister()
        self._unregister.clear()
