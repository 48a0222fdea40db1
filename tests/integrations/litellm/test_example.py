"""The example runs as it is, and says what happened."""

import re
import subprocess
import sys
from pathlib import Path

from tests.integrations.litellm import OURS

EXAMPLE = Path(__file__).resolve().parents[3] / "examples/litellm_agent.py"
WINDOW = 9_000
pytestmark = OURS


def test_the_example_compacts_and_looks_up_what_it_read_first(tmp_path):
    command = [sys.executable, str(EXAMPLE), "--window", str(WINDOW)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    output = done.stdout
    said = dict(re.findall(r"^(\w[\w ]*?) {2,}(\S.*)$", output, re.MULTILINE))
    figures = {name: int(re.sub(r"\D.*", "", value.replace(",", "")) or 0) for name, value in said.items()}
    assert figures["messages kept"] == 22 * 4 + 1
    assert figures["messages in a request"] < 60
    assert figures["compactions"] >= 2
    assert figures["longest request"] <= WINDOW < figures["without compaction"]
    assert said["messages untouched"] == "yes"
    assert output.rstrip().endswith("def test_an_output_without_a_window_is_taken_off_max_tokens(size: Any) -> None:")
