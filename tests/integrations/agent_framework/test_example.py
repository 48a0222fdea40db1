"""The example runs without a key, and says what happened."""

import pytest

from tests.integrations.example_runs import run_example


@pytest.mark.long
def test_the_example_compacts_and_recalls_what_it_read_first(tmp_path):
    printed = run_example("agent_framework_agent.py", tmp_path, "--window", "9000")
    figures = printed.figures
    assert figures["messages kept"] == 21 * 4 + 4
    assert figures["messages in a request"] < 60
    assert figures["compactions"] >= 2
    assert figures["longest request"] <= 9_000 < figures["without compaction"]
    assert printed.values["messages untouched"] == "yes"
    assert "It says: def test_an_output_without_a_window" in printed.output
