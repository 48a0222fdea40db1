"""What small views keep of a conversation without tools: facts that a user stated, corrected and asks for later.

    python benchmarks/chats.py [--budgets 2000 4000 8000] [--lengths 500 2000 5000] [--seed 1] [--only ours,window]

The conversation is made up (`chat_facts.py`): two messages a statement, a view before each answer. At each length every
sampled fact is looked up in the view and, where recall exists, with one search for the words of its question, one page.

- found: the newest value stands in the view or in that page, in one passage with its subject.
- stale: an older value stands in the view as current, or the first passage of the page shows it, without a mark and
  without the newer value.
- false marks: the newest value stands somewhere with a mark that says it was replaced.
- rules: the user's newest rules that stand in the view.

`--only` takes `ours`, `window` (the newest messages that fit), and peers of `peers/catalog.py` where
they are installed.
"""

import argparse
import asyncio
import random
import re
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from chat_facts import Fact, conversation
from peers.base import Message, Peer, plain
from peers.catalog import PEERS, peer

from backscroll import ContextManager
from backscroll.tokens.engines.heuristic import estimate

SAMPLE = 400
"""Facts that are looked up at each length, drawn from all of them."""
MARK = "replaced by"
_PASSAGE = re.compile(r"^(?=\[ref:)", re.MULTILINE)


class Found(NamedTuple):
    """Shares at one length and budget."""

    in_view: float
    found: float
    stale: float
    false_marks: float
    rules: float
    tokens: int
    """Tokens of the view, estimated."""


class Window:
    """The newest messages that fit, beginning with a user's message: what most chat applications do."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._messages: list[Message] = []

    def add(self, message: Message) -> None:
        """Keep a message."""
        self._messages.append(message)

    def view(self) -> list[Message]:
        """Return the newest messages within the budget."""
        left, shown = self._budget, list[Message]()
        for message in reversed(self._messages):
            left -= tokens([message])
            if left < 0:
                break
            shown.append(message)
        while shown and shown[-1]["role"] != "user":
            shown.pop()
        return shown[::-1]

    def search(self, question: str) -> str | None:  # noqa: ARG002  what is gone cannot be searched
        """Return nothing: what left the window is gone."""
        return None


class Ours:
    """Backscroll with its defaults."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._manager = ContextManager()

    def add(self, message: Message) -> None:
        """Keep a message."""
        self._manager.append(message)

    def view(self) -> list[Message]:
        """Return the view of the next request."""
        return self._manager.get_messages_for_request(token_budget=self._budget)

    def search(self, question: str) -> str | None:
        """Return the first page for a question."""
        return str(self._manager.recall(query=question))


class Theirs:
    """A peer of the other benchmarks. None of them searches what it left out."""

    def __init__(self, kind: type[Peer], budget: int, folder: Path) -> None:
        self._peer = kind(budget, folder)
        self._run = asyncio.new_event_loop().run_until_complete

    def add(self, message: Message) -> None:
        """Keep a message."""
        self._run(self._peer.add(self._peer.read(message)))

    def view(self) -> list[Message]:
        """Return the view of the next request."""

        async def made() -> Sequence[Any]:
            return await self._peer.view()

        return self._peer.written(self._run(made()))

    def search(self, question: str) -> str | None:  # noqa: ARG002
        """Return nothing."""
        return None


Contender = Ours | Window | Theirs


def tokens(messages: Iterable[Message]) -> int:
    """Return the estimated tokens of messages, with four for what frames each."""
    return sum(estimate(plain(message.get("content"))) + 4 for message in messages)


def passages(messages: Iterable[Message]) -> list[str]:
    """Return what a view shows, message by message; a digest line by line."""
    found: list[str] = []
    for message in messages:
        text = plain(message.get("content"))
        found += text.splitlines() if text.startswith("<summary>") else [text]
    return found


def states(passage: str, fact: Fact, value: str) -> bool:
    """Return whether a passage names the fact's subject and the value, as whole words."""
    return all(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", passage, re.IGNORECASE) for word in (*fact.words, value))


def misled(shown: Sequence[str], fact: Fact) -> bool:
    """Return whether passages state an old value without a mark, and the newest nowhere."""
    if any(states(one, fact, fact.current) for one in shown):
        return False
    return any(MARK not in one and states(one, fact, old) for one in shown for old in fact.values[:-1])


def measure(contender: Contender, view: list[Message], facts: Sequence[Fact], seed: int) -> Found:
    """Look up the facts, all of them or a sample."""
    asked = facts if len(facts) <= SAMPLE else random.Random(seed).sample(facts, SAMPLE)
    shown = passages(view)
    in_view = found = stale = false = changed = 0
    for fact in asked:
        here = any(states(one, fact, fact.current) for one in shown)
        page = contender.search(fact.question)
        hits = [] if page is None else [one for one in _PASSAGE.split(page) if one.strip()]
        current = [one for one in (*shown, *hits) if states(one, fact, fact.current)]
        in_view += here
        found += bool(current)
        false += any(MARK in one and not any(states(one, fact, old) for old in fact.values[:-1]) for one in current)
        if len(fact.values) > 1:
            changed += 1
            stale += misled(shown, fact) or misled(hits[:1], fact)
    rules = [fact for fact in facts if fact.is_rule]
    kept = sum(any(states(one, fact, fact.current) for one in shown) for fact in rules)
    number = len(asked)
    return Found(
        percent(in_view, number), percent(found, number), percent(stale, changed), percent(false, number),
        percent(kept, len(rules)), tokens(view),
    )  # fmt: skip


def percent(some: int, of: int) -> float:
    """Return a share in percent; of nothing it is 0."""
    return 100 * some / max(1, of)


def run(contender: Contender, lengths: Sequence[int], seed: int) -> list[tuple[int, Found, list[Message]]]:
    """Hold the conversation, and measure at each length."""
    rows: list[tuple[int, Found, list[Message]]] = []
    facts: dict[int, Fact] = {}
    contender.add({"role": "system", "content": "You are a helpful assistant who remembers what the user says."})
    for number, turn in enumerate(conversation(max(lengths), seed), 1):
        if turn.fact is not None:
            facts[id(turn.fact)] = turn.fact
        contender.add({"role": "user", "content": turn.user})
        view = contender.view()
        contender.add({"role": "assistant", "content": turn.assistant})
        if number in lengths:
            rows.append((number, measure(contender, view, list(facts.values()), seed), view))
    return rows


def made(name: str, budget: int, folder: Path) -> Contender:
    """Return a contender by its name."""
    if name == "ours":
        return Ours(budget)
    return Window(budget) if name == "window" else Theirs(peer(name), budget, folder)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budgets", type=int, nargs="+", default=[2_000, 4_000, 8_000])
    parser.add_argument("--lengths", type=int, nargs="+", default=[500, 2_000, 5_000])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="ours,window", help=f"of ours, window, {', '.join(PEERS)}")
    parser.add_argument("--show", type=Path, help="a folder for the last view of each run")
    given = parser.parse_args()
    print("who              budget statements in view  found  stale  false  rules tokens")
    for name in given.only.split(","):
        for budget in given.budgets:
            with tempfile.TemporaryDirectory() as folder:
                rows = run(made(name, budget, Path(folder)), given.lengths, given.seed)
            for length, found, view in rows:
                shares = " ".join(f"{one:>6.1f}" for one in found[:-1])
                print(f"{name:<16} {budget:>6} {length:>10}  {shares} {found.tokens:>6}", flush=True)
                if given.show:
                    given.show.mkdir(parents=True, exist_ok=True)
                    text = "\n".join(f"## {one['role']}\n{plain(one['content'])}" for one in view)
                    (given.show / f"{name}-{budget}-{length}.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
