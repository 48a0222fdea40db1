"""The public types as users see them: complete for every type checker, and strict enough to catch mistakes.

`make check` runs these; they take too long for `make test`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.long

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent
INCOMPLETE = {
    "backscroll.integrations.*.error": "the name of an `except` clause, which Python deletes at its end",
    "backscroll.stores.postgres.driver.error": "likewise",
    "backscroll.integrations.litellm.*": "LiteLLM's classes are their bases, and it has an environment of its own",
    "backscroll.stores.sqlite.jobs.*": "the jobs of the writer's thread, which no user makes, have the types of `Job`",
}
"""Symbols whose types may be incomplete, each with its reason. This list only shrinks."""


def run(*command: str, folder: Path) -> str:
    """What a checker prints, with this environment first in the path: `--verifytypes` looks for no other."""
    environment = {**os.environ, "PATH": os.pathsep.join([str(BIN), os.environ.get("PATH", "")])}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=240,
        check=False,
    )  # fmt: skip
    assert done.stdout, done.stderr
    return done.stdout


def test_every_public_type_is_complete_or_has_its_reason(tmp_path: Path) -> None:
    found = json.loads(
        run("basedpyright", "--verifytypes", "backscroll", "--ignoreexternal", "--outputjson", folder=tmp_path)
    )
    symbols: list[dict[str, Any]] = found["typeCompleteness"]["symbols"]
    assert len(symbols) > 5_000, "the package was found"
    left = {each["name"] for each in symbols if not each["isTypeKnown"] or each["isTypeAmbiguous"]}
    assert sorted(name for name in left if not any(fnmatch(name, known) for known in INCOMPLETE)) == []
    assert [known for known in INCOMPLETE if not any(fnmatch(name, known) for name in left)] == [], "no longer needed"


def rejected(name: str) -> set[int]:
    """The lines that a file marks as mistakes."""
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("# rejected")}


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The files in a folder of their own, where no setting of this project holds."""
    for path in (*HERE.glob("*.py"), HERE / "pyrightconfig.json"):
        shutil.copy(path, tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["user_code.py", "mistakes.py"])
def test_mypy_strict_rejects_mistakes_alone(copied: Path, name: str) -> None:
    printed = run("mypy", "--strict", "--config-file=", name, folder=copied)
    lines = {int(number) for number in re.findall(rf"^{name}:(\d+): error", printed, re.MULTILINE)}
    assert lines == rejected(name), printed


@pytest.mark.parametrize("name", ["user_code.py", "mistakes.py"])
def test_pyright_standard_rejects_mistakes_alone(copied: Path, name: str) -> None:
    found = json.loads(run("basedpyright", "--pythonpath", sys.executable, "--outputjson", name, folder=copied))
    errors = [each for each in found["generalDiagnostics"] if each["severity"] == "error"]
    assert {each["range"]["start"]["line"] + 1 for each in errors} == rejected(name), errors
