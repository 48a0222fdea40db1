"""Compare a plan with what was changed: a step whose files were not changed is not done, even if the report says so."""

import re
from collections.abc import Sequence

from backscroll.history.ledger import Fact

_STEP = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(.+)$", re.MULTILINE)
_EXAMPLE = re.compile(r"\b(?:examples?|e\.g\.|such as|for instance)(?:\W|$)", re.IGNORECASE)
_FILE = re.compile(r"[\w./@-]*\w\.(?!\d)\w{1,5}\b")


def steps_with_files(text: str) -> list[str]:
    """Return the steps of a list in Markdown that name files."""
    steps = [found[1].strip() for found in _STEP.finditer(text)]
    return [step for step in steps if _FILE.search(step) and not _EXAMPLE.search(step)]


def undone(plan: str, changed: Sequence[Fact], *, begun: bool = False) -> list[str]:
    """Return the steps of a plan that name files, none of which was changed.

    Args:
        plan: The plan: a list, in Markdown.
        changed: Facts of the files that were changed.
        begun: Return none unless another step is done: a list of a request that the work does not follow is no plan.
    """
    names = {fact.key.rpartition("/")[2] for fact in changed}
    if not names:
        return []
    steps = [found[1].strip() for found in _STEP.finditer(plan)]
    files = [{each.rpartition("/")[2] for each in _FILE.findall(step)} for step in steps]
    if begun and not any(named & names for named in files):
        return []
    return [step for step, named in zip(steps, files, strict=True) if named and not named & names]
