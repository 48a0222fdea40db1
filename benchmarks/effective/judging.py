"""Replays a recorded conversation on a contender, and notes what it sent, what its views lacked and who brings it back.

Before each recorded answer the contender makes its view. The facts that the answer uses and that had occurred before
(`backscroll.evaluation`) are looked up in it. A **miss** is a message of the history that has to be fetched because
facts of it are missing: all that the same message has come back together. The agent then makes one recall, with the
words of the answer without the missing facts. What it does not bring comes from the newest tool result that mentions
it, by running that tool again; or, where no tool ever showed it, somebody has to say it again.
"""

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from peers import stand_in
from peers.base import Message, Peer

from backscroll.errors import BudgetError
from backscroll.evaluation.facts import Fact, occurs, readable_text
from backscroll.evaluation.retention import Needs
from backscroll.evaluation.run import Weigher
from backscroll.evaluation.transcript import is_answer

WORDS = 25
"""Words of a recall: the first different ones of the answer."""
CALL = 8
"""Tokens that frame a call."""
_WORD = re.compile(r"[A-Za-z_][\w./-]{3,}")


@dataclass(slots=True)
class Bill:
    """Sums over the requests of one conversation. Whatever ends in `_tokens` is in tokens."""

    requests: int = 0
    refused: int = 0
    over: int = 0
    """Requests above the budget."""
    sent_tokens: int = 0
    kept_tokens: int = 0
    """Of these, what the view has in common with the one before, from its beginning and by whole messages."""
    summaries: int = 0
    summary_input_tokens: int = 0
    summary_output_tokens: int = 0
    facts: int = 0
    missing: int = 0
    misses: int = 0
    short: int = 0
    """Requests that lack something."""
    recalls: int = 0
    recall_view_tokens: int = 0
    recall_call_tokens: int = 0
    recall_answer_tokens: int = 0
    brought: int = 0
    """Missing facts that a recall brings."""
    again: int = 0
    """Requests that run tools again, or have something said again, after the recall."""
    again_view_tokens: int = 0
    again_call_tokens: int = 0
    again_result_tokens: int = 0
    said: int = 0
    """Misses after the recall whose facts no tool result has."""
    direct_call_tokens: int = 0
    direct_result_tokens: int = 0
    direct_said: int = 0
    """The same three without any recall: every miss is run or said again."""
    direct_view_tokens: int = 0

    def add(self, other: "Bill") -> None:
        """Add another conversation's figures."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))

    def figures(self) -> dict[str, int]:
        """Return the figures by name."""
        return asdict(self)


class History:
    """A recorded conversation, read once for all contenders."""

    def __init__(self, messages: list[Message], count: Callable[[str], int]) -> None:
        self.messages, self.needs, self.weigher = messages, Needs(messages), Weigher(count)
        self.weights = list(map(self.weigher, messages))
        self._calls = {
            call["id"]: count(f"{call['function']['name']} {call['function']['arguments']}") + CALL
            for message in messages
            for call in message.get("tool_calls") or ()
        }

    def source(self, fact: Fact, last: int) -> int:
        """Return the newest tool result that mentions a fact; where none does, its last mention."""
        for at in range(last, -1, -1):
            text = self.needs.texts[at]
            if self.is_result(at) and fact.text in text and occurs(fact, text):
                return at
        return last

    def is_result(self, at: int) -> bool:
        """Return whether a message is a tool's result."""
        return bool(self.messages[at]["role"] == "tool")

    def call_tokens(self, at: int) -> int:
        """Return the tokens of the call behind a result; of anything else those of asking for it."""
        return self._calls.get(self.messages[at].get("tool_call_id", ""), CALL)


def words_for(answer: str, missing: Iterable[Fact]) -> str:
    """Return what an agent searches for that knows its next step, but not the missing facts."""
    for fact in missing:
        answer = answer.replace(fact.text, " ")
    return " ".join(list(dict.fromkeys(_WORD.findall(answer)))[:WORDS])


def as_read(answer: str) -> str:
    """Return an answer with the texts that it has as JSON also as they were."""
    return f"{answer}\n" + answer.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")


class Judge:
    """One contender in one conversation."""

    def __init__(self, history: History, budget: int) -> None:
        self._history, self._budget = history, budget
        self._view: list[Message] = []
        self._weights: list[int] = []
        self.bill = Bill()

    def request(self, before: int, view: list[Message], recall: Callable[[str], Any]) -> None:
        """Add the request before message `before`. `recall` returns a call's name, arguments and answer, or None."""
        tokens = self._send(view)
        needs = self._history.needs.at(before)
        self.bill.facts += len(needs)
        text = "\n".join(map(readable_text, view))
        missing = {
            need.fact: self._history.source(need.fact, need.last) for need in needs if not occurs(need.fact, text)
        }
        if not missing:
            return
        self.bill.missing += len(missing)
        self.bill.misses += len(set(missing.values()))
        self.bill.short += 1
        self.bill.direct_view_tokens += tokens
        calls, results, said = self._fetched(set(missing.values()))
        self.bill.direct_call_tokens += calls
        self.bill.direct_result_tokens += results
        self.bill.direct_said += said
        left = self._recalled(missing, recall(words_for(self._history.needs.texts[before], missing)), tokens)
        if left:
            calls, results, said = self._fetched(left)
            self.bill.again += 1
            self.bill.again_view_tokens += tokens
            self.bill.again_call_tokens += calls
            self.bill.again_result_tokens += results
            self.bill.said += said

    def _recalled(
        self, missing: dict[Fact, int], found: tuple[str, dict[str, Any], str] | None, tokens: int
    ) -> set[int]:
        """Add a recall; return the messages that have to be fetched in another way."""
        if found is None:
            return set(missing.values())
        name, arguments, answer = found
        count = self._history.weigher.count
        self.bill.recalls += 1
        self.bill.recall_view_tokens += tokens
        self.bill.recall_call_tokens += count(f"{name} {json.dumps(arguments, ensure_ascii=False)}") + CALL
        self.bill.recall_answer_tokens += count(answer)
        text = as_read(answer)
        left = {fact: source for fact, source in missing.items() if not occurs(fact, text)}
        self.bill.brought += len(missing) - len(left)
        return set(left.values())

    def _fetched(self, sources: set[int]) -> tuple[int, int, int]:
        """Return the tokens of the calls and of the results of fetching messages, and how many no tool gave."""
        calls = sum(map(self._history.call_tokens, sources))
        results = sum(min(self._history.weights[at], self._budget) for at in sources)  # no request holds more of it
        return calls, results, sum(not self._history.is_result(at) for at in sources)

    def _send(self, view: list[Message]) -> int:
        shared = 0
        while shared < min(len(view), len(self._view)) and view[shared] == self._view[shared]:
            shared += 1
        self._weights = self._weights[:shared] + [self._history.weigher(one) for one in view[shared:]]
        total = sum(self._weights)
        self.bill.requests += 1
        self.bill.over += total > self._budget
        self.bill.sent_tokens += total
        self.bill.kept_tokens += sum(self._weights[:shared])
        self._view = view
        return total


def replay(history: History, kind: type[Peer], budget: int, folder: Path) -> Bill:
    """Return what a conversation costs with a contender."""
    loop = asyncio.new_event_loop()
    peer, judge = kind(budget, folder), Judge(history, budget)
    made: list[tuple[str, str]] = []
    stand_in.WITNESSES[:] = [lambda text, summary: made.append((text, summary))]

    def recall(query: str) -> Any:
        return loop.run_until_complete(peer.recall(query))

    try:
        for at, message in enumerate(history.messages):
            if at and is_answer(message):
                try:
                    view = peer.written(loop.run_until_complete(_view(peer)))
                    judge.request(at, view, recall)
                except BudgetError:
                    judge.bill.refused += 1
            loop.run_until_complete(peer.add(peer.read(message)))
    finally:
        stand_in.WITNESSES.clear()
        peer.close()
        loop.close()
    count = history.weigher.count
    judge.bill.summaries = len(made)
    judge.bill.summary_input_tokens = sum(count(text) for text, _ in made)
    judge.bill.summary_output_tokens = sum(count(summary) for _, summary in made)
    return judge.bill


async def _view(peer: Peer) -> Sequence[Any]:
    return await peer.view()
