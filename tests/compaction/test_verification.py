"""Summaries that are checked: what nobody said is struck out, what was said stays."""

import json
import random
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll import events
from backscroll.compaction.verification import Evidence, of_users, verify
from backscroll.compaction.verification.claims import sentences
from backscroll.evaluation.summarizers import Asked, Summarizing
from backscroll.stores.memory import MemoryStore
from tests.builders import MessageFactory, entry
from tests.compaction.summarized import CONVERSATIONS
from tests.compaction.summarizing import SummarizedSession, begin_summarized
from tests.fakes import ScriptedSummarizer, count_quarter
from tests.views import summary_in

TALK = MessageFactory("openai")
STRUCK = pytest.mark.filterwarnings("ignore:([0-9,]+ claims of a|no) summary")


def evidence_of(messages):
    """What these messages say; a call and its result belong together."""
    entries = [entry(seq, message) for seq, message in enumerate(messages)]
    groups = []
    for found in entries:
        if found.reading.results:
            groups[-1].append(found)
        else:
            groups.append([found])
    return Evidence(groups)


@pytest.fixture(scope="module")
def evidence():
    return {name: evidence_of(messages) for name, (messages, _, _) in CONVERSATIONS.items()}


LIES = [(name, lie) for name, (_, _, lies) in CONVERSATIONS.items() for lie in lies]
TRUE = [(name, true) for name, (_, told, _) in CONVERSATIONS.items() for true in told]


@pytest.mark.parametrize(("name", "lie"), LIES)
def test_false_claim_is_struck_and_true_neighbours_stay(name, lie, evidence):
    """Whatever else its line says."""
    last = len(CONVERSATIONS[name][0]) - 1
    for summary in (lie, f"All is well.\n- {lie}", f"{lie}\nAll is well."):
        verdict = verify(summary, evidence[name], last=last)
        assert lie not in verdict.text
        assert verdict.struck >= 1
        assert verdict.text == ("" if summary == lie else "All is well.")


def test_nearly_all_true_sentences_stay(evidence):
    """At least 98 of 100."""
    struck = [true for name, true in TRUE if verify(true, evidence[name], last=len(CONVERSATIONS[name][0]) - 1).struck]
    assert len(TRUE) >= 80
    assert len(struck) <= len(TRUE) * 0.02, struck


@given(st.lists(st.sampled_from([sentence for _, sentence in (*LIES, *TRUE)]), max_size=12))
def test_what_is_left_is_part_of_the_summary_and_stays(chosen):
    """Checked once more it is the same, and each sentence of it stands in the summary."""
    found = EVIDENCE
    verdict = verify("\n".join(chosen), found, last=20)
    assert all(line in chosen or any(line in one for one in chosen) for line in verdict.text.splitlines())
    again = verify(verdict.text, found, last=20)
    assert (again.text, again.struck) == (verdict.text, 0)


EVIDENCE = evidence_of(CONVERSATIONS["coding"][0])
WORDS = st.text(st.sampled_from("abcxyz"), min_size=7, max_size=12)


@given(WORDS, st.sampled_from(["src/{}.py", "{}_id", "`{}`", '"all {} now"', "--{}-x", "{}.toml", "get{}Name()"]))
def test_a_made_up_name_is_always_struck_out(word, shape):
    """In any shape that can be looked up."""
    verdict = verify(f"It is in {shape.format(word)} now.", EVIDENCE)
    assert (verdict.text, verdict.struck) == ("", 1)


@given(st.integers(10_000, 10**9).filter(lambda n: n not in (250_000, 1_482_310)), st.sampled_from(["{}", "{:,}"]))
def test_a_made_up_number_is_always_struck_out(number, shape):
    """With and without separators."""
    assert verify(f"The parser was called {shape.format(number)} times.", EVIDENCE).text == ""


@given(st.text(max_size=300))
def test_any_summary_is_checked_without_a_fault(text):
    """And nothing is made up by it."""
    verdict = verify(text, EVIDENCE, before=text[:50], last=3)
    assert len(verdict.text) <= len(text)


def test_sentences_of_the_summary_before_stay():
    """They were looked up when their messages were there; other words of it count as said."""
    before = "The user wants the report in French.\n- The host is db7.internal."
    summary = "The user wants the report in French. The host is db7.internal. The host is db8.internal."
    verdict = verify(summary, Evidence([]), before=before)
    assert verdict.text == "The user wants the report in French. The host is db7.internal."
    assert of_users(before) == ["The user wants the report in French."]


def test_a_quotation_is_not_divided():
    """Full stops inside of it end no sentence."""
    assert sentences('- He said "Stop. Now." It is over.') == ['He said "Stop. Now." ', "It is over."]
    assert sentences("It uses a cache, e.g. Redis. It works.") == ["It uses a cache, e.g. Redis. ", "It works."]


def test_checking_takes_time_as_the_text_is_long():
    """Ten times the text takes not much more than ten times as long."""
    chance = random.Random(3)

    def taken(lines):
        text = "\n".join(f"{chance.choice('abcd')} value_{n % 97} = {n % 1000} in the same place" for n in range(lines))
        messages = [TALK.say("user", "Begin."), TALK.say("assistant", text)]
        summary = "\n".join(f'The value_{n} is {n} in "the same place" of src/a{n}.py.' for n in range(200))
        start = time.process_time()
        verify(summary, evidence_of(messages))
        return time.process_time() - start

    taken(100)
    assert taken(20_000) < 10 * 4 * max(taken(2_000), 0.05)


def test_pages_list_every_event_of_summaries():
    """One page has the payloads, which the adapter's tests compare with what is emitted; the other names its own."""
    row = re.compile(r"^\| `(context:[\w:]+)`(?: \*)? \| [^|]+? \|", re.MULTILINE)
    docs = Path(__file__).resolve().parents[2] / "docs"
    assert set(events.ALL) <= set(row.findall((docs / "reference/events.md").read_text("utf-8")))
    named = set(re.findall(r"`(context:summary_\w+)`", (docs / "guides/summaries.md").read_text("utf-8")))
    assert named == {name for name in events.ALL if name.startswith("context:summary_")}


# -- in a session --


class Liar(ScriptedSummarizer):
    """Says what is true of the conversation, and one lie after the other."""

    def __init__(self, lies):
        super().__init__(lambda number: f"<summary>The tests are refactored. {lies[number % len(lies)]}</summary>")


@STRUCK
@pytest.mark.parametrize("as_turn", [False, True])
def test_no_lie_of_a_summarizer_is_in_any_view(as_turn):
    """What it says of the truth is; an event counts both."""
    lies = [lie for _, lie in LIES]
    watched = begin_summarized(Liar(lies), reuse_prefix=as_turn)
    views = [json.dumps(watched.rounds(1, start=number), ensure_ascii=False) for number in range(180)]
    shown = {lie for lie in lies for view in views if json.dumps(lie, ensure_ascii=False)[1:-1] in view}
    assert shown == set()
    assert "The tests are refactored." in views[-1]
    struck = watched.payloads(events.SUMMARY_CLAIMS_STRUCK)
    assert len(struck) >= 12
    assert {frozenset(payload) for payload in struck} == {frozenset(("lane", "first", "last", "struck", "kept"))}


@STRUCK
def test_what_is_stored_is_the_checked_text():
    """A resumed session sends the same, before and after the summary is in a view."""
    store = MemoryStore()
    watched = begin_summarized(Liar(["The user asked to delete the tests."]), session="s", store=store)
    for number in range(30):
        view = watched.rounds(1, start=number)
        watched.manager.append(TALK.say("assistant", "Further."))
        view = watched.view()
        assert SummarizedSession(None, session="s", store=store).view() == view
    assert "The tests are refactored." in summary_in(view)
    assert b"asked to delete" not in b"".join(stored.record.body for stored in store.read("s"))


@STRUCK
def test_a_summary_of_nothing_but_lies_has_failed():
    """The digest serves, and its reason says why."""
    watched = begin_summarized(
        ScriptedSummarizer(lambda _: "The user asked to delete the tests. It is in /srv/none/such.py.")
    )
    view = watched.rounds(30)
    assert "in short" not in summary_in(view)
    assert "2 sentences were struck out" in watched.payloads(events.SUMMARY_FAILED)[0]["reason"]
    assert watched.payloads(events.SUMMARY_CLAIMS_STRUCK)[0]["kept"] == 0


@STRUCK
def test_summaries_in_parts_are_checked_against_all_of_them():
    """What the first part said is there as well as what the last one said."""
    said = "It said alpha0word in the beginning. It said omega0word. It said gamma0word."
    watched = begin_summarized(
        ScriptedSummarizer(lambda _: f"<summary>{said}</summary>"),
        context_tokens=2_000,
        strategies=["digest"],
    )
    watched.manager.append(TALK.say("assistant", "alpha0word " * 20), TALK.say("user", "go on"))
    for _ in range(60):
        watched.manager.append(TALK.say("assistant", "omega0word " * 150), TALK.say("user", "go on"))
        view = watched.view(token_budget=20_000)
    assert "in short: It said alpha0word in the beginning. It said omega0word." in summary_in(view)
    assert "gamma0word" not in json.dumps(view)


@STRUCK
def test_a_replay_checks_summaries_too():
    """With the summarizer that it was given."""
    manager = Summarizing(
        Asked(Liar(["The user asked to delete the tests."])),
        tokenizer=count_quarter,
        budget=4_000,
        clear_at_least_tokens=None,
    )
    manager.append(TALK.say("user", "Refactor the tests."))
    for number in range(30):
        manager.append(TALK.call([f"c{number}"], "", {"path": f"m{number}.py"}))
        manager.append(*TALK.results([(f"c{number}", f"value_{number} = {number}\n" * 30)]))
        view = manager.get_messages_for_request()
    assert "in short: The tests are refactored." in summary_in(view)
    assert "asked to delete" not in json.dumps(view)
