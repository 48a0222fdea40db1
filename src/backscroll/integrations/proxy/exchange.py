"""One request of a client that is managed: what is sent for it, again shorter if it is refused, and what came of it."""

from collections.abc import Sequence
from typing import Any

from backscroll.errors import BudgetError, RequestTooLargeError
from backscroll.integrations.overflow_errors import is_overflow
from backscroll.integrations.overflow_retry import OverflowRetry
from backscroll.integrations.proxy.conversation import NewestRequest, ProxiedConversation
from backscroll.integrations.proxy.given import as_given
from backscroll.integrations.proxy.managed_request import ManagedRequest
from backscroll.integrations.proxy.marks import marks_of, remarked
from backscroll.integrations.proxy.request_budget import RequestBudget
from backscroll.integrations.proxy.shown import Shown


class Exchange:
    """A request and its answer.

    Args:
        conversation: The conversation that it belongs to.
        request: The request.
        name: The name of the conversation.
    """

    def __init__(self, conversation: ProxiedConversation, request: ManagedRequest, name: str) -> None:
        self.conversation = conversation
        self.request = request
        """The client's request."""
        self._protocol, self._body, self._call = request.protocol, request.body, request.call
        self._held: int | None = None
        """How many of its messages were in the request before. `None`: no view was made yet."""
        conversation.comes_with(request.folder, is_single=request.is_single)
        if request.wants_recall:
            conversation.recalls_with(request.protocol.recall.definition(), begins=bool(request.call.tools))
        self._retry = OverflowRetry(conversation)
        self._views = 0
        self.name = name
        """The name of the conversation."""
        self.budget: RequestBudget = request.budget
        """Input tokens of its view, and why."""
        self.content: bytes = self._body.raw
        """The bytes to send."""
        self.is_rewritten: bool = False
        """Whether a view is sent."""
        self.was_shortened: bool = False
        """Whether the content was made because the provider refused the one before as too long."""
        self.offers_recall: bool = False
        """Whether the content has our recall tool."""

    @property
    def is_changed(self) -> bool:
        """Whether the content is not the client's, unpacked: a view, or our recall tool, is in it."""
        return self.content is not self._body.raw

    @property
    def model(self) -> str:
        """The name of the model."""
        return self._call.lane

    async def go_on(self, items: Sequence[dict[str, Any]]) -> None:
        """Make the request that follows an answer, for which the client is not asked.

        Args:
            items: What the model said, and the results of its calls.

        Raises:
            BackscrollError: As `prepare`.
        """
        self._body.items = [*self._body.items, *map(as_given, items)]
        self.request.take(self._body.items)
        self._before = self.conversation.newest
        self._retry, self.was_shortened = OverflowRetry(self.conversation), False
        await self.prepare()

    @property
    def _prompts(self) -> list[dict[str, Any]]:
        return self.request.prompts

    @property
    def _natives(self) -> Sequence[Any]:
        return self.request.natives

    async def prepare(self) -> None:
        """Make the view to send.

        Raises:
            BudgetError: The messages that must stay do not fit the budget.
            MessageError: A message cannot be stored.
            StoreError: The store failed.
        """
        spelled = list(map(self._protocol.spelling, self._natives))
        view = await self.conversation.view_for(self._natives, spelled, self._call)
        self._views = self.conversation.views
        if self._held is None:  # a shorter view is no request before
            self._held = self.conversation.held
        texts = None if view is None else self._texts(view)
        self.conversation.newest = NewestRequest(texts, len(self._natives))
        self.offers_recall = self.conversation.offers_recall
        self.is_rewritten = texts is not None
        if texts is None and (self.offers_recall or self.request.is_restored):
            texts = [item.text for item in self._body.items]
        tool = self._protocol.recall.definition() if self.offers_recall else None
        self.content = self._body.raw if texts is None else self._body.with_items(texts, tool)

    async def recollect(self, length: int) -> None:
        """Note as the newest request the one that another process sent last.

        Args:
            length: How many of this request's messages are stored.

        Raises:
            StoreError: The store failed.
        """
        view = await self.conversation.stored_view(self._natives[:length], self.model)
        self.conversation.newest = NewestRequest(None if view is None else self._texts(view), length)

    async def shorten(self, error: str) -> bool:
        """Make a shorter view, if the provider refused the request as too long. Returns whether there is one to send.

        Args:
            error: The body of the provider's answer.
        """
        if not is_overflow(error):
            return False
        try:
            self._retry.rejected(_Refused(error), self._call.lane)
            await self.prepare()
            self.was_shortened = True
        except (BudgetError, RequestTooLargeError):
            return False
        return True

    def answered(self, response: dict[str, Any] | None, rejection: Exception | None) -> None:
        """Record what the provider said of the request.

        Nothing is recorded of a view that is not the newest: the figures would be taken for another request's.

        Args:
            response: What `observe_response` reads. `None`: the answer says nothing.
            rejection: The event of a stream by which it refused the request as too long. The client asks again.
        """
        if self.conversation.views != self._views:
            return
        if rejection is not None:
            self._retry.rejected(rejection, self._call.lane)
        elif response is not None:
            self.conversation.observe_response(response, lane=self._call.lane)

    def _texts(self, view: Sequence[Any]) -> list[str]:
        """Return the messages of a view as JSON, those of the client in its own words."""
        items, likes = list(self._prompts), list[Any](self._prompts)
        digest = previous = None
        before = self._natives[self._held - 1] if self._held else None
        for each in view:
            own, natives = (each.native, each.natives) if isinstance(each, Shown) else (each, [each])
            if not natives and digest is None:
                digest = len(items)
            if before is not None and each is before:
                previous = len(items)
            shown, like = self._protocol.items([own]), self._protocol.items(natives)
            items += shown
            likes += like if len(like) == len(shown) else [None] * len(shown)
        given = marks_of(self._body.items)
        marked = remarked(self._protocol.placed(items), given, self._body.fields, digest=digest, previous=previous)
        return self.conversation.spelling.texts(marked, likes)


class _Refused(Exception):
    """A provider's answer that refuses a request."""
