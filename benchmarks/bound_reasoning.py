"""A loop of tools with signed thinking in every step, on a model that binds reasoning and on one that does not.

    python benchmarks/bound_reasoning.py [--steps 60] [--budgets 8000,16000,32000,200000]

Each view is sent to a fake of Anthropic's API that refuses reasoning behind an edited prefix. A line gives, for a
budget: requests refused; compactions; the share of reasoning tokens in the requests of those that an unmanaged
conversation would send; and the cost of all requests in millions of input token equivalents, at the default prices of
`CachePricing`. Exit code 1 if a request was refused.
"""

import argparse
import random
import sys
import warnings
from typing import Any, NamedTuple

from backscroll import CachePricing, ContextManager
from backscroll.evaluation.fake_providers import FakeAnthropic, FakeProviderError, Reply, reply

BINDS, DOES_NOT_BIND = "claude-opus-5-5", "claude-opus-5"
STRICT = {
    "thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"}},
    "betas": ["thinking-binding-controls-2026-08-01"],
}
Message = dict[str, Any]


class Line(NamedTuple):
    """What came of one loop."""

    refused: int
    compactions: int
    kept: float
    """Share of the reasoning tokens."""
    cost: float
    """Millions of input token equivalents."""


def tokens(value: Any) -> int:
    """Tokens of a message by a quarter of its characters."""
    return len(str(value)) // 4


def is_thought(block: Any) -> bool:
    """Whether a content block is thinking."""
    return isinstance(block, dict) and block.get("type") == "thinking"


def thought(message: Message) -> int:
    """Tokens of the thinking in a message."""
    content = message["content"]
    return sum(tokens(block) for block in content if is_thought(block)) if isinstance(content, list) else 0


def loop(model: str, budget: int, steps: int) -> Line:
    """Work through the loop."""
    rng = random.Random(7)
    names = [f"item_{number}" for number in range(2_000)]

    def said(count: int) -> str:
        return " ".join(rng.choices(names, k=count))

    def answer(_: Any) -> Reply:
        return reply(said(20), thinking=said(60), calls=[("read", {"path": f"src/{said(1)}.py"})])

    provider, prices = FakeAnthropic(model=model, replies=answer), CachePricing()
    manager = ContextManager(model=model, budget=budget)
    manager.append({"role": "user", "content": "Go through all files. Never edit prod.yaml."})
    refused = shown = unmanaged = 0
    cost, before = 0.0, list[Message]()
    for _ in range(steps):
        view = manager.get_messages_for_request()
        try:
            response = provider.create(messages=view, **STRICT)
        except FakeProviderError:
            refused += 1
            bare = [message if thought(message) == 0 else _without_thought(message) for message in view]
            response = provider.create(messages=bare, **STRICT)
        same = next((at for at, (one, other) in enumerate(zip(view, before, strict=False)) if one != other), len(before))
        cost += prices.cost(sum(map(tokens, view)), sum(map(tokens, view[:same])))
        shown += sum(map(thought, view))
        unmanaged += sum(map(thought, manager.get_messages()))
        before = view
        manager.append({"role": "assistant", "content": response["content"]})
        result = {"type": "tool_result", "tool_use_id": response["content"][-1]["id"], "content": said(150)}
        manager.append({"role": "user", "content": [result]})
    usage = manager.usage()
    assert usage is not None
    return Line(refused, usage.compactions, shown / max(1, unmanaged), cost)


def _without_thought(message: Message) -> Message:
    return {**message, "content": [block for block in message["content"] if not is_thought(block)]}


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--budgets", default="8000,16000,32000,200000")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'budget':>8}  {'model':<16} {'refused':>7} {'compactions':>11} {'reasoning kept':>14} {'cost':>8}")
    refused = 0
    for budget in map(int, options.budgets.split(",")):
        for model in (BINDS, DOES_NOT_BIND):
            line = loop(model, budget, options.steps)
            refused += line.refused
            print(
                f"{budget:>8,}  {model:<16} {line.refused:>7} {line.compactions:>11} {line.kept:>14.0%} {line.cost:>8.3f}"
            )
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
