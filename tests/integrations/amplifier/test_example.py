"""The example session runs as it stands, in windows of several sizes, and tells what happened."""

import pytest

from tests.integrations.example_runs import run_example

pytestmark = pytest.mark.frameworks


@pytest.mark.parametrize(
    "window", [14_000, *(pytest.param(window, marks=pytest.mark.long) for window in (20_000, 40_000))]
)
def test_example_compacts_and_recalls_dropped_messages(window, tmp_path):
    """The example compacts and recalls what its requests no longer held."""
    printed = run_example("amplifier_session.py", tmp_path, "--window", str(window))
    figures = printed.figures
    assert figures["requests"] >= 60
    assert figures["compactions"] >= 3
    assert figures["tokens sent"] < 0.7 * figures["tokens without compaction"]
    assert figures["longest request, tokens"] <= window - 4_000
    assert figures["extend the one before"] >= 50
    assert figures["messages kept"] == 2 * figures["requests"], "each request brought an answer and a message before it"
    assert printed.values["line still in the request"] == "no"
    assert printed.output.endswith('It says: 3  build-backend = "hatchling.build"')
