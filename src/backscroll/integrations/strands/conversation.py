"""The conversation of one agent: each message is loaded once, and each request gets a view.

`agent.messages` is read and never changed. Sessions, snapshots and `Agent(messages=[...])` put messages there without
an event, so `Following` compares it with what was loaded.
"""

from collections.abc import Generator, Sequence
from typing import Any

from backscroll.errors import BudgetError, RequestTooLargeError
from backscroll.integrations.following import COMPARED, Following
from backscroll.integrations.overflow_retry import OverflowRetry
from backscroll.integrations.strands.errors import RequestTooLarge
from backscroll.integrations.strands.estimator import outside_tokens
from backscroll.integrations.strands.models import MAIN, counted_in, input_budget, model_name
from backscroll.integrations.strands.serialization import Message, from_json, in_blocks, pinned
from backscroll.integrations.strands.tool_result_storage import ToolResultArchive
from backscroll.integrations.strands.translation import StrandsTranslation
from backscroll.manager.async_manager import AsyncContextManager
from backscroll.manager.driver import run_async_each, run_sync, run_sync_each
from backscroll.manager.lock import FairLock
from backscroll.notices import warn
from backscroll.ports import Operation
from backscroll.session.branching import pin
from backscroll.session.past import get_messages
from backscroll.session.usage_reports import observe_usage
from backscroll.tokens.usage import Usage

STATE = "backscroll"
"""The key of `agent.state` that stores pins, so that they survive in any of Strands' sessions."""

Steps = Generator[Operation[Any], Any, None]


class Conversation(AsyncContextManager):
    """The manager of one Strands agent."""

    def __init__(self, options: dict[str, Any], shelf: ToolResultArchive | None, *, status: bool) -> None:
        super().__init__(**options)
        self._shelf = shelf
        self._status = status
        self._following = Following(self._session, StrandsTranslation(shelf))
        self._seen: list[Message] | None = None
        """The list object that the loaded messages came from."""
        self._pinned: list[bool] = []
        """Of each loaded message, whether it carried the flag of Strands' own pins."""
        self._turn = FairLock()
        self._lane = MAIN
        self._asked = False
        """Whether a request has no reported outcome yet."""
        self._retry = OverflowRetry(self)
        self._outside: tuple[Any, Any, str, tuple[int, int]] = (None, None, "", (0, 0))
        self._foreign = False

    @property
    def lane(self) -> str:
        """The lane of the newest request."""
        return self._lane

    # -- loading --

    async def follow(self, agent: Any) -> None:
        """Load the agent's new messages; earlier ones are not read again."""
        await self._turn.acquire_async()
        try:
            if self._shelf is not None:
                await self._shelf.keep(agent.messages[len(self._following) :])
            await run_async_each(self._opened, self._steps(agent))
        finally:
            self._turn.release()

    def follow_now(self, agent: Any) -> None:
        """Load the agent's new messages, for callers without an event loop."""
        self._turn.acquire()
        try:
            run_sync_each(self._opened, self._steps(agent))
        finally:
            self._turn.release()

    def restore(self, agent: Any) -> None:
        """Give the stored messages to an agent that has none yet."""
        if not agent.messages:
            stored = run_sync(self._opened, get_messages(self._session))
            agent.messages[:] = [from_json(message) for message in stored]
        self.follow_now(agent)

    def _steps(self, agent: Any) -> Steps:
        """Yield the operations after which the session holds the agent's messages and their pins."""
        messages: list[Message] = agent.messages
        whole = agent.messages is not self._seen
        same = yield from self._following.load(messages, whole=whole)
        self._seen, noted = messages, min(same, len(self._pinned))
        for number in range(0 if whole else max(0, same - COMPARED), noted):
            if self._pinned[number] != pinned(messages[number]):
                yield pin(self._session, self._seq(number), pinned(messages[number]))
                self._pinned[number] = pinned(messages[number])
        self._pinned[noted:] = map(pinned, messages[noted:])
        yield from self._pins_of(agent, messages[same:])

    def _seq(self, index: int) -> int:
        return self._following.seq(index)

    # -- pins --

    def pin_now(self, agent: Any, index: int, wanted: bool) -> str:
        """Pin or unpin a message by its index and return a sentence that says so.

        Args:
            agent: The agent.
            index: Index in `agent.messages`; negative indexes count from the end.
            wanted: Whether to pin, else unpin.

        Raises:
            IndexError: There is no such message.
        """
        self.follow_now(agent)
        total = len(agent.messages)
        at = index + total if index < 0 else index
        if not 0 <= at < total:
            raise IndexError(f"there is no message {index}: the conversation has {total}, 0 to {total - 1}")
        run_sync(self._opened, pin(self._session, self._seq(at), wanted))
        self._note(agent, agent.messages[at], wanted)
        return f"{'Pinned' if wanted else 'Unpinned'} message {at}, with the call or results that belong to it."

    def _note(self, agent: Any, message: Message, wanted: bool) -> None:
        """Store a pin in the agent's state, which its own session keeps."""
        name = message.get("tracking_id")
        if name is not None:
            pins = {**((agent.state.get(STATE) or {}).get("pins") or {}), name: wanted}
            agent.state.set(STATE, {"pins": pins})

    def _pins_of(self, agent: Any, messages: Sequence[Message]) -> Steps:
        pins = (agent.state.get(STATE) or {}).get("pins") or {}
        for number, message in enumerate(messages, len(self._following) - len(messages)):
            wanted = pins.get(message.get("tracking_id"))
            if wanted is not None and wanted != (self._seq(number) in self._session.history.protected):
                yield pin(self._session, self._seq(number), wanted)

    # -- requests --

    async def view_for(self, context: Any) -> Any:
        """Return the context of a model call with a view as its messages. Raises `RequestTooLarge`."""
        whole = context.agent.messages is not self._seen
        await self.follow(context.agent)
        self._lane = model_name(context.model)
        outside = self._measured_outside(context.system_prompt, context.tool_specs)
        budget = input_budget(context.model)
        try:
            view = await self.get_messages_for_request(budget, lane=self._lane, overhead_tokens=outside[1])
        except BudgetError as error:
            raise RequestTooLarge(error) from error
        self._asked = True
        messages = [in_blocks(from_json(message)) for message in view]
        self._carry_over(context, messages, whole=whole)
        if not self._status or not messages:
            return context.replace(messages=messages)
        messages[-1]["content"] = [*messages[-1]["content"], {"text": status_line(self.usage(self._lane))}]
        trailing = context.dynamic_trailing_blocks + (messages[-1]["role"] == "user")
        return context.replace(messages=messages, dynamic_trailing_blocks=trailing)

    def _measured_outside(self, system_prompt: Any, tool_specs: Any) -> tuple[int, int]:
        """Measure system prompt and tools; the figures are kept while both stay the same."""
        system, specs, lane, found = self._outside
        if (system, specs, lane) != (system_prompt, tool_specs, self._lane):
            family = self._session.lane(self._lane).family
            found = outside_tokens(self._opened.measurer, family, system_prompt, tool_specs)
            self._outside = (system_prompt, tool_specs, self._lane, found)
        return found

    def _carry_over(self, context: Any, messages: list[Message], *, whole: bool) -> None:
        """Add to the view what an earlier middleware appended to the newest message.

        Strands hands over a copy of all messages. `whole`: compare all of it, not only its end.
        """
        own, given = context.agent.messages, context.messages
        if given is own or not own:
            return
        begin = 0 if whole else max(0, len(own) - COMPARED)
        last, folded = own[-1], given[-1] if given else {}
        if len(given) == len(own) and given[begin:-1] == own[begin:-1] and folded.get("role") == last["role"]:
            content, added = folded["content"], len(last["content"])
            if content[:added] == last["content"]:
                if len(content) > added:
                    messages[-1]["content"] = [*messages[-1]["content"], *content[added:]]
                return
        if not self._foreign:
            self._foreign = True
            warn(
                "a middleware before Backscroll's changed the messages of a request, but the view replaces them: "
                "register the plugin that adds it after Backscroll's"
            )

    async def arrived(self, agent: Any) -> None:
        """Load a new message at once if it must be stored, not only with the next request."""
        if self._shelf is not None or self._opened.store is not None:
            await self.follow(agent)

    def begins(self) -> None:
        """Note a new invocation: earlier rejections were of another request, and messages may have been edited."""
        self._retry.accepted()
        self._seen = None

    def heard(self, event: Any) -> None:
        """Record the usage of the request."""
        if not self._asked:
            return
        self._asked = False
        if event.stop_response is not None:
            self._retry.accepted()
            counted = counted_in((event.stop_response.message.get("metadata") or {}).get("usage"))
            if counted is not None and counted.prompt and event.stop_response.stop_reason != "cancelled":
                observe_usage(self._session, self._lane, counted)

    def refused(self, event: Any) -> None:
        """Record that the provider rejected the request as too long, and retry with a shorter one.

        Raises:
            RequestTooLarge: The provider rejected too many requests in a row.
        """
        if not self._asked:  # another request was rejected; a shorter view would not help
            return
        self._asked = False
        try:
            self._retry.rejected(event.exception, self._lane)
        except RequestTooLargeError as error:
            raise RequestTooLarge(error) from event.exception
        event.retry = True

    async def ended(self, agent: Any, *, failed: bool) -> None:
        """Load the response. The event loop may end with the invocation, so wait for a running summary."""
        if not failed:  # an error here would hide what failed; the next load repeats it
            await self.follow(agent)
        summaries = self._session.summaries
        seconds = 0.0 if summaries is None else summaries.summarizer.wait_seconds
        if seconds and self._background.running:
            await self._background.wait(seconds)


def status_line(usage: Usage) -> str:
    """Return the line that shows a model its window, so that it can decide what to leave out."""
    used, window = usage.used.tokens, usage.window
    return (
        f"<context-status>\n<used>{used:,} / {window:,} tokens ({100 * used / max(1, window):.1f}%)</used>\n"
        f"<remaining>~{usage.free:,} tokens</remaining>\n</context-status>"
    )
