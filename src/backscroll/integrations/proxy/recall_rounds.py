"""The round trips of one request in which the model calls our recall tool: its calls are answered here.

Where a model calls our tool alone, its answer and the results go back to the provider, and the model goes on. Where it
calls tools of the client as well, the client must run those first: it gets its own calls, and our result waits until
it sends theirs, because a provider takes the results of one answer only together.
"""

import json
from typing import Any

from backscroll.integrations.proxy.exchange import Exchange
from backscroll.integrations.proxy.given import as_given
from backscroll.integrations.proxy.recall_form import Call, Round
from backscroll.integrations.proxy.recall_stream import RecallStream
from backscroll.integrations.proxy.recall_turns import RecallTurns

MOST = 8
"""Answers with calls of our tool in one request. More would let a model that only looks things up spend without an
end; fewer would cut off one that reads a long passage page by page.
"""
_ANSWERED = 6
"""Of these, how many are answered. The answer to the others says to go on, so that the model ends by itself."""
NO_MORE = "No more look-ups in this answer: go on with what you have."
_NO_OBJECT = 'The arguments must be a JSON object, such as {"ref": "12"}.'


class RecallRounds:
    """The round trips.

    Args:
        exchange: The request, with our tool.
        turns: Where the calls are noted.
    """

    def __init__(self, exchange: Exchange, turns: RecallTurns) -> None:
        self._exchange, self._turns = exchange, turns
        self._form = exchange.request.protocol.recall
        self._known = turns.known(exchange.request.group, exchange.request.place)
        self._turn = self._known._replace(last=None)
        self.responses: list[Any] = []
        """The provider's answers so far."""
        self.lookups: int = 0
        """Calls of our tool so far."""
        self.stream: RecallStream = exchange.request.protocol.recall_stream()
        """What the client gets of streamed answers."""

    async def take(self, response: Any) -> bool:
        """Answer the calls of a response. Returns whether the request is to be sent again, with what followed.

        Raises:
            BackscrollError: No view could be made of what followed.
        """
        self.responses.append(response)
        said = self._form.said(response)
        calls = self._form.calls(said)
        if not calls or len(self.responses) > MOST:
            if self._known.last is not None:  # of an answer that this one replaces
                self._note()
            return False
        answered = [(call, await self._answer(call)) for call in calls]
        self.lookups += len(calls)
        found = Round(list(map(as_given, said)), list(map(as_given, self._form.answers(answered))))  # written once
        if self._form.calls_others(said):
            self._turn = self._turn._replace(last=found)
            self._note()
            return False
        self._turn = self._turn._replace(rounds=(*self._turn.rounds, found))
        self._note()  # first: a client that asks again after an error goes on from here
        await self._exchange.go_on([*found.said, *found.answers])
        return True

    @property
    def is_changed(self) -> bool:
        """Whether the client must not get the newest answer as it is."""
        return bool(self.lookups) or len(self.responses) > 1

    def merged(self) -> Any:
        """Return the answer for the client."""
        return self._form.merged(self.responses)

    def _note(self) -> None:
        self._turns.note(self._exchange.request.group, self._exchange.request.place, self._turn)

    async def _answer(self, call: Call) -> str:
        if len(self.responses) > _ANSWERED:
            return NO_MORE
        arguments = call.arguments
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments or "{}")
            except (ValueError, RecursionError):
                return _NO_OBJECT
        return await self._exchange.conversation.answer_recall(arguments) if type(arguments) is dict else _NO_OBJECT
