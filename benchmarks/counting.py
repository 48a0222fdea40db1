"""Measures the CPU time of counting a million characters of anything by each engine. Nothing else may live here.

    python benchmarks/counting.py [--size 1000000] [--text FILE]

Prints CPU seconds, and the ratio to agent text, for every text and every engine that is available; FILE replaces the
made-up agent text. Exit code 1 if the default tokenizer takes a second or more on any text: the promise is linear time.
"""

import argparse
import base64
import random
import sys
import time
import warnings
from pathlib import Path

from backscroll.ports import Tokenizer
from backscroll.tokens.engines import resolve

LIMIT = 1.0
"""CPU seconds that the default tokenizer may take for a text of the default size."""

AGENT_TURN = """I'll look at the failing test first, then at the code that it covers.
{"name": "run", "arguments": {"command": "pytest tests/test_orders.py -q", "timeout": 120}}
============================= test session starts ==============================
tests/test_orders.py ..F.....                                            [ 41%]
E       AssertionError: assert Decimal('19.90') == Decimal('17.91')
src/shop/orders.py:214: in total
    def total(self, discount: Decimal = ZERO) -> Decimal:
        return sum((line.price * line.quantity for line in self.lines), ZERO) - discount
"""


def samples(size: int, agent_text: str) -> dict[str, str]:
    """The texts by name, each of `size` characters; agent text is the first."""
    rng = random.Random(1)
    parts = {
        "agent text": agent_text or AGENT_TURN,
        "spaces": " ",
        "tabs": "\t",
        "letter a": "a",
        "equals signs": "=",
        "newlines": "\n",
        "emoji": "😀",
        "CJK": "上下文窗口满了需要压缩",
        "mixed": " \t\n=a上😀",
        "surrogates": "\ud800",
    }
    texts = {name: (part * (size // len(part) + 1))[:size] for name, part in parts.items()}
    return texts | {"base64": base64.b64encode(rng.randbytes(size)).decode()[:size]}


def engines() -> dict[str, Tokenizer]:
    """The tokenizers by name; those that would only fall back to the estimator are left out."""
    found: dict[str, Tokenizer] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a missing engine is no surprise here
        for name in ("auto", "tiktoken", "estimate"):
            tokenizer = resolve(name)
            if tokenizer.exact or name == "estimate":
                found[name] = tokenizer
    return found


def cpu_seconds(tokenizer: Tokenizer, text: str) -> float:
    """CPU time of one count."""
    start = time.process_time()
    tokenizer.count(text)
    return time.process_time() - start


def main() -> int:
    """Measure, print, and answer the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=1_000_000, help="characters in each text")
    parser.add_argument("--text", type=Path, help="a file to take as agent text")
    options = parser.parse_args()
    agent_text = options.text.read_text(encoding="utf-8", errors="replace") if options.text else ""
    texts = samples(options.size, agent_text)
    too_slow = False
    for name, tokenizer in engines().items():
        print(f"\n{name} ({tokenizer.name})\n{'text':14}{'tokens':>10}{'seconds':>9}{'ratio':>8}")
        base = 0.0
        for kind, text in texts.items():
            seconds = cpu_seconds(tokenizer, text)
            base = base or seconds or 1e-9
            slow = name == "auto" and seconds >= LIMIT
            too_slow |= slow
            verdict = "  TOO SLOW" if slow else ""
            print(f"{kind:14}{tokenizer.count(text):10}{seconds:9.3f}{seconds / base:8.2f}{verdict}")
    return 1 if too_slow else 0


if __name__ == "__main__":
    sys.exit(main())
