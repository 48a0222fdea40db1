"""Writes what the tests of this folder compare with."""

import json
import warnings
from pathlib import Path

from tests.builders import DIALECTS
from tests.frozen.sessions import BUDGETS, SEEDS, frozen
from tests.frozen.tracing import steps

HERE = Path(__file__).parent


def main() -> None:
    """All files, sorted, so that a change can be read in its difference."""
    found = {
        f"{dialect}/{seed}/{budget}": frozen(dialect, seed, budget).hashes()
        for dialect in DIALECTS for seed in SEEDS for budget in BUDGETS
    }  # fmt: skip  # one thought
    for name in ("views", "events", "stored"):
        hashes = {session: each[name] for session, each in found.items()}
        (HERE / f"{name}.json").write_text(json.dumps(hashes, indent=1) + "\n", "utf-8")
    (HERE / "steps.json").write_text(json.dumps(steps(), indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
