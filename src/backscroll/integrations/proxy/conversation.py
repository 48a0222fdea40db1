"""One conversation of a client: its view, and what of a request it has seen before."""

import re
from array import array
from collections.abc import Generator, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from backscroll.history.log import PlanAt
from backscroll.history.recall_wording import RECALL
from backscroll.integrations.conversation import Conversation, ModelCall
from backscroll.integrations.following import COMPARED
from backscroll.integrations.proxy.agent import Agent
from backscroll.integrations.proxy.noting import NotingTranslation
from backscroll.integrations.proxy.offered_recall import has_recall, wording_of
from backscroll.integrations.proxy.recall_form import NAME
from backscroll.integrations.proxy.seals import seals_in
from backscroll.integrations.proxy.shown import Shown
from backscroll.integrations.proxy.spelling import Spelling
from backscroll.integrations.translation import Translation
from backscroll.manager.driver import run_async, run_async_each
from backscroll.ports import Operation
from backscroll.session.past import get_messages, get_rewound, lane_as_it_is
from backscroll.session.request import prepare
from backscroll.session.state import SessionState
from backscroll.session.store_sync import enter
from backscroll.session.system_prompt import prompt_of
from backscroll.view.view_message import ViewMessage, with_indexes

NUMBER = re.compile(r"[~.](\d{1,9})$")
"""What ends the name of each conversation of a group but the first. Behind `~` it may have begun as another one did, of
which a view left something out.
"""


class ProxiedConversation(Conversation[Any]):
    """The manager of one conversation.

    Args:
        translation: Reads the messages of its API.
        options: Options of `backscroll.AsyncContextManager`.
    """

    def __init__(self, translation: Translation[Any], options: Mapping[str, Any]) -> None:
        self._noting = NotingTranslation(translation, lambda: datetime.now(UTC))
        super().__init__(self._noting, options)
        self.newest: NewestRequest | None = None
        """What was sent last."""
        self.spelling: Spelling = Spelling()
        """Writes its views."""
        self._seals: dict[int, None] = {}
        """The seals of reasoning that was loaded. Also what is stored, once `_has_seals` is true."""
        self.offers_recall: bool = False
        """Whether its requests have our recall tool, as the first one had."""
        self._stored_as: str | None = options.get("session") if options.get("store") is not None else None
        """Its name in the store. `None`: it is in memory."""
        self._has_seals = self._stored_as is None
        numbered = NUMBER.search(str(options.get("session", "")))
        self._is_branch = numbered is not None and numbered[0].startswith("~")
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

    @property
    def held(self) -> int:
        """How many messages of the newest request were in the one before, also if another process sent that one."""
        return self._following.held

    def continued_by(self, history: Sequence[Any]) -> bool:
        """Return whether a request goes on from what is loaded, as far as the newest messages show."""
        return self._following.continues(history)

    def in_common(self, history: Sequence[Any]) -> int:
        """Return with how many of the loaded messages a request begins."""
        return self._following.in_common(history)

    def holds_answers(self, history: Iterable[Any], number: int = 1) -> bool:
        """Return whether at least so many of these messages are the model's."""
        found = (True for each in history if self._translation.to_message(each).get("role") == "assistant")
        return next(islice(found, number - 1, None), False)

    async def stored_in_common(self, history: Sequence[Any]) -> tuple[int, int]:
        """Return with how many of the stored messages a request begins, and how many are stored."""
        return await run_async_each(self._opened, self._following.stored_in_common(history))

    async def was_left(self, history: Sequence[Any], at: int) -> bool:
        """Return whether the client left this very continuation before, from this index on: both go on, then."""
        if at >= len(history):
            return False
        return await run_async_each(self._opened, self._following.was_left(history[at]))

    async def is_of_another(self, agent: Agent) -> bool:
        """Return whether all requests of this conversation came from other agents than this one. What is known of them
        is stored.
        """
        return await run_async(self._opened, self._is_of_another(agent))

    def _is_of_another(self, agent: Agent) -> Operation[bool]:
        yield from enter(self._session)
        asked = [lane for lane in self._session.lanes.values() if lane.requested]
        for lane in asked:
            prompt = yield from prompt_of(self._session, lane.prompt)
            tools = frozenset(name for name, _ in lane.tools.tools) if lane.tools else frozenset[str]()
            if NAME not in agent.tools and _began_with_recall(self._session):
                tools -= {NAME}  # ours, which no client sends
            if agent.is_like(Agent(prompt or "", tools)):
                return False
        return bool(asked)

    def recalls_with(self, tool: dict[str, Any] | None, *, begins: bool) -> None:
        """Note our recall tool for the next request.

        Args:
            tool: Its definition. `None`: the request cannot have it.
            begins: Whether a conversation that begins with the request has it: an agent's, which has tools. That holds
                for all of it, because tools are at the front of the provider's cache.
        """
        self._recall_tool, self._noting.recalls = tool, begins and self._inherits_recall

    def comes_with(self, folder: str, *, is_single: bool) -> None:
        """Note where the agent works, if it says so, and whether the newest request is a question by itself."""
        self._noting.folder = folder or self._noting.folder
        self._noting.is_single = is_single

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
            pairs = enumerate(zip(known[older:], spelled[older:], strict=False), older) if same else ()
            new = next((at for at, (one, other) in pairs if one != other), min(len(known), len(spelled)) if same else 0)
            self._seals |= dict.fromkeys(self._seals_in(history[new:]))
            steps = self._requested(history, call._replace(first=not same), self._request_if_edited)
            view = await run_async_each(self._opened, steps)
            self._spelled = array("q", spelled)
            return None if view is None else [self._native(each, history) for each in view[self._prompted :]]
        finally:
            self._turn.release()

    async def stored_view(self, history: Sequence[Any], lane: str) -> list[Any] | None:
        """Load all that is stored of this conversation, and return the view that the next request begins with. Nothing
        is stored.

        Args:
            history: The messages of a client that are stored.
            lane: The lane of the request.

        Returns:
            As `view_for`.
        """
        await self._turn.acquire_async()
        try:
            await run_async_each(self._opened, self._following.load(history, whole=True))
            view = await run_async(self._opened, self._stored_view(lane))
            return None if view is None else [self._native(each, history) for each in view]
        finally:
            self._turn.release()

    def _stored_view(self, lane_name: str) -> Operation[list[ViewMessage] | None]:
        state = self._session
        yield from enter(state)
        lane = yield from lane_as_it_is(state, lane_name)
        assert lane.view is not None
        if not lane.plan.edits:
            return None
        begins = 0 if lane.view.prompt is None else 1
        return with_indexes(lane.view, state.history.branch.position)[begins:]

    async def new_seals(self, history: Sequence[Any]) -> list[int]:
        """Return the seals of new reasoning in a request; none if reasoning is left out in any case."""
        if self._shares:
            return []
        if self.continued_by(history):
            return self._seals_in(history[self.messages :])
        known = self.in_common(history) if self.messages else (await self.stored_in_common(history))[0]
        return self._seals_in(history[known:])

    async def seals(self) -> AbstractSet[int]:
        """Return the seals of all reasoning that it holds, or held before it was rewound."""
        if not self._has_seals:
            self._seals.update(await run_async_each(self._opened, self._stored_seals()))
            self._has_seals = True
        return self._seals.keys()

    def _stored_seals(self) -> Generator[Operation[Any], Any, dict[int, None]]:
        stored, rewound = (yield get_messages(self._session)), (yield get_rewound(self._session))
        return dict.fromkeys(seals_in([*rewound, *stored]))

    def _seals_in(self, natives: Iterable[Any]) -> list[int]:
        return seals_in(map(self._translation.to_message, natives))

    async def branches_from(self, other: "ProxiedConversation", *, is_edited: bool) -> None:
        """Note that this conversation, which holds nothing yet, begins as another one does.

        Args:
            other: The other one.
            is_edited: Whether what was thought in that beginning is bound to a view.
        """
        self._shares = self._is_branch = is_edited
        self._inherits_recall = await other.began_with_recall()
        self._noting.recalls = self._noting.recalls and self._inherits_recall

    async def began_with_recall(self) -> bool:
        """Return whether its first request had our recall tool."""
        return await run_async(self._opened, self._began_with_recall())

    def _began_with_recall(self) -> Operation[bool]:
        yield from enter(self._session)
        return _began_with_recall(self._session)

    async def is_edited(self) -> bool:
        """Return whether a view of this conversation left something out."""
        return await run_async(self._opened, self._is_edited(self._session))

    def _is_edited(self, state: SessionState) -> Operation[bool]:
        if self._is_branch:
            return True
        for lane in list(state.lanes.values()):
            earlier = lane.earlier
            if isinstance(earlier, PlanAt):  # another process made it
                assert state.journal is not None
                earlier = yield from state.journal.plan(lane.name, earlier)
            if lane.plan.edits or (earlier is not None and earlier.edits):
                return True
        return False

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
        is_bare = lane.plan.no_reasoning and (recalls or (yield from self._is_edited(state)))
        if not (lane.plan.edits or loses or is_bare):
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
