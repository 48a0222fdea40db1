"""The example runs as it is, and says what happened."""

from tests.integrations.example_runs import FOUND, run_example
from tests.integrations.litellm import OURS

WINDOW = 9_000
pytestmark = OURS


def test_the_example_compacts_and_looks_up_what_it_read_first(tmp_path):
    printed = run_example("litellm_agent.py", tmp_path, "--window", str(WINDOW), warnings="default")
    figures = printed.figures
    assert figures["messages kept"] == 22 * 4 + 1
    assert figures["messages in a request"] < 60
    assert figures["compactions"] >= 2
    assert figures["longest request"] <= WINDOW < figures["without compaction"]
    assert printed.values["messages untouched"] == "yes"
    assert printed.output.endswith(FOUND)
