"""Promise 9: a step costs the same at any length of the history."""

from functools import partial
from typing import Any

import pytest

from tests.builders import MessageFactory, session_with_both_triggers
from tests.calls import calls_of
from tests.fakes import RecordingSession
from tests.long_run import usually
from tests.profiles import THOROUGH


def _step(watched: RecordingSession, message: dict[str, Any]) -> None:
    watched.manager.append(message)
    watched.view(4_000)


@pytest.mark.parametrize("length", usually([("openai", 13_000), ("openai", 14_000), ("anthropic", 14_000)], 1))
def test_9_a_step_costs_the_same_at_any_length(length):
    dialect, usual = length
    talk, watched, counted = MessageFactory(dialect), session_with_both_triggers(), {}
    watched.manager.append(talk.say("user", "begin"))
    end = 16_000 if THOROUGH else usual
    for number in range(10_000, end):  # numbers of one length all along, so that all messages weigh alike
        call = talk.call([f"c{number}"], "look", {"path": f"file {number}"})
        watched.manager.append(call)
        (result,) = talk.results([(f"c{number}", f"line {number} " * 40)])
        step = partial(_step, watched, result)
        if 11_600 <= number < 12_000 or number >= end - 400:  # the digest has filled its quarter by then
            counted[number] = calls_of(step)
        else:
            step()
    early, late = ([calls for number, calls in counted.items() if (number < 12_000) == at] for at in (True, False))
    assert len(early) == len(late) == 400
    assert sum(late) <= 1.1 * sum(early)
    assert len(watched.manager._session.lanes["main"].plan.edits) < 200
