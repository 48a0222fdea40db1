"""What small views keep of a conversation without tools: facts that a user stated, corrected and asks for later.

    python benchmarks/chats.py [--budgets 4000 8000] [--lengths 500 2000 5000] [--seed 1 2 3] [--only ours,window]
        [--json build/chats.jsonl] [--write]

The conversation is made up (`chat_facts.py`): two messages a statement, a view before each answer. At each length every
sampled fact is looked up in the view and, where a contender ships a recall, with one call of it for the words of the
fact's question, one page.

- found: the newest value is in the view or in that page, in one passage (line) with its subject.
- stale: an older value is in the view as current, or the first passage of the page shows it, without a mark and
  without the newer value.
- false marks: the newest value is somewhere with a mark that says it was replaced.
- rules: the user's newest rules that are in the view.

`--only` takes `ours`, `window` (the newest messages that fit), `whole` (all messages, over the budget too), peers of
`peers/catalog.py` where they are installed, or `all`. `--json` keeps a line of figures for each, and measures only what
the file has not yet. `--write` puts the table of all its lines into `benchmarks/README.md`, and draws the plot.
"""

import argparse
import asyncio
import json
import random
import re
import tempfile
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from chat_facts import Fact, conversation
from peers.base import Message, Peer, plain
from peers.catalog import PEERS, peer
from peers.exact import of_message

SAMPLE = 400
"""Facts that are looked up at each length, drawn from all of them."""
ALL = (
    "ours", "window", "strands-auto", "strands-window", "langchain-summary", "langchain-trim", "langchain-clear",
    "contract", "whole",
)  # fmt: skip
STATELESS = {"window", "contract", "langchain-trim", "langchain-clear", "whole"}
"""Their views depend on the messages alone, so only those that are measured are made."""
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
    """Tokens of the view."""


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


class Kept:
    """Backscroll or a peer."""

    def __init__(self, kind: type[Peer], budget: int, folder: Path, stateless: bool) -> None:
        self._peer = kind(budget, folder)
        self._run = asyncio.new_event_loop().run_until_complete
        self._stateless, self._waiting = stateless, list[Any]()

    def add(self, message: Message) -> None:
        """Keep a message; without a state, together with all until the next view."""
        native = self._peer.read(message)
        if self._stateless and message["role"] != "system":
            self._waiting.append(native)
        else:
            self._run(self._peer.add(native))

    def view(self) -> list[Message]:
        """Return the view of the next request."""

        async def made() -> Sequence[Any]:
            if self._waiting:
                await self._peer.preload(self._waiting)
                self._waiting = []
            return await self._peer.view()

        return self._peer.written(self._run(made()))

    def search(self, question: str) -> str | None:
        """Return what one call of its own recall brings for a question; None where it ships none."""
        found = self._run(self._peer.recall(question))
        return None if found is None else found[2]


Contender = Kept | Window


def tokens(messages: Iterable[Message]) -> int:
    """Return the tokens of messages."""
    return sum(map(of_message, messages))


def passages(messages: Iterable[Message]) -> list[str]:
    """Return what a view shows, line by line: only digests and summaries have several."""
    return [line for message in messages for line in plain(message.get("content")).splitlines()]


def pages(answer: str) -> list[str]:
    """Return the passages of a recall's answer: hits, and what has none line by line."""
    return [one for one in _PASSAGE.split(answer) if one.strip()] if "[ref:" in answer else answer.splitlines()


def states(passage: str, fact: Fact, value: str) -> bool:
    """Return whether a passage names the fact's subject and the value, as whole words."""
    low = passage.lower()
    return all(word.lower() in low and _whole(word).search(passage) for word in (*fact.words, value))


@lru_cache(100_000)
def _whole(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)


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
        hits = [] if page is None else pages(page)
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


def run(
    contender: Contender, lengths: Sequence[int], seed: int, each: bool = True
) -> list[tuple[int, Found, list[Message]]]:
    """Hold the conversation, and measure at each length. `each`: with a view before each answer."""
    rows: list[tuple[int, Found, list[Message]]] = []
    facts: dict[int, Fact] = {}
    contender.add({"role": "system", "content": "You are a helpful assistant who remembers what the user says."})
    for number, turn in enumerate(conversation(max(lengths), seed), 1):
        if turn.fact is not None:
            facts[id(turn.fact)] = turn.fact
        contender.add({"role": "user", "content": turn.user})
        view = contender.view() if each or number in lengths else []
        contender.add({"role": "assistant", "content": turn.assistant})
        if number in lengths:
            rows.append((number, measure(contender, view, list(facts.values()), seed), view))
    return rows


def made(name: str, budget: int, folder: Path) -> Contender:
    """Return a contender by its name."""
    return Window(budget) if name == "window" else Kept(peer(name, judged=True), budget, folder, name in STATELESS)


def kept(file: Path | None) -> list[dict[str, Any]]:
    """Return the figures that a file has."""
    if file is None or not file.exists():
        return []
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def shown(folder: Path, name: str, view: list[Message]) -> None:
    """Write a view."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n".join(f"## {one['role']}\n{plain(one['content'])}" for one in view)
    (folder / f"{name}.txt").write_text(text, encoding="utf-8")


def measured(name: str, budget: int, seed: int, given: argparse.Namespace) -> None:
    """Measure a contender in one conversation, print its figures and keep them."""
    with tempfile.TemporaryDirectory() as folder:
        rows = run(made(name, budget, Path(folder)), given.lengths, seed, name not in STATELESS)
    for length, found, view in rows:
        shares = " ".join(f"{one:>6.1f}" for one in found[:-1])
        print(f"{name:<18} {budget:>6} {length:>10} {seed:>4}  {shares} {found.tokens:>6}", flush=True)
        if given.show:
            shown(given.show, f"{name}-{budget}-{length}-{seed}", view)
        if given.json:
            case = {"who": name, "budget": budget, "statements": length, "seed": seed}
            with given.json.open("a", encoding="utf-8") as file:
                file.write(json.dumps(case | found._asdict()) + "\n")


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budgets", type=int, nargs="+", default=[4_000, 8_000])
    parser.add_argument("--lengths", type=int, nargs="+", default=[500, 2_000, 5_000])
    parser.add_argument("--seed", type=int, nargs="+", default=[1])
    parser.add_argument("--only", default="ours,window", help=f"all, or of window, whole, {', '.join(PEERS)}")
    parser.add_argument("--show", type=Path, help="a folder for the last view of each run")
    parser.add_argument("--json", type=Path, help="a file of JSON lines for the figures")
    parser.add_argument("--write", action="store_true", help="the table and the plot of benchmarks/README.md")
    given = parser.parse_args()
    if given.write and given.json is None:
        parser.error("--write needs the figures of --json")
    print("who                budget statements seed in view  found  stale  false  rules tokens")
    there = {(row["who"], row["budget"], row["statements"], row["seed"]) for row in kept(given.json)}
    for seed in given.seed:
        for budget in given.budgets:
            for name in ALL if given.only == "all" else given.only.split(","):
                if not all((name, budget, length, seed) in there for length in given.lengths):
                    measured(name, budget, seed, given)
    if given.write:
        from chat_tables import write  # draws, which needs what the rest does without

        write(kept(given.json))


if __name__ == "__main__":
    main()
