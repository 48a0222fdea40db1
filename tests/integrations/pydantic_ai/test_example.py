"""The example runs as it is, and prints what happened."""

import pytest

from tests.integrations.example_runs import FOUND, run_example


@pytest.mark.long
def test_the_example_compacts_and_looks_up_what_it_read_first(tmp_path):
    printed = run_example("pydantic_ai_agent.py", tmp_path, "--window", "15000")
    figures = printed.figures
    assert figures["messages kept"] == 21 * 4 + 4
    assert figures["messages in a request"] < 60
    assert figures["compactions"] >= 2
    assert printed.values["messages untouched"] == "yes"
    assert printed.output.endswith(FOUND)
