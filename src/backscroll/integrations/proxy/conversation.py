"""One conversation of a client: its view, and what of a request it has seen before."""

import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from backscroll.compaction.lane_state import LaneState
from backscroll.history.plan import Plan
from backscroll.history.recall_wording import RECALL
from backscroll.integrations.conversation import Conversation, ModelCall
from backscroll.integrations.following import COMPARED
from backscroll.integrations.proxy.noting import NotingTranslation
from backscroll.integrations.proxy.offered_recall import has_recall, wording_of
from backscroll.integrations.proxy.shown import Shown
from backscroll.integrations.proxy.spelling import Spelling
from backscroll.integrations.translation import Translation
from backscroll.manager.driver import run_async_each
from backscroll.ports import Operation
from backscroll.session.request import prepare
from backscroll.session.state import SessionState
from backscroll.view.view_message import ViewMessage, with_indexes

NUMBER = re.compile(r"~(\d{1,9})$")
"""What ends the name of each conversation of a group but the first."""


class ProxiedConversation(Conversation[Any]):
    """The manager of one conversation.

    Args:
        translation: Reads the messages of its API.
        options: Options of `backscroll.AsyncContextManager`.
    """

    def __init__(self, translation: Translation[Any], options: Mapping[str, Any]) -> None:
        self._noting = NotingTranslation(translation, lambda: datetime.now(UTC))
        super().__init__(self._noting, options)
        self.left: set[tuple[int, int]] = set()
        """Where the client left this conversation for another continuation: an index, and a hash of what it left."""
        self.newest: NewestRequest | None = None
        """What was sent last."""
        self.spelling: Spelling = Spelling()
        """Writes its views."""
        self.offers_recall = False
        """Whether its requests have our recall tool, as the first one had."""
        self._stored_as: str | None = options.get("session") if options.get("store") is not None else None
        """Its name in the store. `None`: it is in memory."""
        self._is_branch = bool(NUMBER.search(str(options.get("session", ""))))
        """Whether it may have begun as another conversation did, of which a view left something out."""
        self._inherits_recall = True
        """Whether the conversation from which it branches has our recall tool."""
        self._recall_tool: dict[str, Any] | None = None
        self._shares = False
        """Whether nothing but that beginning was loaded yet."""
        self._spelled = array("q")
        """A hash of each message of the newest request as the client wrote it."""

    @property
    def messages(self) -> int:
        """How many messages are loaded."""
        return len(self._following)

    def continued_by(self, history: Sequence[Any]) -> bool:
        """Return whether a request goes on from what is loaded, as far as the newest messages show."""
        return self._following.continues(history)

    def in_common(self, history: Sequence[Any]) -> int:
        """Return with how many of the loaded messages a request begins."""
        return self._following.in_common(history)

    async def stored_in_common(self, history: Sequence[Any]) -> tuple[int, int]:
        """Return with how many of the stored messages a request begins, and how many are stored."""
        return await run_async_each(self._opened, self._following.stored_in_common(history))

    def leaves(self, at: int) -> None:
        """Note that a request goes on in another way from the message at this index."""
        self.left.add((at, self._following.print_at(at)))

    def was_left(self, history: Sequence[Any], at: int) -> bool:
        """Return whether the client left this very continuation before: both go on, then."""
        return at < len(history) and (at, self._following.print_of(history[at])) in self.left

    def recalls_with(self, tool: dict[str, Any] | None, *, begins: bool) -> None:
        """Note our recall tool for the next request.

        Args:
            tool: Its definition. `None`: the request cannot have it.
            begins: Whether a conversation that begins with the request has it: an agent's, which has tools. That holds
                for all of it, because tools are at the front of the provider's cache.
        """
        self._recall_tool, self._noting.recalls = tool, begins and self._inherits_recall

    def works_in(self, folder: str) -> None:
        """Note where the agent works, if it says so."""
        self._noting.folder = folder or self._noting.folder

    async def view_for(self, history: Sequence[Any], spelled: Sequence[int], call: ModelCall) -> list[Any] | None:
        """Load what is new in a request and return the view to send.

        Args:
            history: The messages of the request.
            spelled: A hash of each as the client wrote it.
            call: The request.

        Returns:
            The client's own messages, and `Shown` for all others. `None`: nothing is left out, so the client's own
            request is the view.

        Raises:
            BudgetError: The messages that must stay do not fit the budget.
            MessageError: A message cannot be stored.
            StoreError: The store failed.
        """
        await self._turn.acquire_async()
        try:
            known, self._spelled = self._spelled, array("q")  # if this fails, all is compared next time
            older = max(0, len(known) - COMPARED)  # the newest are compared in any case: marks move there
            same = 0 < len(known) <= len(spelled) and known[:older] == array("q", spelled[:older])
            steps = self._requested(history, call._replace(first=not same), self._request_if_edited)
            view = await run_async_each(self._opened, steps)
            self._spelled = array("q", spelled)
            return None if view is None else [self._native(each, history) for each in view[self._prompted :]]
        finally:
            self._turn.release()

    def branches_from(self, other: "ProxiedConversation") -> None:
        """Note that this conversation, which holds nothing yet, begins as another one does."""
        self._shares = self._is_branch = other.is_edited
        self._inherits_recall = other.began_with_recall
        self._noting.recalls = self._noting.recalls and self._inherits_recall

    @property
    def began_with_recall(self) -> bool:
        """Whether its first request had our recall tool."""
        return _began_with_recall(self._session)

    @property
    def is_edited(self) -> bool:
        """Whether a view of this conversation left something out."""
        return self._is_branch or _are_edited(self._session.lanes.values())

    def _request_if_edited(
        self, state: SessionState, budget: int | None, lane_name: str, *, outside: int, tools: Any
    ) -> Operation[list[ViewMessage] | None]:
        """Make a request. Returns its view; `None` where the client's own request is the view.

        A view leaves out messages, or what a model thought over a view that did. Other reasoning that is invalid is the
        client's own matter: it changed its system prompt or its tools.
        """
        before = state.lane(lane_name)
        ours = self._recall_tool
        recalls = _began_with_recall(state)
        self.offers_recall = ours is not None and recalls and not has_recall(tools)
        tools = [*(tools or ()), ours] if self.offers_recall else tools
        if not before.plan.edits:  # said once: a text that was sent never changes
            before.word_recall(RECALL if self.offers_recall else wording_of(tools, self._stored_as))
        if self._shares:  # what is loaded was thought over views of another conversation
            before.invalidate(0, state.history.last_sealed)
        lane = yield from prepare(state, budget, None, lane_name, outside=outside, tools=tools)
        self._shares = False
        assert lane.view is not None
        loses = recalls and self._following.has_bare  # over calls of our tool, which the client never saw
        if not (lane.plan.edits or loses or (lane.plan.no_reasoning and (recalls or self.is_edited))):
            return None
        return with_indexes(lane.view, state.history.branch.position)

    def _native(self, shown: ViewMessage, history: Sequence[Any]) -> Any:
        native = super()._native(shown, history)
        natives = [history[index] for index in shown.indexes]
        return native if len(natives) == 1 and native is natives[0] else Shown(native, natives)

    def _is_redacted(self, native: Any) -> bool:  # noqa: ARG002  the base asks for each
        """Return `False`: the model has seen what the client wrote, and its reasoning may be bound to that."""
        return False


def _began_with_recall(state: SessionState) -> bool:
    """Return whether the first request of a session had our recall tool, as its first message says."""
    first = state.history.get(state.history.branch[0]) if len(state.history.branch) else None
    noted = {} if first is None else (first.message.get("metadata") or {}).get("log") or {}
    return noted.get("recall") is True


def _are_edited(lanes: Iterable[LaneState]) -> bool:
    """Return whether a view leaves messages out, or did so before the newest plan."""
    return any(plan.edits if isinstance(plan, Plan) else plan for each in lanes for plan in (each.plan, each.earlier))


class NewestRequest:
    """The messages that a conversation sent last, for requests that only ask how long they are.

    Args:
        texts: The messages as JSON. `None`: those of the client.
        messages: How many messages of the client they show.
    """

    messages: int
    texts: Sequence[str] | None

    def __init__(self, texts: Sequence[str] | None, messages: int) -> None:
        self.texts, self.messages = texts, messages
