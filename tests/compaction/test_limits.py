"""Limits beside the budget: messages of a view, results that stay whole, and what a provider refused."""

from itertools import pairwise

import pytest

from backscroll import BackscrollWarning, BudgetError, ContextManager, Protection, events
from tests.builders import MessageFactory, add_round, words
from tests.fakes import RecordingSession, count_quarter

TALK = MessageFactory("openai")

# -- messages --


def test_view_over_the_message_limit_folds_to_the_target():
    """A view of too many messages folds its oldest down to the target and extends itself in between."""
    session, sizes, before, extended = RecordingSession(max_messages=41), [], [], 0
    session.manager.append(TALK.say("user", "go"))
    for number in range(200):
        add_round(session, number, f"result_{number} is fine")
        view = session.manager.get_messages_for_request()
        sizes.append(len(view))
        extended += view[: len(before)] == before
        before = view
    assert max(sizes) == 41
    assert min(sizes[sizes.index(41) :]) <= 26
    assert 200 - extended == session.compactions
    assert session.compactions <= 25
    folded = [found for found in session.manager.explain() if found.state == "digested"]
    assert {found.reason for found in folded} == {"max_messages"}
    assert session.manager.get_messages()[1:3] == [
        TALK.call(["c0"], "", {}),
        *TALK.results([("c0", "result_0 is fine")]),
    ]


def test_required_messages_over_the_limit_cause_no_recompaction():
    """What must stay may be more messages than that and starts no storm."""
    session = RecordingSession(max_messages=8)
    for number in range(30):
        pinned = TALK.say("user" if number % 2 == 0 else "assistant", f"fact {number}")
        session.manager.append({**pinned, "metadata": {"pinned": True}})
        view = session.manager.get_messages_for_request()
    assert len(view) == 30
    assert session.compactions == 0


def test_message_limit_holds_for_results_in_user_messages():
    """A dialect with results in user messages is thinned out as well."""
    talk, manager = MessageFactory("anthropic"), ContextManager(tokenizer=count_quarter, max_messages=12)
    manager.append(talk.say("user", "go"))
    for number in range(40):
        manager.append(talk.call([f"c{number}"], "I look.", {}), *talk.results([(f"c{number}", "fine")]))
        assert len(manager.get_messages_for_request()) <= 12


# -- results --


def whole_results(manager, budget):
    view = manager.get_messages_for_request(token_budget=budget)
    return sum("line 70 of it" in message["content"] for message in view if message["role"] == "tool")


@pytest.mark.parametrize("protected", [0, 1, 5])
def test_the_newest_results_stay_whole_where_they_fit(protected):
    session = RecordingSession(protect=Protection(results=protected, recent=0))
    session.manager.append(TALK.say("user", "go"))
    for number in range(24):
        add_round(session, number, "\n".join(f"line {line} of it is all about nothing" for line in range(90)))
        session.manager.append(TALK.say("assistant", "seen"))
    assert whole_results(session.manager, 16_000) == max(protected, 1)  # one would stay whole anyway


def test_protected_results_that_cannot_fit_are_shortened():
    """Results that cannot fit are cut although they are protected."""
    session = RecordingSession(protect=Protection(results=8))
    session.manager.append(TALK.say("user", "go"))
    for number in range(8):
        add_round(session, number, words(900))
    view = session.manager.get_messages_for_request(token_budget=4_000)
    assert session.manager.usage().used_upper_bound <= 4_000
    assert len(view) > 3


def test_a_batch_spares_protected_results_too():
    session = RecordingSession(protect=Protection(results=6), clear_at_least_tokens=2_000)
    session.manager.append(TALK.say("user", "go"))
    for number in range(60):
        add_round(session, number, words(500))
        session.manager.get_messages_for_request()
    states = [found.state for found in session.manager.explain() if found.role == "tool"]
    assert states.count("cleared") > 30
    assert states[-6:] == ["whole"] * 6


# -- what a provider refused --


def filled(session, count=20):
    session.manager.append(TALK.say("user", "go"))
    for number in range(count):
        add_round(session, number, words(400))
    return session.manager


def test_requests_after_a_refusal_get_shorter_and_stay_so():
    """After a refusal the next request is shorter each time and the session stays so."""
    session = RecordingSession()
    manager, sizes = filled(session), []
    for _ in range(4):
        with pytest.warns(RuntimeWarning, match="the provider refused") if sizes else pytest.MonkeyPatch.context():
            manager.get_messages_for_request(token_budget=20_000)
        sizes.append(manager.usage().used_upper_bound)
        manager.observe_overflow()
    assert all(after <= 0.8 * before for before, after in pairwise(sizes))
    assert session.names.count(events.COMPACTION) == 3
    with pytest.warns(RuntimeWarning, match="the provider refused a request"):
        manager.get_messages_for_request(token_budget=20_000)
    for number in range(60):
        add_round(session, 100 + number, words(100))
        manager.get_messages_for_request(token_budget=20_000)
        assert manager.usage().used_upper_bound <= 0.8 * sizes[-1]


def test_first_provider_count_lifts_only_a_guessed_limit():
    """The first count of a provider lifts a limit that was guessed and no other."""
    session = RecordingSession(clear_at_least_tokens=None)
    manager = filled(session)
    manager.get_messages_for_request(token_budget=20_000)
    manager.observe_overflow()
    with pytest.warns(RuntimeWarning, match="the provider refused a request"):
        manager.get_messages_for_request(token_budget=20_000)
    manager.observe_usage(input_tokens=manager.usage().used.tokens + 2_000)
    for number in range(14):
        add_round(session, 100 + number, words(400))
        manager.get_messages_for_request(token_budget=20_000)
    assert manager.usage().used_upper_bound > 9_000  # more than the refused request was, by our count, is allowed again
    refused = manager.usage().used_upper_bound
    manager.observe_overflow()
    with pytest.warns(RuntimeWarning, match="the provider refused a request"):
        manager.get_messages_for_request(token_budget=20_000)
    manager.observe_usage(input_tokens=manager.usage().used.tokens)
    for number in range(30):
        add_round(session, 200 + number, words(400))
        manager.get_messages_for_request(token_budget=20_000)
        assert manager.usage().used_upper_bound <= 0.8 * refused


def test_a_refusal_that_names_sizes_is_taken_at_its_word():
    session = RecordingSession()
    manager = filled(session)
    manager.get_messages_for_request(token_budget=20_000)
    ours = manager.usage().used.tokens
    manager.observe_overflow(requested_tokens=ours + 3_000, limit_tokens=8_000)
    with pytest.warns(RuntimeWarning, match="the provider refused a request"):
        manager.get_messages_for_request(token_budget=20_000)
    usage = manager.usage()
    assert usage.overhead.tokens == pytest.approx(3_000, abs=300)
    assert 4_000 < usage.used_upper_bound <= 6_500
    manager.observe_usage(input_tokens=usage.used.tokens)
    for number in range(30):
        add_round(session, 100 + number, words(400))
        manager.get_messages_for_request(token_budget=20_000)
        assert manager.usage().used_upper_bound <= 8_000


def test_short_request_that_was_refused_limits_only_its_retry():
    """The first refusal names sizes that make the overhead seem to fill the budget, so its retry is very short."""
    session = RecordingSession()
    manager = filled(session, 15)
    for number in range(5):
        add_round(session, 50 + number, words(400))
        manager.get_messages_for_request(token_budget=20_000)
        manager.observe_usage(input_tokens=manager.usage().used.tokens)
    manager.observe_overflow(requested_tokens=2 * manager.usage().used.tokens, limit_tokens=8_000)
    sent = []
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="the provider refused a request"):
            sent.append(len(str(manager.get_messages_for_request(token_budget=20_000))) // 4)
        manager.observe_overflow()
    with pytest.warns(RuntimeWarning, match="the provider refused a request"):
        sent.append(len(str(manager.get_messages_for_request(token_budget=20_000))) // 4)
    manager.observe_usage(input_tokens=sent[-1])
    assert 2_000 > sent[0] > sent[1] > sent[2]
    for number in range(8):
        add_round(session, 100 + number, words(400))
        manager.get_messages_for_request(token_budget=20_000)
    assert manager.usage().used_upper_bound > 2_000


def test_a_refusal_is_of_one_lane():
    session = RecordingSession()
    manager = filled(session)
    manager.get_messages_for_request(token_budget=20_000, lane="small")
    before = manager.get_messages_for_request(token_budget=20_000)
    manager.observe_overflow(lane="small")
    with pytest.warns(RuntimeWarning, match="the provider refused a request"):
        assert manager.get_messages_for_request(token_budget=20_000) == before
    manager.get_messages_for_request(token_budget=20_000, lane="small")
    assert manager.usage("small").used_upper_bound <= 0.8 * manager.usage().used_upper_bound


def test_a_refusal_before_any_request_is_ignored_with_a_warning():
    manager = ContextManager(tokenizer=count_quarter)
    manager.observe_overflow()
    with pytest.warns(RuntimeWarning, match="no view was handed out on this lane yet"):
        manager.append(TALK.say("user", "go"))


def test_refused_until_what_must_stay_does_not_fit_says_so():
    manager = ContextManager(tokenizer=count_quarter)
    manager.append({**TALK.say("user", words(900)), "metadata": {"pinned": True}})
    manager.get_messages_for_request(token_budget=1_000)
    manager.observe_overflow()
    with (
        pytest.warns(RuntimeWarning, match="the provider refused a request"),
        pytest.raises(BudgetError, match=r"refused a request of 9\d\d tokens"),
    ):
        manager.get_messages_for_request(token_budget=1_000)


def test_attachment_that_cannot_fit_is_left_out_aloud():
    """A document in the user's only message that is larger than the budget is left out with an event and a warning."""
    heard = []
    manager = ContextManager(budget=2_000, on_event=lambda name, payload: heard.append((name, payload)))
    source = {"type": "base64", "media_type": "application/pdf", "data": "x" * 4_000_000}
    document = {"type": "document", "source": source}
    manager.append({"role": "user", "content": [{"type": "text", "text": "Read it."}, document]})
    with pytest.warns(BackscrollWarning, match="the document in the user's message 0 does not fit"):
        view = manager.get_messages_for_request()
    assert "recall [ref:0.1]" in str(view)
    (session,) = [payload for name, payload in heard if name == events.ATTACHMENT_LEFT_OUT]
    assert session == {"lane": "main", "seq": 0, "kind": "document"}
    assert manager.get_messages_for_request() == view
    assert len([name for name, _ in heard if name == events.ATTACHMENT_LEFT_OUT]) == 1


def test_usage_free_after_an_overflow_is_below_what_was_refused():
    """A provider that takes less than the budget says leaves less free, from the moment that is known."""
    manager = ContextManager(budget=10_000, tokenizer=count_quarter)
    manager.append({"role": "user", "content": "word " * 4_000})
    manager.get_messages_for_request()
    before = manager.usage()
    assert before.free == 10_000 - before.used_upper_bound
    manager.observe_overflow(requested_tokens=before.used_upper_bound + 500, limit_tokens=before.used_upper_bound + 100)
    with pytest.warns(BackscrollWarning, match="refused a request"):
        manager.get_messages_for_request()
    after = manager.usage()
    assert after.used_upper_bound + after.free <= before.used_upper_bound + 100
