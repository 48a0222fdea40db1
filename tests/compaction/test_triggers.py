"""When a lane compacts, how far, how often; and what is cut, in which order, when what must stay does not fit."""

from typing import Any

import pytest

from backscroll import BudgetError, ContextManager, events
from backscroll.compaction.modes import MODES
from backscroll.view.rendering import WAITING
from tests.builders import LONG, MessageFactory, add_round, words
from tests.fakes import RecordingSession, count_quarter
from tests.long_run import usually
from tests.present import present
from tests.views import summary_of

TALK = MessageFactory("openai")


def test_compaction_goes_from_the_threshold_to_the_target():
    """Nothing is touched below the threshold and a compaction goes down to the target."""
    session = RecordingSession(clear_at_least_tokens=None)
    session.manager.append(TALK.say("user", "go"))
    before = 0
    for number in range(40):
        add_round(session, number, words(900))
        session.manager.get_messages_for_request(token_budget=20_000)
        upper = session.manager.usage().used_upper_bound
        if session.compactions:
            assert before > 0.92 * 20_000 - 1_000
            assert upper <= 0.55 * 20_000
            return
        before = upper
    pytest.fail("it never compacted")


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_long_talk_that_comes_at_once_meets_the_target(mode):
    """Users' words take more of a summary than the results of tools, of which most is left out."""
    session = RecordingSession(mode=mode.name)
    for number in range(60):
        said = TALK.say("user", f"question {number} {words(80)}"), TALK.say("assistant", f"answer {number} {words(90)}")
        session.manager.append(*said)
    session.manager.get_messages_for_request(token_budget=4_000)
    assert session.compactions == 1
    assert session.manager.usage().used_upper_bound <= (mode.target_usage + 0.05) * 4_000


def test_compactions_are_rare_and_most_views_extend_the_last():
    """Compactions are rare and most views extend the one before."""
    session, extended, before = RecordingSession(), 0, []
    session.manager.append(TALK.say("user", "go"))
    for number in range(300):
        add_round(session, number, words(200 + number % 7 * 100))
        view = session.manager.get_messages_for_request(token_budget=20_000)
        extended += view[: len(before)] == before
        before = view
    assert session.compactions <= 30
    assert extended >= 270


def test_large_pinned_message_does_not_recompact_every_request():
    """One pinned message of 95 percent of the budget starts no storm."""
    session = RecordingSession()
    session.manager.append({**TALK.say("user", words(9_300)), "metadata": {"pinned": True}})
    for number in range(100):
        session.manager.append(TALK.say("assistant", f"step {number} is done"), TALK.say("user", f"and {number + 1}?"))
        before = session.compactions
        for _ in range(3):
            session.manager.get_messages_for_request(token_budget=10_000)
        assert session.compactions <= before + 1
    assert session.compactions <= 10


def test_overhead_above_the_threshold_starts_no_storm():
    session = RecordingSession(overhead_tokens=9_300)
    session.manager.append(TALK.say("user", "go"))
    for number in range(60):
        add_round(session, number, words(30))
        session.manager.get_messages_for_request(token_budget=10_000)
    assert session.compactions <= 15  # 60 rounds of 50 tokens, where one to 70% of what is left makes room for 200


def test_reports_above_the_count_do_not_recompact_repeatedly():
    """Reports that stay a tenth above the count do not trigger compactions again and again."""
    session = RecordingSession()
    session.manager.append(TALK.say("user", "go"))
    for number in range(120):
        add_round(session, number, words(500))
        view = session.manager.get_messages_for_request(token_budget=20_000)
        session.manager.observe_usage(
            input_tokens=500 + int(1.1 * sum(count_quarter(str(m["content"])) + 10 for m in view))
        )
    assert session.compactions <= 120 * 500 * 1.1 / (0.25 * 20_000)


def test_a_smaller_budget_is_met_in_one_step():
    session = RecordingSession()
    session.manager.append(TALK.say("user", "go"))
    for number in range(100):
        add_round(session, number, words(900))
    session.manager.get_messages_for_request(token_budget=100_000)
    session.events.clear()
    session.manager.get_messages_for_request(token_budget=8_000)
    assert session.compactions == 1
    assert session.manager.usage().used_upper_bound <= 8_000


class Model:
    """A provider as Amplifier's contract has it: it tells its window."""

    def __init__(self, window: int) -> None:
        self._window = window

    def get_info(self) -> dict[str, Any]:
        """What it tells."""
        return {"defaults": {"context_window": self._window, "max_output_tokens": 1_000}}


@pytest.mark.parametrize("lane", ["main", "small"])
def test_switch_to_a_smaller_window_compacts_once(lane):
    """A switch to a model with a smaller window is met in one step."""
    session = RecordingSession(clear_at_least_tokens=None)
    session.manager.append(TALK.say("user", "Never touch prod.yaml. Go."))
    for number in range(100):
        add_round(session, number, words(900))
    session.manager.get_messages_for_request(provider=Model(128_000), lane="main")
    session.events.clear()
    view = session.manager.get_messages_for_request(provider=Model(16_000), lane=lane)
    assert session.compactions == 1
    assert session.manager.usage(lane).window == 14_000
    assert session.manager.usage(lane).used_upper_bound <= 0.6 * 14_000
    assert "Never touch prod.yaml. Go." in view[0]["content"]
    session.manager.append(TALK.say("assistant", "done"))
    assert session.manager.get_messages_for_request(provider=Model(16_000), lane=lane)[:-1] == view


@pytest.mark.parametrize(("mode", "size"), [("standard", 3_900), ("facts", 6_000)])
def test_an_unseen_result_is_whole_unless_it_cannot_fit(mode, size):
    """Unless it is over a quarter of the budget, which a strategy that shortens results previews. The newest call and
    its result may take half of it next to a hand-over.
    """
    session = RecordingSession(mode=mode, strategies=["digest"])
    session.manager.append(TALK.say("user", "go"))
    for number in range(10):
        add_round(session, number, words(900))
    add_round(session, 10, words(size, "fresh"))
    view = session.manager.get_messages_for_request(token_budget=8_000)
    assert view[-1]["content"] == words(size, "fresh")
    add_round(session, 11, words(20_000, "huge"))
    view = session.manager.get_messages_for_request(token_budget=8_000)
    assert view[-1]["content"].startswith("huge huge")
    assert "characters left out, recall [ref:24.0]" in view[-1]["content"]
    assert view[-1]["content"].endswith("huge huge ")


def states(session: RecordingSession) -> dict[int, str]:
    """What became of each message."""
    return {found.seq: found.state for found in session.manager.explain()}


def test_short_user_words_stay_while_a_long_text_can_be_cut():
    """Short words of the user are not cut where a long text can be."""
    session = RecordingSession()
    session.manager.append(TALK.say("user", words(90, "task")), TALK.say("assistant", "what about it?"))
    session.manager.append(TALK.say("user", words(20_000, "paste")))
    view = session.manager.get_messages_for_request(token_budget=8_000)
    assert view[0]["content"] == words(90, "task")
    assert "characters left out, recall [ref:2.0]" in view[-1]["content"]


@pytest.mark.parametrize("answer", [False, True])
@pytest.mark.parametrize("dialect", ["openai", "anthropic", "bedrock"])  # elsewhere these calls are fixed
def test_what_the_agent_wrote_gives_way_before_user_texts(dialect, answer):
    talk, session = MessageFactory(dialect), RecordingSession()
    asked = [talk.say("user", words(100, "task")), talk.say("user", words(100, "more"))]
    session.manager.append(asked[0], talk.say("assistant", "Which file?"), asked[1])
    if answer:
        session.manager.append(talk.say("assistant", words(20_000)))
    else:
        session.manager.append(talk.call(["c"], "", {"text": words(20_000)}), *talk.results([("c", "written")]))
    view = session.manager.get_messages_for_request(token_budget=4_000)
    if answer and asked[1] not in view:  # a hand-over quotes a request that is older than the newest messages
        assert words(100, "more").strip() in summary_of(view)
        asked.pop()
    assert [message for message in view if message in asked] == asked
    assert session.manager.usage().used_upper_bound <= 4_000


def test_last_resort_cut_is_undone_by_the_next_compaction():
    """What was cut as a last resort is whole again after the next compaction."""
    session = RecordingSession()
    task = TALK.say("user", words(900, "task"))  # a longer one is quoted
    session.manager.append(task, TALK.say("assistant", "on it"), TALK.say("user", words(1_800, "paste")))
    assert task not in session.manager.get_messages_for_request(token_budget=2_400)
    session.manager.append(TALK.say("assistant", "read it"), TALK.say("user", "good"))
    for number in range(8):
        add_round(session, number, words(210))
    assert session.manager.get_messages_for_request(token_budget=2_400)[0] == task


def test_last_resort_cuts_new_then_old_results_then_user_texts():
    """The floor is cut in order newest results then older ones then user texts."""
    session = RecordingSession(mode="facts")
    session.manager.append(TALK.say("system", words(300)), TALK.say("user", words(2_000, "first")))
    session.manager.append(TALK.call(["p"], "", {}), {**TALK.results([("p", words(2_000, "pinned"))])[0]})
    session.manager.append(TALK.call(["q"], "", {}), *TALK.results([("q", words(2_000, "old"))]))
    session.manager.append(TALK.say("assistant", "hm"), TALK.say("user", words(1_000, "last")))
    session.manager.pin(3)
    session.manager.append(TALK.call(["n"], "", {}), *TALK.results([("n", words(2_000, "new"))]))
    system, first, pinned, last, newest = 0, 1, 3, 7, 9

    def cut(budget: int) -> set[int]:
        twin = RecordingSession(mode="facts")
        for event in present(session.manager._session.events):
            twin.manager._session.apply(event)
        twin.manager.get_messages_for_request(token_budget=budget)
        return {seq for seq, state in states(twin).items() if state in ("excerpted", "cleared")}

    assert cut(7_000) == {newest}
    assert cut(4_500) == {newest, first}
    assert cut(3_000) == {newest, first, last}
    for budget in range(2_650, 7_600, 250):
        assert not cut(budget) & {system, pinned}
    with pytest.raises(BudgetError, match=r"pinned or critical messages 2,\d+"):
        cut(2_300)


@pytest.mark.parametrize("dialect", ["openai", "amplifier", "anthropic", "bedrock"])
def test_eight_parallel_results_are_all_shown_shortened(dialect):
    """Eight parallel results in a small window are all shown shortened."""
    talk, session = MessageFactory(dialect), RecordingSession()
    ids = [f"c{number}" for number in range(8)]
    session.manager.append(talk.say("user", "look everywhere"), talk.call(ids, "", {}))
    session.manager.append(*talk.results([(name, f"{name} {words(1_450)}") for name in ids]))
    view = str(session.manager.get_messages_for_request(token_budget=8_000))
    assert all(f"{name} word" in view for name in ids)
    assert session.manager.usage().used_upper_bound <= 8_000


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_many_short_values_in_arguments_give_way_as_well(dialect):
    talk, session = MessageFactory(dialect), RecordingSession()
    session.manager.append(talk.say("user", "go"), talk.call(["c"], "", {"rows": list(range(20_000))}))
    session.manager.append(*talk.results([("c", "ok")]))
    view = session.manager.get_messages_for_request(token_budget=2_000)
    assert "tool call arguments of" in str(view)
    assert session.manager.recall("1", limit=100_000).count(",") >= 19_999


def test_a_late_result_is_shown_where_it_came_and_reported():
    session = RecordingSession()
    session.manager.append(TALK.say("user", "go"), TALK.call(["a", "b"], "", {}), *TALK.results([("b", "two")]))
    session.manager.append(TALK.say("user", "are you there?"))
    view = session.manager.get_messages_for_request(token_budget=9_000)
    assert [m["content"] for m in view[2:]] == ["two", WAITING, "are you there?"]
    session.manager.append(*TALK.results([("a", "one")]))
    again = session.manager.get_messages_for_request(token_budget=9_000)
    late = "Later result of run (a) [ref:4]:\n<result>\none\n</result>"
    assert again == [*view, {"role": "user", "content": late}]
    assert [payload["rule"] for payload in session.payloads(events.HEALED)] == ["open_call", "late_result"]


@pytest.mark.parametrize("dialect", ["anthropic", "bedrock"])
def test_user_text_with_a_late_result_of_a_dropped_call_is_shown(dialect):
    """What a user writes next to a late result of a dropped call is shown."""
    talk, session = MessageFactory(dialect), RecordingSession(strategies=["truncate"])
    session.manager.append(talk.say("user", "go"), talk.call(["late"], "", {}))
    for number in range(30):
        session.manager.append(talk.call([f"c{number}"], "", {}), *talk.results([(f"c{number}", words(500))]))
    before = session.manager.get_messages_for_request(token_budget=4_000)
    assert states(session)[1] == "left out"
    (message,) = talk.results([("late", "done at last")])
    question = talk.say("user", "NEW QUESTION")["content"]
    message["content"] += question
    session.manager.append(message)
    view = session.manager.get_messages_for_request(token_budget=4_000)
    assert view[: len(before)] == before
    result, *typed = view[-1]["content"]
    seq = len(session.manager.get_messages()) - 1
    assert result["text"] == f"Later result of run (late) [ref:{seq}]:\n<result>\ndone at last\n</result>"
    assert typed == question


def test_oversized_ephemeral_message_yields_to_stored_ones():
    """An ephemeral message larger than the budget gives way to what is stored."""
    session = RecordingSession()
    session.manager.append(TALK.say("user", "go"))
    session.manager.append({**TALK.say("user", words(9_000)), "metadata": {"ephemeral": True}})
    assert session.manager.get_messages_for_request(token_budget=2_000) == [TALK.say("user", "go")]


def test_ephemeral_message_that_fits_is_shown_at_least_once():
    """An ephemeral message is shown at least once where it fits."""
    session = RecordingSession()
    session.manager.append(TALK.say("user", "go"))
    for number in range(30):
        add_round(session, number, words(500))
    note = {**TALK.say("user", "the build is red"), "metadata": {"ephemeral": True}}
    session.manager.append(note)
    assert note in session.manager.get_messages_for_request(token_budget=4_000)
    session.manager.compact()
    for number in range(30, 60):
        add_round(session, number, words(500))
    assert note not in session.manager.get_messages_for_request(token_budget=4_000)


def test_many_ephemeral_messages_are_shown_between_compactions():
    """Ephemeral messages are shown however many come without a compaction."""
    manager = ContextManager(tokenizer=count_quarter)
    manager.append(TALK.say("user", "go"))
    for number in range(300):
        note = {"role": "user", "content": f"note {number}", "metadata": {"ephemeral": True}}
        manager.append(TALK.say("assistant", f"step {number}"), note)
        view = manager.get_messages_for_request()
        assert view[-1]["content"] == f"note {number}"
    assert len(view) == 601


def test_a_report_on_messages_that_are_gone_changes_nothing():
    session = RecordingSession()
    session.manager.append(TALK.say("user", words(3_000)))
    session.manager.get_messages_for_request(token_budget=9_000)
    session.manager.observe_usage(input_tokens=3_300)
    session.manager.clear()
    session.manager.append(TALK.say("user", "anew"))
    session.manager.get_messages_for_request(token_budget=9_000)
    assert 0 < session.manager.usage().used.tokens < 500


@pytest.mark.parametrize("turns", usually([30, 60], 1))
def test_rewinding_turn_after_turn_does_not_make_the_plan_grow(turns):
    session = RecordingSession()
    session.manager.append(TALK.say("user", "go"))
    for number in range(turns):
        for step in range(4):
            add_round(session, number * 10 + step, words(400))
        session.manager.get_messages_for_request(token_budget=2_500)
        session.manager.set_messages(session.manager.get_messages()[:-2])
    assert len(session.manager._session.lanes["main"].plan.edits) < 30


@pytest.mark.filterwarnings("ignore:message 1 is the result of")
def test_orphan_result_is_stored_shown_as_text_and_reported():
    """An orphan result stays in the history, is text in the view and is reported."""
    session = RecordingSession()
    orphan = TALK.results([("nobody", LONG)])[0]
    session.manager.append(TALK.say("user", "go"), orphan, TALK.say("assistant", "hm"))
    assert orphan in session.manager.get_messages()
    view = session.manager.get_messages_for_request(token_budget=9_000)
    text = f"Result of an unknown call nobody [ref:1]:\n<result>\n{LONG}\n</result>"
    assert view == [TALK.say("user", "go"), {"role": "user", "content": text}, TALK.say("assistant", "hm")]
    assert session.names.count(events.ORPHAN_RESULT) == 1
    assert [payload["rule"] for payload in session.payloads(events.HEALED)] == ["unknown_call"]
