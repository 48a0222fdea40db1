"""Promise 8: an acknowledged change on a durable store survives a process that dies.

`tests/stores` and `tests/fuzzing` kill processes and cut the power.
"""

import shutil
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.builders import ASK, BUDGETS, conversations, feed, session_with_both_triggers
from tests.profiles import examples


@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.too_slow])
@given(conversations(), BUDGETS, ASK, st.integers(0, 40))
def test_8_what_was_acknowledged_survives_a_process_that_dies(messages, budget, ask, dies_at):
    with TemporaryDirectory() as folder, TemporaryDirectory() as disk:
        watched, seen = session_with_both_triggers(session="s", store=f"sqlite:///{folder}/s.db"), []

        def step(so_far: list[Any]) -> None:
            view = watched.view(budget)
            if len(seen) <= dies_at:  # what the disk holds at this moment is all that the next process gets
                shutil.copytree(folder, disk, dirs_exist_ok=True)
                seen.append((list(so_far), view))

        feed(messages, ask, step, watched)
        watched.manager.close()
        if seen:
            kept, view = seen[-1]
            resumed = session_with_both_triggers(session="s", store=f"sqlite:///{disk}/s.db")
            assert resumed.manager.get_messages() == kept
            assert resumed.view(budget) == view
