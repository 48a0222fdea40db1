"""The strategy `shorten`, the cut of the newest group, and the order in which a mode runs its strategies."""

from typing import Any

import pytest

from backscroll import ConfigurationError, ContextManager
from backscroll.compaction.candidates import build_window
from backscroll.compaction.modes import MODES, STANDARD
from backscroll.compaction.options import DigestOptions
from backscroll.compaction.strategies import AUTO, DEFAULT_ORDER, choose, shortens
from backscroll.compaction.strategies.shorten import ShortenStrategy, fit_newest
from tests.builders import MessageFactory, words
from tests.fakes import count_quarter
from tests.present import present

TALK = MessageFactory("openai")
BUDGET = 4_000
MOST = int(BUDGET * ShortenStrategy().share)


def window_of(*messages: dict[str, Any], budget: int = BUDGET, ahead: bool = True) -> Any:
    """The window over a session of these messages. `ahead`: the model answered the newest of them."""
    manager = ContextManager(tokenizer=count_quarter, mode="standard")
    manager.append(*messages)
    manager.get_messages_for_request(token_budget=10**6)
    lane, history = manager._session.lanes["main"], manager._session.history
    return build_window(
        history, present(lane.view), budget, lane.around, digests=DigestOptions(handover=True), ahead=ahead
    )


def calls(name: str, *sizes: int, **metadata: Any) -> list[dict[str, Any]]:
    """One message with a call for each size in tokens, and their results."""
    ids = [f"{name}{number}" for number in range(len(sizes))]
    call = TALK.call(ids, "", {"path": "a.py"}) | ({"metadata": metadata} if metadata else {})
    return [call, *TALK.results([(each, words(size)) for each, size in zip(ids, sizes, strict=True)])]


BEGIN = TALK.say("user", "Read the files.")


@pytest.mark.parametrize("name", ["share", "among"])
@pytest.mark.parametrize("value", [0, -0.1, 1.01])
def test_shares_out_of_range_are_refused(name, value):
    with pytest.raises(ConfigurationError, match=rf"`{name}` must be above 0 and at most 1, not {value}"):
        ShortenStrategy(**{name: value})


def test_shares_may_take_all():
    assert ShortenStrategy(share=1.0, among=1).share == 1.0


def test_results_of_one_group_are_cut_to_one_level():
    """The longest results of a group are cut alike, the short one stays, and together they fit their share."""
    window = window_of(BEGIN, *calls("a", 900, 20, 700), TALK.say("assistant", "Read."))
    edits = ShortenStrategy()(window, 1)
    assert [edit.seq for edit in edits] == [2, 4]
    first, second = (edit.count.tokens for edit in edits)
    assert abs(first - second) <= 0.2 * first
    window.take(edits)
    assert window.by_seq[2].tokens <= 1.1 * MOST


def test_one_result_takes_two_thirds_of_its_share_at_most():
    window = window_of(BEGIN, *calls("a", 2_000), TALK.say("assistant", "Read."))
    (edit,) = ShortenStrategy()(window, 1)
    assert 0.5 * MOST < edit.count.tokens <= 0.7 * MOST


def test_a_paste_of_the_user_is_cut_by_itself():
    """The first message is required; a later paste that takes most of the room is not."""
    window = window_of(BEGIN, TALK.say("assistant", "Go on."), TALK.say("user", words(3_000)), TALK.say("user", "Fix."))
    assert [edit.seq for edit in ShortenStrategy()(window, 1)] == [2]


def test_groups_older_than_the_newest_share_are_not_cut():
    """Older messages leave whole, so nothing is cut that soon leaves."""
    rounds = [message for number in range(12) for message in calls(f"{number}-", 900)]
    edits = ShortenStrategy()(window_of(BEGIN, *rounds, TALK.say("assistant", "Read.")), 1)
    cut = [edit.seq for edit in edits]
    assert cut == sorted(cut)
    assert cut[-1] == 24
    assert 2 not in cut
    assert len(cut) <= 4


def test_what_is_pinned_is_never_cut():
    pinned = calls("a", 1_500, pinned=True)
    window = window_of(BEGIN, *pinned, TALK.say("assistant", "Read."))
    assert ShortenStrategy()(window, 1) == []
    assert fit_newest(window_of(BEGIN, *calls("a", 3_500), ahead=False), {2}) == []


def test_a_newest_group_that_stays_whole_is_not_cut():
    """A result whose original is kept nowhere else."""
    assert fit_newest(window_of(BEGIN, *calls("a", 3_500, whole=True), ahead=False)) == []


def test_newest_group_leaves_half_of_the_room():
    window = window_of(BEGIN, *calls("a", 3_000, 3_000), ahead=False)
    window.take(fit_newest(window))
    assert window.units[-1].tokens <= 1.05 * BUDGET / 2


def test_newest_group_that_fits_stays_whole():
    assert fit_newest(window_of(BEGIN, *calls("a", 1_500), ahead=False)) == []


def test_newest_group_is_cut_again_for_a_smaller_room():
    """A lane begins with the cuts of another one, whose room is larger."""
    window = window_of(BEGIN, *calls("a", 3_000, 3_000), ahead=False)
    window.take(fit_newest(window))
    window.budget = BUDGET // 3
    again = fit_newest(window)
    assert [edit.seq for edit in again] == [2, 3]
    window.take(again)
    assert window.units[-1].tokens <= 1.1 * window.budget / 2


def test_auto_runs_the_order_of_its_mode():
    """Other choices do not depend on the mode."""
    assert [each.name for each in choose(AUTO)()] == list(DEFAULT_ORDER)
    assert [each.name for each in choose(AUTO, STANDARD.strategies)()] == ["deduplicate", "shorten", "digest"]
    assert [each.name for each in choose(["clear"], STANDARD.strategies)()] == ["clear"]
    assert choose(None, STANDARD.strategies)() == ()


@pytest.mark.parametrize("mode", MODES.values(), ids=list(MODES))
def test_strategies_of_every_mode_are_known(mode):
    assert [each.name for each in choose(AUTO, mode.strategies)()] == list(mode.strategies)


def test_a_list_with_shorten_shortens_results():
    assert shortens(["shorten", "digest"])
    assert shortens([ShortenStrategy()])
    assert not shortens(["digest"])


def read(name: str, text: str) -> list[dict[str, Any]]:
    """A call and its result."""
    return [TALK.call([name], "", {"path": f"{name}.py"}), *TALK.results([(name, text)])]


REMINDER = "<system-reminder>\nLook twice at each file before you change it, and at what calls it.\n</system-reminder>"


def test_a_repeated_reminder_stays_in_the_newest_result():
    rounds = [message for name in "abc" for message in read(name, f"{words(30)}\n\n{REMINDER}")]
    window = window_of(BEGIN, *rounds, TALK.say("assistant", "Read."))
    edits = ShortenStrategy()(window, 1)
    assert [edit.seq for edit in edits] == [2, 4]
    assert all(edit.structure == "tidy" for edit in edits)


def test_a_long_result_is_cut_without_its_clutter():
    """What leaves first is what says nothing, so that more of the rest fits."""
    coloured = "".join(f"\x1b[1m\x1b[32m✓\x1b[39m\x1b[22m total {number} rounds\n" for number in range(300))
    window = window_of(BEGIN, *read("a", coloured), TALK.say("assistant", "Read."))
    (edit,) = ShortenStrategy()(window, 1)
    assert (edit.seq, edit.structure) == (2, "tidy")
    assert 0.5 * MOST < edit.count.tokens <= 0.72 * MOST


def test_a_tidy_result_is_not_cut_again():
    rounds = [message for name in "abc" for message in read(name, f"{words(30)}\n\n{REMINDER}")]
    window = window_of(BEGIN, *rounds, TALK.say("assistant", "Read."))
    window.take(ShortenStrategy()(window, 1))
    assert ShortenStrategy()(window, 1) == []


def test_the_newest_group_is_cut_without_its_clutter():
    """What is cut anyway loses first what says nothing."""
    coloured = "".join(f"\x1b[1m\x1b[32m✓\x1b[39m\x1b[22m total {number} rounds\n" for number in range(600))
    (edit,) = fit_newest(window_of(BEGIN, *read("a", coloured), ahead=False))
    assert edit.structure == "tidy"


def test_the_newest_results_stay_whole_but_for_codes():
    """A model that never saw them gets all that they say."""
    coloured = "".join(f"\x1b[1m\x1b[32m✓\x1b[39m\x1b[22m total {number} rounds\n" for number in range(30))
    (edit,) = fit_newest(window_of(BEGIN, *read("a", coloured), ahead=False))
    assert edit.structure == "tidy"
    shown = "".join(coloured[start:end] for start, end in edit.between)
    assert shown == "".join(f"✓ total {number} rounds\n" for number in range(30))
