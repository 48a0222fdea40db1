"""A model of the fake providers that thinks before it calls tools."""

import random
from typing import Any

from backscroll.evaluation.fake_providers import Reply, reply


def thinker(seed: int) -> Any:
    """A model that thinks, calls `order` once or twice, and answers after a few steps."""
    chance, steps = random.Random(seed), iter(range(1_000))

    def answer(request: Any) -> Reply:
        step = next(steps)
        thoughts = [f"thought {step} " + "so and so " * chance.choice((5, 40))] * chance.choice((0, 1, 1))
        called = [("order", {"number": 10 * step + n}) for n in range(chance.choice((1, 1, 2)))]
        done = step % 12 == 11
        return reply(f"Step {step}." if done else "", thinking=thoughts, calls=[] if done else called)

    return answer
