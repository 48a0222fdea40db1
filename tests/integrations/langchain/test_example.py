"""The example runs, in a small window, and reports what happened."""

import pytest

from tests.integrations.example_runs import FOUND, run_example


@pytest.mark.long
def test_the_example_compacts_and_looks_up_what_it_read_first(tmp_path):
    printed = run_example("langchain_agent.py", tmp_path, "--window", "9000")
    figures = printed.figures
    assert figures["messages kept"] == 22 * 4
    assert figures["messages in a request"] < 60
    assert 0 < figures["tokens in a request"] <= 9_000
    assert figures["compactions"] >= 2
    assert printed.values["state untouched"] == "yes"
    assert printed.output.endswith(FOUND)
