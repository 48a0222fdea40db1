"""The example session runs as it stands, in windows of several sizes, and tells what happened."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    "window", [14_000, *(pytest.param(window, marks=pytest.mark.long) for window in (20_000, 40_000))]
)
def test_example_compacts_and_recalls_dropped_messages(window, tmp_path):
    """The example compacts and recalls what its requests no longer held."""
    command = [sys.executable, "-W", "error", str(ROOT / "examples/amplifier_session.py"), "--window", str(window)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    told = dict(re.findall(r"^(\w[\w ,]*?) {2,}(\S.*)$", done.stdout, re.MULTILINE))
    figures = {name: int(re.sub(r"\D.*", "", value.replace(",", "")) or 0) for name, value in told.items()}
    assert figures["requests"] >= 60
    assert figures["compactions"] >= 3
    assert figures["tokens sent"] < 0.7 * figures["tokens without compaction"]
    assert figures["longest request, tokens"] <= window - 4_000
    assert figures["extend the one before"] >= 50
    assert figures["messages kept"] == 2 * figures["requests"], "each request brought an answer and a message before it"
    assert told["line still in the request"] == "no"
    assert done.stdout.endswith('It says: 3  build-backend = "hatchling.build"\n')
