"""What a view heals: each rule, in each dialect that has it, with its event, the session's one warning and `explain()`.

The history keeps what it was given. `docs/troubleshooting/healed.md` explains each rule.
"""

import json
import warnings
from typing import Any, get_args

import pytest

from backscroll import BackscrollWarning, events
from backscroll.evaluation.validity import problems
from backscroll.manager.importing import ImportingManager
from backscroll.messages.heal_rules import SENT, HealRule
from backscroll.stores.memory import MemoryStore
from tests.builders import DIALECTS, MessageFactory
from tests.fakes import count_quarter
from tests.odd.healed_examples import CASES, EVERY, Message, empty_text, go
from tests.odd.walk import refusal

SAYS_SO = "cannot be sent as it is|is the result of"


def opened(seen: list[tuple[str, Message]] | None = None, **options: Any) -> ImportingManager:
    return ImportingManager(
        tokenizer=count_quarter,
        on_event=lambda name, payload: None if seen is None else seen.append((name, payload)),
        **options,
    )


def heals(seen: list[tuple[str, Message]]) -> list[tuple[int, str]]:
    return [(payload["seq"], payload["rule"]) for name, payload in seen if name == events.HEALED]


def test_each_rule_has_its_case():
    assert set(CASES) == set(get_args(HealRule)) == set(SENT)


@EVERY
def test_view_sends_what_the_provider_takes_and_says(rule, dialect):
    """The healed message in the dialect's own shape; the history has what it was given."""
    messages, said, gone = CASES[rule](MessageFactory(dialect))
    with opened() as context:
        context.append(*messages)
        view = context.get_messages_for_request()
        assert context.get_messages() == messages
    text = json.dumps(view)
    assert [each for each in said if each not in text] == []
    assert [each for each in gone if each in text] == []
    assert problems(view, messages) == []
    assert dialect == "amplifier" or refusal(dialect, view) == ""


@EVERY
def test_healed_message_has_one_event_however_often_it_is_sent(rule, dialect):
    """With its rule and what was sent instead; and the same view is sent again."""
    messages, _, _ = CASES[rule](MessageFactory(dialect))
    seen: list[tuple[str, Message]] = []
    with opened(seen) as context:
        context.append(*messages)
        first = context.get_messages_for_request()
        context.append(MessageFactory(dialect).say("user", "one more thing"))
        assert context.get_messages_for_request()[: len(first)] == first
        context.compact()
        context.get_messages_for_request()
    found = heals(seen)
    assert [each for each in found if each[1] == rule]
    assert len(found) == len(set(found))
    assert all(payload["sent"] == SENT[payload["rule"]] for name, payload in seen if name == events.HEALED)


@EVERY
def test_session_warns_once_of_what_it_heals(rule, dialect):
    """At the first odd message of any kind; nothing is refused for data that is there twice, so that warns never."""
    talk = MessageFactory(dialect)
    messages, _, _ = CASES[rule](talk)
    seen: list[tuple[str, Message]] = []
    with warnings.catch_warnings(record=True) as caught, opened(seen) as context:
        warnings.simplefilter("always")
        for _ in range(2):
            context.append(*messages)
            context.get_messages_for_request()
        context.append(*empty_text(talk)[0])
        context.get_messages_for_request()
    odd = [payload for name, payload in seen if name == events.HISTORY_ODD]
    assert len(odd) == 1
    assert rule == "data_twice" or (odd[0]["seq"], odd[0]["rule"]) in heals(seen)
    said = [each for each in caught if "cannot be sent as it is" in str(each.message)]
    assert [each.category for each in said] == [BackscrollWarning]
    assert SENT[odd[0]["rule"]] in str(said[0].message)


@EVERY
def test_explain_says_how_a_message_was_healed(rule, dialect):
    """Also where the session is opened again, before any request."""
    messages, _, _ = CASES[rule](MessageFactory(dialect))
    seen: list[tuple[str, Message]] = []
    store = MemoryStore()
    with opened(seen, session="s", store=store) as context:
        context.append(*messages)
        view = context.get_messages_for_request()
        explained = context.explain()
    healed = {seq for seq, _ in heals(seen)}
    assert {each.seq for each in explained if each.state == "healed"} == healed
    (at,) = {seq for seq, by in heals(seen) if by == rule}
    assert SENT[rule] in explained[at].reason
    with opened(session="s", store=store) as again:
        assert again.explain() == explained
        assert again.get_messages_for_request() == view


@pytest.mark.parametrize("dialect", DIALECTS)
def test_sound_conversation_is_sent_as_it_is(dialect):
    talk = MessageFactory(dialect)
    seen: list[tuple[str, Message]] = []
    with opened(seen) as context:
        context.append(go(talk), talk.call(["c1", "c2"], "I look.", {"path": "a"}))
        context.append(*talk.results([("c1", "found"), ("c2", "nothing")]), talk.say("assistant", "Done."), go(talk))
        context.get_messages_for_request()
        assert {each.state for each in context.explain()} == {"whole"}
    assert heals(seen) == []
    assert events.HISTORY_ODD not in {name for name, _ in seen}


def test_message_that_joins_a_group_that_was_shown_has_its_event():
    """The provider paused, and goes on with an answer that holds a blank text."""
    call = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "red"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    talk = MessageFactory("anthropic")
    seen: list[tuple[str, Message]] = []
    with opened(seen) as context:
        context.append(go(talk), {"role": "assistant", "content": [call]})
        assert context.get_messages_for_request()[-1]["content"] == [call]
        said = [{"type": "text", "text": " "}, {"type": "text", "text": "It is red."}]
        context.append({"role": "assistant", "content": [found, *said]}, go(talk))
        view = context.get_messages_for_request()
    assert [message["content"] for message in view[1:3]] == [[call], [found, said[1]]]
    assert heals(seen) == [(2, "empty_text")]


def test_reason_of_a_message_with_two_faults_names_both():
    talk = MessageFactory("anthropic")
    blocks = [{"type": "text", "text": ""}, {"type": "text", "text": "caf\udce9"}]
    seen: list[tuple[str, Message]] = []
    with opened(seen) as context:
        context.append({"role": "user", "content": blocks}, talk.say("assistant", "Hm."), go(talk))
        assert context.get_messages_for_request()[0]["content"] == [{"type": "text", "text": "caf\ufffd"}]
        reason = context.explain()[0].reason
    assert sorted(heals(seen)) == [(0, "empty_text"), (0, "lone_surrogate")]
    assert SENT["empty_text"] in reason
    assert SENT["lone_surrogate"] in reason
