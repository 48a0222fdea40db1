"""The same jobs on a local Ray. In a process of its own, which Ray's threads and files end with."""

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.cli.commands import as_lines, conversation
from tests.evaluation.comparing import shown

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed: pip install 'backscroll[ray]'")


@needs_ray
@pytest.mark.long
def test_a_local_ray_gives_the_same_figures(tmp_path):
    for number in range(2):
        (tmp_path / f"{number}.jsonl").write_text(as_lines(conversation(8, 300)))
    line = [sys.executable, "-m", "backscroll.cli.main", "compare", str(tmp_path), "--budget", "2k", "--json"]
    done = subprocess.run(
        [*line, "--jobs", "2", "--strategies", "auto,truncate", "--ray"],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    alone = shown(tmp_path, "--budget", "2k", "--strategies", "auto,truncate")
    for one, other in zip(json.loads(done.stdout)["rows"], alone["rows"], strict=True):
        assert {**one, "milliseconds": 0} == {**other, "milliseconds": 0}
