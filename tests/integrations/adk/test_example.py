"""The example runs without a key, and says what happened."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.long
def test_the_example_compacts_and_recalls_what_it_read_first(tmp_path):
    command = [sys.executable, "-W", "error", str(ROOT / "examples/adk_agent.py"), "--window", "9000"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    said = dict(re.findall(r"^(\w[\w ]*?) {2,}(\S.*)$", done.stdout, re.MULTILINE))
    figures = {name: int(re.sub(r"\D.*", "", value.replace(",", "")) or 0) for name, value in said.items()}
    assert figures["events kept"] == 21 * 4 + 4
    assert figures["contents in a request"] < 60
    assert figures["compactions"] >= 2
    assert figures["longest request"] <= 9_000 < figures["without compaction"]
    assert said["events untouched"] == "yes"
    assert "It says: def test_an_output_without_a_window" in done.stdout
