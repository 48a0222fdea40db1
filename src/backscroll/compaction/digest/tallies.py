"""Merge the lines of turns: what the agent did there, tool by tool, with how often."""

import re
from collections import Counter
from collections.abc import Iterable

from backscroll.history.plan import DigestLine

_TURNS = "turns: "
SAID_ONCE = f"{_TURNS}said x1"  # in place of a turn that repeats what a user replaced
_TALLY = re.compile(r"turns: [^,]+ x\d+(?:, [^,]+ x\d+)*")


def merged(one: DigestLine, other: DigestLine) -> DigestLine:
    """Return one line for the turns of two."""
    counts = tally((one.text, other.text))
    return one._replace(last=other.last, text=_TURNS + ", ".join(f"{name} x{n}" for name, n in counts.items()))


def tally(turns: Iterable[str]) -> Counter[str]:
    """Count what was done in turns, one by one or merged."""
    counts: Counter[str] = Counter()
    for text in turns:
        if _TALLY.fullmatch(text):
            for item in text.removeprefix(_TURNS).split(", "):
                name, _, number = item.rpartition(" x")
                counts[name] += int(number)
        else:
            counts.update(_doings(text))
    return counts


def _doings(turn: str) -> list[str]:
    """Return the tools that a turn's line names."""
    names = [call.partition("(")[0] for call in turn.split(" | ")]
    return [name if name.replace("-", "_").isidentifier() else "said" for name in names]
