"""What a view heals: each rule, in each dialect that has it, with its event, the session's one warning and `explain()`.

The history keeps what it was given. `docs/troubleshooting/healed.md` explains each rule.
"""

import json
import warnings
from collections.abc import Callable
from typing import Any, get_args

import pytest

from backscroll import BackscrollWarning, events
from backscroll.evaluation.validity import problems
from backscroll.manager.importing import ImportingManager
from backscroll.messages.heal_rules import SENT, HealRule
from backscroll.stores.memory import MemoryStore
from tests.builders import DIALECTS, MessageFactory
from tests.fakes import count_quarter
from tests.odd.walk import refusal

Message = dict[str, Any]
Case = tuple[list[Message], list[str], list[str]]
"""Messages, of which one is healed by the rule, and texts that the JSON of the view has, and that it has not."""
WAITING = (
    "[no result recorded] Still waiting: the result may come later, or the process ended before this was recorded."
)
CUT = '{"path": "src/app'


def go(talk: MessageFactory) -> Message:
    return talk.say("user", "go")


def called(talk: MessageFactory) -> Message:
    """A call, without reasoning that no provider made."""
    message = talk.call(["c1"], "I look.", {})
    if talk.dialect == "responses":
        message["content"] = [item for item in message["content"] if item["type"] != "reasoning"]
    return message


def framed(lines: str, said: str) -> str:
    return json.dumps(f"{lines}:\n<result>\n{said}\n</result>")[1:-1]


def second_result(talk: MessageFactory) -> Case:
    rounds = [called(talk), *talk.results([("c1", "first")]), *talk.results([("c1", "second")])]
    return [go(talk), *rounds], ['"first"', framed("Later result of run (c1) [ref:3]", "second")], [WAITING]


def late_result(talk: MessageFactory) -> Case:
    waited = [called(talk), talk.say("user", "wait"), *talk.results([("c1", "late")])]
    return [go(talk), *waited], [WAITING, framed("Later result of run (c1) [ref:3]", "late")], []


def unknown_call(talk: MessageFactory) -> Case:
    answered = [called(talk), *talk.results([("c1", "found")]), *talk.results([("c9", "whose?")])]
    return [go(talk), *answered], [framed("Result of an unknown call c9 [ref:3]", "whose?")], [WAITING]


def server_pair(talk: MessageFactory) -> Case:
    call = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "red"}}
    said = {"type": "text", "text": "I search."}
    if talk.dialect == "interactions":
        call = {"type": "google_search_call", "id": "srvtoolu_1", "arguments": {"queries": ["red"]}}
        said = {"type": "model_output", "content": [said]}
    return [go(talk), {"role": "assistant", "content": [said, call]}, go(talk)], ["I search."], ["srvtoolu_1"]


def cut_arguments(talk: MessageFactory) -> Case:
    message = called(talk)
    block = message.get("content", message.get("parts"))[-1]
    if "tool_calls" in message:
        call = message["tool_calls"][0]
        call.get("function", call)["arguments"] = CUT
        if talk.dialect == "amplifier":
            message["content"] = message["content"][:1]
    elif talk.dialect == "responses":
        block["arguments"] = CUT
    elif talk.dialect == "gemini":
        message["parts"][-1] = {"functionCall": {**block["functionCall"], "args": CUT}}
    elif talk.dialect == "interactions":
        block["arguments"] = CUT
    else:
        block.get("toolUse", block)["input"] = CUT
    cut = "The call was cut off before its arguments were complete, and was not run. They begin: "
    is_text = talk.dialect in ("openai", "amplifier", "responses")  # elsewhere the placeholder quotes it as JSON
    began = json.dumps(CUT if is_text else json.dumps(CUT))[1:-1]
    key = {"anthropic": "input", "bedrock": "input", "gemini": "args"}.get(talk.dialect, "arguments")
    empty = json.dumps({key: "{}" if talk.dialect in ("openai", "responses") else {}})[1:-1]
    return [go(talk), message, talk.say("user", "again")], [cut + began, empty], []


def empty_text(talk: MessageFactory) -> Case:
    nothing = {"role": "model", "parts": [{"text": " "}]}
    if talk.dialect == "bedrock":
        nothing = {"role": "assistant", "content": [{"text": "\n"}]}
    elif talk.dialect == "interactions":
        nothing = talk.say("assistant", "\n")
        nothing["content"] = nothing["content"][-1:]
    elif talk.dialect != "gemini":
        nothing = {"role": "assistant", "content": ""}
    return [go(talk), nothing, talk.say("user", "and?")], ["and?"], ['""', '" "', "\\n"]


def lone_surrogate(talk: MessageFactory) -> Case:
    found = [called(talk), *talk.results([("c1", "caf\udce9 au lait")])]
    return [go(talk), *found], ["caf\\ufffd au lait"], ["udce9"]


def reasoning_alone(talk: MessageFactory) -> Case:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "b3BhcXVl"}
    if talk.dialect == "interactions":
        thought = {"type": "thought", "signature": "rs_1"}
    return [go(talk), {"role": "assistant", "content": [thought]}, talk.say("user", "again")], ["again"], ["rs_1"]


def open_call(talk: MessageFactory) -> Case:
    return [go(talk), called(talk)], [WAITING], []


def result_not_text(talk: MessageFactory) -> Case:
    value = {"row": 1}
    call, sent = called(talk), '"{\\"row\\":1}"'
    blocks: dict[str, Message] = {
        "openai": {"role": "tool", "tool_call_id": "c1", "content": value},
        "responses": {"role": "tool", "content": [{"type": "function_call_output", "call_id": "c1", "output": value}]},
        "anthropic": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": value}]},
        "bedrock": {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": value}}]},
        "interactions": {
            "role": "user",
            "content": [{"type": "function_result", "call_id": "c1", "result": [value, 1]}],
        },
        "gemini": {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "run", "response": 7}}]},
    }
    others = {"gemini": '{"result": 7}', "interactions": '"[{\\"row\\":1},1]"'}
    return [go(talk), call, blocks[talk.dialect]], [others.get(talk.dialect, sent)], []


def data_twice(talk: MessageFactory) -> Case:
    data = {"rows": [f"row {number} of the table" for number in range(9)]}
    text = json.dumps({"content": [{"type": "text", "text": json.dumps(data)}], "structuredContent": data})
    return [go(talk), called(talk), *talk.results([("c1", text)])], ["row 8 of the table"], []


ONLY: dict[str, tuple[str, ...]] = {
    "server_pair": ("anthropic", "interactions"),
    "reasoning_alone": ("responses", "interactions"),
    "result_not_text": ("openai", "responses", "anthropic", "bedrock", "gemini", "interactions"),
}
"""The dialects of rules that not all of them have."""
CASES: dict[str, Callable[[MessageFactory], Case]] = {
    case.__name__: case
    for case in (
        second_result, late_result, unknown_call, server_pair, cut_arguments, empty_text, lone_surrogate,
        reasoning_alone, open_call, result_not_text, data_twice,
    )
}  # fmt: skip  # one table
EVERY = pytest.mark.parametrize(
    ("rule", "dialect"), [(rule, dialect) for rule in CASES for dialect in ONLY.get(rule, DIALECTS)]
)
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
