"""A lane that is stored and restored equals itself, field by field, whatever the session did before."""

from dataclasses import fields
from types import MappingProxyType
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis.stateful import invariant

from backscroll import ContextManager
from backscroll.compaction.lane_state import LaneState
from backscroll.history.plan import Plan
from tests.profiles import examples
from tests.promises.session_machine import SessionMachine, quiet

OF_THE_PROCESS = frozenset((
    "around", "reported", "expired", "preparing", "native_tried", "view", "unlike_sent", "ends_with_answer", "healed",
    "last_compaction", "little", "media_left", "sent_messages", "shown", "handed_out_plan", "moved", "changed", "asked",
    "sent_before",
))  # fmt: skip  # a list of names
"""Fields that a reopened lane begins anew. One that is added is stored, or belongs in this list."""


def told(lane: LaneState) -> dict[str, Any]:
    """What a lane knows, by field."""
    known = {each.name: getattr(lane, each.name) for each in fields(lane) if each.name not in OF_THE_PROCESS}
    marked = {"sent_to": lane.sent_to if lane.marked else 0}  # without marks nobody needs it
    return known | marked | {"calibrator": lane.calibrator.snapshot(), "_before": list(lane._before)}


class LanesMachine(SessionMachine):
    """The session machine, with a look at each lane after each step. It clears old results before it compacts."""

    options = MappingProxyType({"clear_at_least_tokens": 150})

    @invariant()
    def lanes_are_restored(self) -> None:
        if not hasattr(self, "manager"):
            return
        session = self.manager._session
        for lane in session.lanes.values():
            again = session.make_lane(lane.name, lane.plan)
            again.restore(lane.snapshot())
            assert told(again) == told(lane)


TestLanes = quiet(LanesMachine.TestCase)
TestLanes.settings = settings(
    max_examples=examples(10), stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)


def test_no_two_numbers_are_exchanged():
    session = ContextManager()._session
    lane = session.make_lane("main", Plan(number=1))
    lane.marked = (1, 2)
    numbers = [each.name for each in fields(lane) if each.type in (int, int | None)]
    for value, name in enumerate(sorted(set(numbers) - OF_THE_PROCESS), 3):
        setattr(lane, name, value)
    again = session.make_lane("main", Plan(number=1))
    again.restore(lane.snapshot())
    assert told(again) == told(lane)
