"""The contract of a store as a test suite that any implementation can run.

    report = check_store(lambda: MyStore(new_place()), reopen=lambda: MyStore(the_same_place))

`CHECKS` holds all checks, so that each can be a test of its own. Each check takes the same two functions: `make`
returns a new, empty store, and `reopen` opens again what `make` returned last. A check returns `None` if the store
passed it, or says which capability is absent: a capability that a store does not claim never counts as passed. Needs no
test framework.

- `single_writer.py`: what every store does for a single caller; `concurrent.py`: for several threads at once
- `capabilities.py`: the capabilities that a store may claim
- `helpers.py`: what the checks share
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
    """Result of a run: names of the checks passed, and the reason for each that did not apply."""

    passed: tuple[str, ...]
    absent: dict[str, str]


def check_store(make: Make, *, reopen: Make | None = None) -> Report:
    """Run every check.

    Args:
        make: returns a new, empty store.
        reopen: opens again what `make` returned last. `None`: checks that need it are absent.

    Raises:
        AssertionError: at the first check that the store fails.
    """
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
