"""Runs an example as a user does, and reads the figures that it prints."""

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

_ROOT = Path(__file__).resolve().parents[2]
FOUND = "def test_an_output_without_a_window_is_taken_off_max_tokens(size: Any) -> None:"
"""How the answer of the agents that read this project ends."""


class Printed(NamedTuple):
    """What an example printed."""

    output: str
    values: dict[str, str]
    """Of each line with a name and a value, the value."""
    figures: dict[str, int]
    """The number that each value begins with; 0 for a text."""


def run_example(name: str, folder: Path, *options: str, warnings: str = "error") -> Printed:
    """Run an example of this name in a folder; it must neither fail nor warn.

    Args:
        name: The name of the file.
        folder: The working directory.
        options: Options of its command line.
        warnings: Python's option `-W`. Unless it is `error`, the example may print to stderr.
    """
    command = [sys.executable, "-W", warnings, str(_ROOT / "examples" / name), *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr if warnings == "error" else "") == (0, ""), done.stderr
    values = dict(re.findall(r"^(\w[\w ,]*?) {2,}(\S.*)$", done.stdout, re.MULTILINE))
    figures = {each: int(re.sub(r"\D.*", "", value.replace(",", "")) or 0) for each, value in values.items()}
    return Printed(done.stdout.rstrip(), values, figures)
