"""The contract of a store as a suite that anybody can run on theirs. What a `Store` promises is checked here only.

    report = check_store(lambda: MyStore(new_place()), reopen=lambda: MyStore(the_same_place))

Or each check as a test of its own: `CHECKS` holds them all, and each takes the same two functions. `make` gives a new,
empty store; `reopen` opens once more what `make` gave last. A check answers None for a store that passed it, or says
what is absent: a capability that a store does not claim is never counted as passed. Needs no test framework.
"""

from dataclasses import dataclass

from backscroll.stores.conformance import capabilities as further
from backscroll.stores.conformance import concurrent as at_once
from backscroll.stores.conformance import single_writer as alone
from backscroll.stores.conformance.helpers import Check, Make, expect, failure, record, retried, same, stored, together

__all__ = [
    "CHECKS", "Check", "Make", "Report", "check_store", "expect", "failure", "record", "retried", "same", "stored",
    "together",
]  # fmt: skip  # names, nothing else


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a run: names of checks, and for what is absent the reason."""

    passed: tuple[str, ...]
    absent: dict[str, str]


def check_store(make: Make, *, reopen: Make | None = None) -> Report:
    """Runs every check. Raises AssertionError at the first thing that a store promises and this one does not do."""
    passed, absent = [], {}
    for check in CHECKS:
        try:
            missing = check(make, reopen)
        except AssertionError as error:
            error.add_note(f"in {check.__name__}: {check.__doc__}")
            raise
        if missing is None:
            passed.append(check.__name__)
        else:
            absent[check.__name__] = missing
    return Report(tuple(passed), absent)


CHECKS: tuple[Check, ...] = tuple(
    check for room in (alone, at_once, further) for name, check in vars(room).items() if name.startswith("check_")
)
