"""The example runs as it stands, in windows of several sizes, and tells what happened."""

import pytest

from tests.integrations.example_runs import FOUND, run_example


@pytest.mark.long
@pytest.mark.parametrize("window", [9_000])
def test_the_example_compacts_and_looks_up_what_it_read_first(window, tmp_path):
    printed = run_example("strands_agent.py", tmp_path, "--window", str(window))
    figures = printed.figures
    assert figures["messages kept"] == 21 * 4 + 4
    assert figures["messages in a request"] < 60
    assert figures["compactions"] >= 2
    assert figures["longest request"] <= window < figures["without compaction"]
    assert printed.values["messages untouched"] == "yes"
    assert printed.output.endswith(FOUND)
