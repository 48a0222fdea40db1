"""Which files mypy checks, and what it lets pass: every file of the project, strictly but for a list that shrinks."""

import os
import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MADE = {".git", ".venv", "build", "dist", "__pycache__", ".hypothesis", ".mypy_cache", ".ruff_cache", "node_modules"}
TOOLS: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
MYPY = TOOLS["mypy"]
WRONG_ON_PURPOSE = {"tests/typing/mistakes.py"}
"""`tests/typing` has mypy reject each of its lines."""
OF_TESTS = {"disallow_incomplete_defs", "disallow_untyped_calls", "disallow_untyped_defs", "warn_return_any"}
"""What strict mode has and tests may do without. pyproject.toml gives the reasons."""
RELAXED = {"tests.*": OF_TESTS | {"var-annotated"}}
"""Options and error codes that are off, by module. This list only shrinks."""


def python_files() -> set[str]:
    found = set()
    for folder, inner, names in os.walk(ROOT):
        inner[:] = [each for each in inner if each not in MADE]
        found |= {(Path(folder) / each).relative_to(ROOT).as_posix() for each in names if each.endswith(".py")}
    return found


def test_mypy_checks_every_file_of_the_project():
    assert MYPY["strict"] is True
    files = python_files()
    checked = {file for file in files if any(file.startswith(f"{folder}/") for folder in MYPY["files"])}
    assert files - checked == set()
    left_out = {file for file in files if any(re.search(pattern, file) for pattern in MYPY["exclude"])}
    assert left_out == WRONG_ON_PURPOSE


def relaxed() -> dict[str, set[str]]:
    """What the overrides turn off, by module, but for packages of others that ship no types."""
    found: dict[str, set[str]] = {}
    for override in MYPY["overrides"]:
        options = {name for name in override if name not in ("module", "ignore_missing_imports", "disable_error_code")}
        for module in override["module"]:
            off = options | set(override.get("disable_error_code", ()))
            if off:
                found.setdefault(module, set()).update(off)
    return found


def test_mypy_lets_no_more_pass_than_it_did():
    assert relaxed() == RELAXED, "where less is let pass, take it from the list; more is not added"
    assert set(MYPY) == {"strict", "enable_error_code", "files", "exclude", "mypy_path", "overrides"}


def test_what_tests_import_has_its_types():
    """Only test modules may leave annotations out: by those of helpers, mypy checks what tests do with them."""
    ignored = TOOLS["ruff"]["lint"]["per-file-ignores"]
    assert {files for files, rules in ignored.items() if "ANN" in rules and files.startswith("tests")} == {
        "tests/**/test_*.py"
    }
    assert "ANN" in TOOLS["ruff"]["lint"]["select"]
