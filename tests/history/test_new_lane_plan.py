"""The plan from which a new lane starts: it sent nothing yet."""

from backscroll.history.plan import Digest, Plan, plan_of_new_lane


def test_new_lane_waits_only_for_calls_that_its_plan_hides():
    """It shows other results at their calls. A hidden call would hide its result, which another lane shows apart."""
    plan = Plan((Digest(2, 9),), 1, 0, waited=((4, 0), (12, 0), (12, 1)), heals=False)
    fresh = plan_of_new_lane(plan)
    assert (fresh.waited, fresh.heals) == (((4, 0),), True)
    assert fresh.edits == plan.edits


def test_new_lane_takes_a_plan_that_waits_for_nothing():
    plan = Plan((Digest(2, 9),), 1, 0)
    assert plan_of_new_lane(plan) is plan
