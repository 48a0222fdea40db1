"""Someone else's validator, `tessera-transcript`, finds nothing in views, in the two dialects that it knows.

Where a history itself uses an id for two calls, or ends before a call is answered, its views do too. The first is no
fault: tessera pairs ids over a whole transcript, but recorded sessions of OpenAI's models use an id again in a later
turn, and went on.
"""

from collections import Counter
from itertools import islice

import pytest
import tessera
from hypothesis import given
from tessera import Defect

from backscroll import ContextManager
from backscroll.evaluation.dialects import calls, results
from backscroll.evaluation.readers import read
from backscroll.evaluation.run import steps
from backscroll.stores.memory import MemoryStore
from tests.builders import ASK, BUDGETS, MessageFactory, conversations, feed, session_with_both_triggers
from tests.long_run import usually
from tests.real import RECORDINGS, needs_recordings
from tests.session.worker import OPTIONS, Worker

DIALECTS = ["openai", "anthropic"]
REPEATED = {Defect.DUPLICATE_CALL_ID, Defect.DUPLICATE_RESULT}


def waiting(history):
    """Ids of the last calls that nothing has answered yet: no request is made before that."""
    at = max((at for at, message in enumerate(history) if calls(message)), default=0)
    answered = {name for message in history[at:] for name in results(message)}
    return {call.id for message in history[at:] for call in calls(message)} - answered


def findings(view, history):
    """What is wrong with a view, and not with its history."""
    used = Counter(call.id for message in history for call in calls(message))
    return [
        found
        for found in tessera.inspect(view).findings
        if not (found.defect in REPEATED and used[found.call_id] > 1)
        and not (found.defect is Defect.DANGLING_CALL and found.call_id in waiting(history))
    ]


@pytest.mark.parametrize("work", usually([(1, 150), *((seed, 400) for seed in range(1, 6))], 1))
@pytest.mark.parametrize("dialect", DIALECTS)
def test_views_of_a_working_agent_are_valid(dialect, work):
    seed, steps = work

    class Small(Worker):
        options = OPTIONS | {"budget": 1_000 + 500 * seed}

    worker = Small(dialect, MemoryStore(), seed)
    for _ in range(steps):
        worker.step()
    assert len(worker.sent) == steps
    for view in worker.sent:
        assert tessera.inspect(view, adapter=dialect).findings == ()


@given(conversations(dialects=DIALECTS), BUDGETS, ASK)
def test_views_of_strange_histories_are_no_worse(messages, budget, ask):
    """Calls without results, results without calls, late ones, and ids that return."""
    watched = session_with_both_triggers()

    def check(so_far):
        view = watched.view(budget)
        if view is not None:
            assert findings(view, so_far) == []

    feed(messages, ask, check, watched)


@needs_recordings
@pytest.mark.filterwarnings("ignore:the digest of lane")
@pytest.mark.parametrize("budget", usually([4_000, 2_000, 16_000, 64_000], 1))
@pytest.mark.parametrize(
    "folder", usually(["entire-2", "copilot-2", "tau", "opencode-2", "sweagent", "entire", "codex-2"], 3)
)
def test_views_of_recorded_sessions_are_valid(folder, budget):
    number = 0
    for transcript in read(RECORDINGS / folder / "norm.jsonl")[:3]:
        with ContextManager(tokenizer="estimate") as manager:
            for step in islice(steps(transcript, manager, budget), 60):
                number += 1
                assert step.view is None or findings(step.view, transcript.messages[: step.before]) == []
    assert number


def test_validator_objects_to_halves_of_pairs():
    """A view without an answer that was given, and one without the call, are found."""
    talk = MessageFactory("anthropic")
    call, [result] = talk.call(["c1"], "I look.", {}), talk.results([("c1", "found")])
    history = [talk.say("user", "Look."), call, result]
    assert findings(history, history) == []
    assert [found.defect for found in findings(history[:2], history)] == [Defect.DANGLING_CALL]
    assert [found.defect for found in findings([history[0], result], history)] == [Defect.ORPHANED_RESULT]
