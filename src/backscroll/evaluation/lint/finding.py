"""What a rule is, and what it finds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from backscroll.evaluation.lint.costs import Costs
from backscroll.evaluation.lint.place import Place
from backscroll.evaluation.lint.talk import Talk

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""The worst first. `error`: a provider refuses the request, or a secret is out. `warning`: it costs money or reasoning.
`note`: worth a look.
"""


@dataclass(frozen=True, slots=True)
class Found:
    """What the check of one rule found."""

    place: Place
    what: str
    """One sentence without names of files."""
    tokens: int = 0
    """Tokens of one request that it concerns; 0 where the fault is none of size."""
    sent: int = 0
    """The same over the whole transcript."""
    cost: float = 0.0
    """What these cost over the whole transcript at cache prices, in input tokens."""
    count: int = 1
    """How often it occurs."""
    severity: Severity | None = None
    """`None`: that of the rule."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that can be wrong."""

    name: str
    """Stable, in kebab-case."""
    severity: Severity
    """What a finding is by default."""
    advice: str
    """What to do."""
    check: Callable[[Talk, Costs], Iterator[Found]]
    situations: tuple[str, ...] = ()
    """The odd situations of a history that it finds, such as `late_result`."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault of one conversation."""

    rule: str
    severity: Severity
    name: str
    """The conversation: a file or a session, with `#2` for the second one of a file."""
    place: Place
    what: str
    advice: str
    tokens: int
    """Tokens of one request that it concerns."""
    sent: int
    """The same over the whole transcript."""
    cost: float
    """What these cost over the whole transcript at cache prices, in input tokens."""
    count: int
    """How often it occurs; its place is that of the first or worst one."""
