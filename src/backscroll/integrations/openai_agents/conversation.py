"""The conversation of one history of items."""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from math import ceil
from typing import Any

from backscroll.integrations.conversation import Conversation, ModelCall
from backscroll.integrations.item_runs import Grouping, Item, Run, kind_of, origin_of, plain
from backscroll.integrations.item_translation import ItemTranslation
from backscroll.integrations.openai_agents.model_request import ModelRequest
from backscroll.messages.dialects.response_items import PAIRS
from backscroll.tokens.usage import estimate_count


class ItemConversation(Conversation[Run]):
    """The manager of one history of the SDK, a `backscroll.AsyncContextManager`.

    Args:
        options: Options of `backscroll.AsyncContextManager`.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(ItemTranslation(), options)
        self._grouping = Grouping()
        self._instructions: tuple[str | None, str, int] = (None, "", 0)
        self.opening: str = ""
        """A digest of the history's first item."""
        self.waits: bool = False
        """Whether the newest answer has calls without results: its agent goes on, and others may work for it."""

    @property
    def messages(self) -> int:
        """How many messages are loaded."""
        return len(self._following)

    def continues(self, items: Sequence[Item]) -> bool:
        """Return whether these items go on from what is loaded, as far as the newest messages show."""
        known = self._grouping.known(items)
        return known is not None and self._following.continues(known)

    async def view_for(self, request: ModelRequest, lane: str, *, first: bool) -> list[Item]:
        """Load what is new in a request's items, and return those to send.

        Args:
            request: The request; its items are read and never changed.
            lane: The name of the model.
            first: Whether the history may have been edited since the request before. All of it is then compared.

        Raises:
            BudgetError: The items that must stay do not fit the budget.
            MessageError: An item cannot be stored.
            StoreError: The store failed.
        """
        items = request.items
        whole = first or not self.continues(items)
        outside = self._tokens_of(request.system_instructions, lane)
        call = ModelCall(lane=lane, overhead_tokens=outside, tools=request.definitions(), first=whole)
        runs = self._grouping.runs(items, whole=whole)
        if items:
            self.opening = digest_of(items[0])
        self.waits = False
        return [item for run in await self.view_of(runs, call) for item in run]

    def answered(self, output: Iterable[Item]) -> None:
        """Note what the model answered."""
        self.waits = any(kind_of(item) in PAIRS for item in output)

    def _tokens_of(self, instructions: str | None, lane: str) -> int:
        """Return the expected tokens of the instructions; they are counted again only if they changed."""
        if not instructions:
            return 0
        known, counted_for, tokens = self._instructions
        if (known, counted_for) != (instructions, lane):
            family = self._session.lane(lane).family
            tokens = ceil(estimate_count(self._opened.measurer.count(instructions), family)[0])
            self._instructions = (instructions, lane, tokens)
        return tokens


def starts_run(items: Sequence[Item]) -> bool:
    """Return whether a request begins a run of an agent: within one, the newest item is the result of a tool."""
    return not items or origin_of(items[-1]) != "tool"


def digest_of(item: Item) -> str:
    """Return a short name for what an item says. It is the same in every process."""
    said = json.dumps(ItemTranslation().says((plain(item),)), sort_keys=True, default=str)
    return sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:12]
