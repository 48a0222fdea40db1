"""Choose the checks whose outcome still says something: the newest of each, without failures that were repaired."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from backscroll.history.ledger import Fact

_FAMILIES = {
    "test": "test", "spec": "test", "jest": "test", "vitest": "test", "tox": "test", "nox": "test",
    "lint": "lint", "ruff": "lint", "clippy": "lint", "vet": "lint", "biome": "lint", "flake": "lint",
    "type": "type", "tsc": "type", "mypy": "type", "pyright": "type",
    "fmt": "format", "format": "format", "prettier": "format",
    "build": "build", "compile": "build", "check": "check", "verify": "check", "validate": "check",
}  # fmt: skip  # one table
"""Words in a command, by what is checked."""
_FORMATS = re.compile(r"\b(?:fmt|format)\b|--(?:fix|write)\b|:fix\b")
_TARGET = re.compile(r"(?:^|/)[\w.@-]+\.\w{1,5}(?:::.*)?$|/|^\.\w")
_PART = re.compile(r"(?:test|lint|check|build|spec)[\w-]*:[\w:-]+")
_FILTERS = re.compile(
    r"\s(?:-run|-k|-t|-m|--grep|--filter|--test|--testNamePattern|-only)[\s=]\s*(\"[^\"]*\"|'[^']*'|\S+)"
)
NOT_RUN = re.compile(
    r"\b(?:cd|pushd):|command not found|not recognized as|unrecognized subcommand|\[setup failed\]|no such task|"
    r"[Mm]issing script|No rule to make target|file or directory not found:|can't open file"
)
"""How a check ended that did not even begin: in a wrong folder, or by a name that is not there. It says nothing of the
work.
"""
_BUILDS = ("go ", "cargo ", "mvn ", "gradle ", "./gradlew ", "dotnet ", "swift ", "make ")
"""Programs whose tests need a build: once tests pass, the build does."""


class Check(NamedTuple):
    """A check, and what overtook it."""

    fact: Fact
    passed_by: str = ""
    """A later check of the whole project, which passed: the failure may be past."""


def open_checks(checks: Sequence[Fact], changed: Sequence[Fact], committed: int) -> list[Check]:
    """Return the checks to name, oldest first.

    Args:
        checks: The newest run of each command, oldest first.
        changed: Facts of the files that were changed.
        committed: Where the newest commit is; -1 without one.
    """
    newest = max((fact.seq for fact in changed), default=-1)
    kept: list[Check] = []
    for number, check in enumerate(checks):
        later = checks[number + 1 :]
        if check.failed:
            passed = [each for each in later if not each.failed]
            if not repaired(check, passed):
                kept.append(Check(check, next((each.text for each in reversed(passed) if _doubts(each)), "")))
            continue
        overtaken = newest > check.seq
        if overtaken and (check.seq < committed or _FORMATS.search(check.text)):
            continue
        if not any(_covers(each, check) for each in later):
            kept.append(Check(check))
    return kept


def _families(check: Fact) -> set[str]:
    words = re.findall(r"[a-z]+", check.text.lower())
    return {family for word in words for known, family in _FAMILIES.items() if known in word}


def _scope(check: Fact) -> tuple[set[str], set[str]]:
    """Return the files or folders that a check names, and by which tests it is narrowed."""
    line = check.text.split(" | ", 1)[0]
    filters = {found.strip("\"'") for found in _FILTERS.findall(line)}
    rest = [word.strip("\"'") for word in _FILTERS.sub(" ", line).split()[1:] if not word.startswith("-")]
    parts = {word for word in rest if _PART.fullmatch(word)}  # `test:unit` is not all of `test`
    targets = {word for word in rest if _TARGET.search(word) and word not in parts}
    return targets - {"./...", ".", "./"}, filters | parts


def _covers(later: Fact, check: Fact) -> bool:
    """Return whether a later check is of the same kind and tests all that an earlier one does."""
    one = _families(check)
    return later.key == check.key or (bool(one) and one <= _families(later) and _reaches(later, check))


def _reaches(later: Fact, check: Fact) -> bool:
    """Return whether all that a check tests is in what a later one tests."""
    targets, filters = _scope(later)
    of_check, of_filters = _scope(check)
    inside = bool(of_check) and all(any(_inside(each, target) for target in targets) for each in of_check)
    return (inside or not targets) and (not filters or filters == of_filters)


def _inside(path: str, folder: str) -> bool:
    folder = folder.removesuffix("...").rstrip("/")
    return path == folder or path.startswith((f"{folder}/", f"{folder}::"))


def repaired(failed: Fact, passed: Sequence[Fact]) -> bool:
    """Return whether later checks that passed make the failure of one past: each kind in it passed since."""
    left = _families(failed)
    for each in passed:
        if each.key == failed.key:
            return True
        if _reaches(each, failed):
            found = _families(each)
            same = each.text.split()[:1] == failed.text.split()[:1]
            left = left - found - ({"build"} if same and "test" in found and failed.text.startswith(_BUILDS) else set())
            if not left:
                return bool(_families(failed))
    return False


def _doubts(later: Fact) -> bool:
    """Return whether a check tests all of the project, so that a failure of another may be past once it passes."""
    return not any(_scope(later)) and bool({"test", "build", "check"} & _families(later))
