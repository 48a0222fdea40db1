"""Which real transcripts were judged, chosen by a seed: one of each kind of recording, and nine more."""

import random
from pathlib import Path

from backscroll.errors import TranscriptError
from backscroll.evaluation.compare.pricing import TARIFFS
from backscroll.evaluation.folders import files
from backscroll.evaluation.lint import Costs, Finding, Talk, lint_all, talks_of
from backscroll.tokens.engines import resolve

SEED, IN_ALL = 24, 20


def chosen(folder: Path) -> list[Talk]:
    """The transcripts. Files that other programs wrote are of the kind of their program."""
    kinds: dict[str, list[Talk]] = {}
    for path in files(folder):
        try:
            talks = talks_of(path, path.relative_to(folder).as_posix())
        except TranscriptError:
            continue  # lists of words, and the manifest
        own = path.name.partition("-")[0] if path.parent.name == "native" else ""
        kinds.setdefault(f"{path.parent.name} {own}", []).extend(talks)
    pick = random.Random(SEED)
    found = [pick.choice(kinds[kind]) for kind in sorted(kinds)]
    rest = [talk for kind in sorted(kinds) for talk in kinds[kind] if talk not in found]
    return [*found, *pick.sample(rest, IN_ALL - len(found))]


def findings(talks: list[Talk]) -> list[Finding]:
    """What the command finds in them."""
    costs = Costs(resolve("o200k_base").count, TARIFFS["anthropic"])
    return [each for found in lint_all(talks, costs) for each in found]
