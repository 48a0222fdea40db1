"""Search and judgment over made-up figures: what wins, what is disqualified, and that the held-out half decides nothing
but the judgment.
"""

from dataclasses import replace
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import ContextManager, Protection, ToolResultPreview
from backscroll.errors import ConfigurationError
from backscroll.evaluation.tune.candidates import DEFAULTS, GRID, Candidate, neighbors
from backscroll.evaluation.tune.split import LEAST, halves
from backscroll.evaluation.tune.tuning import tune
from tests.evaluation.tune.made_up import OUTCOME, Replays, cheaper_by, conversations, task
from tests.present import present

MADE = conversations(20)


def values(found):
    return dict(found.chosen.candidate.values)


# What wins


def test_tune_one_option_that_clearly_wins_is_found():
    found = tune(MADE, task(), Replays(cheaper_by({"target_usage 0.35": 0.2})))
    assert values(found) == {"target_usage": 0.35}
    assert DEFAULTS not in [trial.candidate for trial in found.trials]  # they are not replayed again
    assert found.keep_defaults == ""
    assert found.complete
    assert present(present(found.judged).evidence).cost.high < -0.05


def test_tune_options_that_help_each_other_are_combined():
    replays = Replays(cheaper_by({"mode lean": 0.2, "protect.working_set 0.0": 0.1}))
    assert values(tune(MADE, task(), replays)) == {"mode": "lean", "protect.working_set": 0.0}


def test_tune_for_retention_pays_no_more_than_the_margin():
    kept = {"target_usage 0.75": -0.1, "protect.recent 0.3": -0.05}
    found = tune(MADE, task("retention"), Replays(cheaper_by({"target_usage 0.75": -0.2}, kept)))
    assert values(found) == {"protect.recent": 0.3}
    dear = next(trial for trial in found.trials if trial.candidate.label == "target_usage 0.75")
    assert dear.faults[0].startswith("the cost may rise by")


def test_tune_cheap_but_forgetful_loses_to_the_margin():
    found = tune(MADE, task(), Replays(cheaper_by({"mode lean": 0.5, "target_usage 0.25": 0.1}, {"mode lean": 0.2})))
    assert values(found) == {"target_usage": 0.25}
    found = tune(MADE, task("balanced", margin=0.5), Replays(cheaper_by({"mode lean": 0.5}, {"mode lean": 0.2})))
    assert values(found) == {"mode": "lean"}


def test_tune_option_that_helps_only_with_a_later_one_is_found():
    """The search goes through the options again, until none improves."""

    def outcome(job):
        both = "clear_at_least_tokens 3000" in job.label and "target_usage 0.35" in job.label
        made = cheaper_by({"target_usage 0.35": 0.1})(job)
        return replace(made, cost=made.cost * 0.8) if both else made

    found = tune(MADE, task(), Replays(outcome))
    assert values(found) == {"clear_at_least_tokens": 3_000, "target_usage": 0.35}


@pytest.mark.parametrize(("gain", "taken"), [(0.008, False), (0.012, True)])
def test_tune_a_small_gain_is_not_worth_an_option(gain, taken):
    def outcome(job):
        return replace(OUTCOME, cost=1 - gain if "mode lean" in job.label else 1.0)

    assert (tune(MADE, task(), Replays(outcome)).chosen is not None) == taken


@pytest.mark.parametrize(("less", "chosen"), [(0.035, "lean"), (0.045, None), (0.055, None)])
def test_tune_search_stays_well_within_the_margin(less, chosen):
    """The same loss everywhere: the judgment would allow 5 %, the search does not go beyond three quarters of it."""

    def outcome(job):
        lean = "mode lean" in job.label
        kept = 0.8 * (1 - less) if lean else 0.8
        return replace(OUTCOME, cost=0.7 if lean else 1.0, recall=kept, reachable=kept)

    found = tune(MADE, task(), Replays(outcome))
    assert (found.chosen and values(found)["mode"]) == chosen


def test_tune_where_nothing_wins_keeps_the_defaults():
    replays = Replays(lambda job: OUTCOME)
    found = tune(MADE, task(), replays)
    assert (found.chosen, found.judged) == (None, None)
    assert found.keep_defaults.startswith("no options improved on them by 1% or more")
    assert len({job.label for job in replays.asked[-1]}) == 1  # nothing to judge


def held_out_of(made, seed=0):
    return {source for one in halves(made, seed).held_out for source in one.sources}


def test_tune_gain_that_does_not_repeat_keeps_the_defaults():
    """What wins by chance on the training half is as good as the defaults on the other."""
    kept_back = held_out_of(MADE)

    def outcome(job):
        lucky = "mode lean" in job.label and job.source not in kept_back
        odd = 1.1 if job.source.requests % 2 else 0.87
        return replace(OUTCOME, cost=(0.7 if lucky else 1.0) * (odd if "mode lean" in job.label else 1.0))

    found: Any = tune(MADE, task(), Replays(outcome))
    assert values(found) == {"mode": "lean"}
    assert found.chosen.evidence.cost.mean < -0.2 < found.judged.evidence.cost.mean < 0
    assert "may be chance" in found.keep_defaults


# Disqualification


@pytest.mark.parametrize("fault", ["refused", "invalid", "over_budget", "failed"])
@pytest.mark.parametrize("where", ["training", "held out"])
def test_tune_one_request_that_cannot_be_sent_disqualifies(fault, where):
    kept_back = held_out_of(MADE)
    cheap = cheaper_by({"mode lean": 0.3})

    def outcome(job):
        made = cheap(job)
        hit = "mode lean" in job.label and (job.source in kept_back) == (where == "held out")
        if hit and fault == "failed":
            return None
        faulty: dict[str, Any] = {fault: 1, "problems": ("a call without its result",)}
        return replace(made, **faulty) if hit else made

    found = tune(MADE, task(), Replays(outcome))
    assert (found.chosen is None) == (where == "training")
    assert found.keep_defaults
    lean: Any = found.judged if found.chosen else found.trials[0]
    assert lean.evidence is None
    assert any(word in lean.faults[0] for word in ("refused", "invalid", "over the budget", "it broke"))


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ({"refused": 1, "refusal": "too large"}, "had refused requests: too large"),
        ({"invalid": 1, "problems": ("no call",)}, "had invalid views: no call"),
        ({"over_budget": 2}, "had 2 views over the budget"),
    ],
)
def test_tune_what_the_defaults_cannot_send_is_left_out(fault, why):
    def outcome(job):
        made = cheaper_by({"mode lean": 0.3})(job)
        return replace(made, **fault) if job.source.requests == 100 else made

    found = tune(MADE, task(), Replays(outcome))
    assert found.keep_defaults == ""
    assert found.left_out == (f"0.jsonl {why}",)
    assert sum(map(len, found.split)) == len(MADE) - 1


# The held-out half


@settings(max_examples=8)  # each runs two searches
@given(st.integers(0, 10**6), st.integers(0, 50))
def test_tune_held_out_figures_never_change_the_choice(noise, seed):
    kept_back = held_out_of(MADE, seed)
    honest = cheaper_by({"mode lean": 0.1, "target_usage 0.35": 0.1, "protect.working_set 0.1": 0.02})

    def outcome(job):
        made = honest(job)
        if job.source not in kept_back:
            return made
        drawn = crc32(f"{noise} {job.source.name} {job.label}".encode()) % 1_000 / 1_000
        return replace(made, cost=made.cost * (0.5 + drawn), recall=drawn, refused=int(drawn > 0.9))

    limited = task(seed=seed, trials=4)
    found = tune(MADE, limited, Replays(outcome))
    assert found.chosen == tune(MADE, limited, Replays(honest)).chosen


def test_tune_held_out_half_is_replayed_once_and_last():
    replays = Replays(cheaper_by({"mode lean": 0.1}))
    found = tune(MADE, task(), replays)
    assert replays.sources(but_last=True).isdisjoint(held_out_of(MADE))
    assert replays.sources(but_last=False) == held_out_of(MADE)
    assert {job.label for job in replays.asked[-1]} == {"defaults", present(found.chosen).candidate.label}


# Bounds


def test_tune_twice_gives_the_same_and_trials_bound_it():
    outcome = cheaper_by({"mode lean": 0.1, "target_usage 0.35": 0.1})
    assert tune(MADE, task(), Replays(outcome)) == tune(MADE, task(), Replays(outcome))
    for trials in (1, 5, 9):
        replays = Replays(outcome)
        found = tune(MADE, task(trials=trials), replays)
        assert not found.complete
        assert len(found.trials) == trials
        assert len({job.label for jobs in replays.asked[:-1] for job in jobs}) == trials + 1


@pytest.mark.parametrize("larger", [0, LEAST - 1])
def test_tune_too_few_over_the_budget_are_refused(larger):
    over = {source for one in halves(MADE, 0).training[:larger] for source in one.sources}
    below = replace(OUTCOME, recall=None, reachable=None)
    with pytest.raises(ConfigurationError, match=f"{larger} are larger than the budget.*use a smaller budget"):
        tune(MADE, task(), Replays(lambda job: OUTCOME if job.source in over else below))


def test_tune_too_few_held_out_over_the_budget_keep_the_defaults():
    kept_back = held_out_of(MADE)

    def outcome(job):
        made = cheaper_by({"mode lean": 0.1})(job)
        return replace(made, recall=None, reachable=None) if job.source in kept_back else made

    assert "0 are larger than the budget" in tune(MADE, task(), Replays(outcome)).keep_defaults


# Candidates


def reachable_candidates():
    found = {DEFAULTS}
    for _ in range(2):
        found |= {near for one in found for name in GRID for near in neighbors(one, name, 128_000)}
    return found


def test_candidates_are_all_accepted_by_a_manager():
    for candidate in reachable_candidates():
        ContextManager(**candidate.options).close()


def test_candidates_that_could_not_differ_are_not_tried():
    lean = Candidate((("mode", "lean"),))
    assert {near.label for near in neighbors(lean, "target_usage", 32_000)} == {
        "mode lean, target_usage 0.25",
        "mode lean, target_usage 0.45",
    }
    assert [near.label for near in neighbors(lean, "mode", 32_000)] == ["defaults"]
    assert len(list(neighbors(DEFAULTS, "clear_at_least_tokens", 32_000))) == 1
    assert len(list(neighbors(DEFAULTS, "clear_at_least_tokens", 64_000))) == 4
    previews = Candidate((("tool_result_preview", (800, 400)),))
    assert list(neighbors(previews, "mode", 32_000)) == [lean]  # which has these previews by itself
    assert len(list(neighbors(lean, "tool_result_preview", 32_000))) == 2


def test_candidate_in_a_mode_keeps_its_other_protection():
    both = Candidate((("mode", "lean"), ("protect.recent", 0.3), ("tool_result_preview", (1_500, 800))))
    assert both.options == {
        "mode": "lean",
        "protect": Protection(recent=0.3, working_set=0.10),
        "tool_result_preview": ToolResultPreview(1_500, 800, "arrival"),
    }
