"""Processes that are killed while they write: `BACKSCROLL_FAULTS=1000` for a thousand sessions."""

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.fuzzing.killing import LEAST
from tests.stores.running import FAULTS, ROOT


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork") or not hasattr(signal, "SIGKILL"), reason="a system without fork or kill")
def test_killed_sessions_keep_what_was_acknowledged(tmp_path):
    """Nothing that `append` answered is lost, nothing is there by half, and the next view is what a provider takes."""
    sessions = FAULTS or 3
    line = [sys.executable, "-m", "tests.fuzzing.killing", str(tmp_path), str(sessions), "1"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=300 + 10 * FAULTS, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert told["wrong"] == []
    assert told["sessions"] == sessions
    assert told["acknowledged"] >= LEAST * sessions
    assert told["kills"] >= 2 * sessions
