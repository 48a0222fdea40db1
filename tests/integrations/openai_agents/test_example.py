"""The example runs as it is, and says what happened."""

import pytest

from tests.integrations.example_runs import FOUND, run_example


@pytest.mark.long
def test_the_example_compacts_and_looks_up_what_it_read_first(tmp_path):
    printed = run_example("openai_agents_agent.py", tmp_path, "--budget", "9000")
    figures = printed.figures
    assert figures["items kept"] == 21 * 4 + 4
    assert figures["messages in a request"] < 60
    assert figures["compactions"] >= 2
    assert figures["tokens in a request"] <= 9_000
    assert 2 * figures["longest request"] < figures["without compaction"]
    assert printed.output.endswith(FOUND)
