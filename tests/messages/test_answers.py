"""What clients answer, appended as it is: kept as it came, and sent as a request takes it."""

import json
from typing import Any

import pytest

from backscroll import BudgetError, ContextManager, MessageError
from backscroll.evaluation.strangers import strangers
from backscroll.evaluation.validity import problems
from tests.fakes import count_quarter
from tests.messages.answers import BETA, BLOCKS, CHAT, CONVERSE, called, chat, spoken, text, use
from tests.messages.requested import faults

openai = pytest.importorskip("openai.types.chat")
anthropic = pytest.importorskip("anthropic.types")
beta = pytest.importorskip("anthropic.types.beta")

HELLO = {"role": "user", "content": "Which colour is it?"}
OWN = ("metadata",)
"""Keys that are the host's own, and that it takes out before it sends a view."""


def sent(answer: Any) -> dict[str, Any]:
    """What a view shows of an answer that was appended."""
    context = ContextManager(tokenizer=count_quarter)
    context.append(HELLO, answer)
    view: list[dict[str, Any]] = context.get_messages_for_request()
    assert view[0] == HELLO
    (message,) = view[1:2]
    return message


def kept(answer: Any) -> Any:
    """What the history has of an answer that was appended."""
    context = ContextManager(tokenizer=count_quarter)
    context.append(HELLO, answer)
    return context.get_messages()[1]


def completed(message: dict[str, Any]) -> Any:
    return openai.ChatCompletion.model_validate(chat(message))


def replied(blocks: list[dict[str, Any]]) -> Any:
    return anthropic.Message.model_validate(spoken(*blocks))


def better(blocks: list[dict[str, Any]]) -> Any:
    return beta.BetaMessage.model_validate(spoken(*blocks))


FORMS = {
    "message": lambda answer: answer.choices[0].message,
    "choice": lambda answer: answer.choices[0],
    "answer": lambda answer: answer,
    "dumped message": lambda answer: answer.choices[0].message.model_dump(),
    "dumped answer": lambda answer: answer.model_dump(),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("said", CHAT)
def test_chat_answer_is_sent_as_a_request_takes_it(said, form):
    """Nothing that a request does not know, and all of what was said."""
    answer = completed(CHAT[said])
    message = sent(FORMS[form](answer))
    assert faults(message, openai.ChatCompletionMessageParam) == []
    known = {"content": None, **CHAT[said]}
    expected = {key: value for key, value in known.items() if key == "content" or value not in (None, [])}
    expected.pop("annotations", None)
    if said == "speech":
        expected["audio"] = {"id": "audio_1"}
    assert message == {"role": "assistant", **expected}


@pytest.mark.parametrize("said", CHAT)
def test_chat_message_is_kept_as_it_came(said):
    """The history has everything that the message of the answer holds."""
    message = completed(CHAT[said]).choices[0].message
    assert kept(message) == kept(message.model_dump()) == message.model_dump()


def test_parsed_chat_answer_is_sent_without_what_was_parsed():
    """What a client made of an answer stays with the client."""
    from openai.types.chat import ParsedChatCompletionMessage

    parsed = {**CHAT["text"], "parsed": {"colour": "red"}, **called("c1", arguments='{"a": 1}')}
    parsed["tool_calls"][0]["function"]["parsed_arguments"] = {"a": 1}
    parsed["tool_calls"][0]["index"] = 0
    answer = ParsedChatCompletionMessage.model_validate({"role": "assistant", **parsed})
    for each in (answer, answer.model_dump()):
        message = sent(each)
        assert faults(message, openai.ChatCompletionMessageParam) == []
        assert message == {"role": "assistant", "content": "It is red.", **called("c1", arguments='{"a": 1}')}


@pytest.mark.parametrize("form", ["message", "dumped", "blocks", "dumped blocks"])
@pytest.mark.parametrize("said", [*BLOCKS, *BETA])
def test_anthropic_answer_is_sent_as_a_request_takes_it(said, form):
    """As the whole answer, and as its blocks in a message of the caller's own."""
    blocks = BLOCKS.get(said) or BETA[said]
    answer = replied(blocks) if said in BLOCKS else better(blocks)
    message = sent(
        {
            "message": answer,
            "dumped": answer.model_dump(),
            "blocks": {"role": "assistant", "content": answer.content},
            "dumped blocks": {"role": "assistant", "content": [block.model_dump() for block in answer.content]},
        }[form]
    )
    assert faults(message, anthropic.MessageParam if said in BLOCKS else beta.BetaMessageParam) == []
    assert message.keys() == {"role", "content"}
    assert [block["type"] for block in message["content"]] == [block["type"] for block in blocks]
    for shown, given in zip(message["content"], blocks, strict=True):
        said = {key: value for key, value in given.items() if value is not None or key == "content"}
        assert shown == {key: _cited(key, value) for key, value in said.items()}


def _cited(key: str, value: Any) -> Any:
    """Citations without the id of a file, which only answers have."""
    if key != "citations":
        return value
    return [{name: item for name, item in citation.items() if name != "file_id"} for citation in value]


def test_anthropic_answer_is_kept_as_it_came():
    """The history has everything that the answer holds."""
    answer = replied(BLOCKS["call"])
    assert kept(answer) == kept(answer.model_dump()) == answer.model_dump()


def test_anthropic_json_is_sent_as_a_request_takes_it():
    """As from `invoke_model`, whose body is JSON."""
    message = sent(spoken(*BLOCKS["thinking"]))
    assert faults(message, anthropic.MessageParam) == []
    assert message["content"][:2] == BLOCKS["thinking"][:2]


@pytest.mark.parametrize("answer", [CONVERSE, CONVERSE["output"], CONVERSE["output"]["message"]], ids=len)
def test_converse_answer_is_sent_as_a_request_takes_it(answer):
    """As the response, as its output and as the message in it."""
    botocore = pytest.importorskip("botocore.session")
    from botocore.validate import ParamValidator  # type: ignore[import-untyped]  # botocore ships no types

    service = botocore.get_session().get_service_model("bedrock-runtime")
    shape = service.operation_model("Converse").input_shape.members["messages"]
    message = sent(answer)
    assert ParamValidator().validate([HELLO | {"content": [{"text": "a"}]}, message], shape).generate_report() == ""
    assert message == CONVERSE["output"]["message"]


@pytest.mark.parametrize(
    "own",
    [
        {"name": "planner"},
        {"metadata": {"pinned": True, "note": None}},
        {"cache_control": {"type": "ephemeral"}},
        {"reasoning_content": ""},
        {"reasoning_content": "Hm.", "reasoning_details": [{"type": "text", "format": None}]},
        {"refusal": "I cannot."},
        {"audio": {"id": "audio_1"}},
        {"agent": {"colour": None}},
    ],
    ids=lambda own: next(iter(own)),
)
def test_own_fields_of_a_message_are_sent(own):
    """What a caller put there, or another provider wants back, stays, with the nulls in it."""
    message = {"role": "assistant", "content": "It is red.", **own}
    assert sent(message) == message
    answer = completed(CHAT["text"]).choices[0].message
    assert sent({**answer.model_dump(), **own}) == message


def test_own_flags_of_an_anthropic_answer_are_kept():
    """`metadata`, which says how a message is treated, stays where a caller put it."""
    flags = {"metadata": {"pinned": True}}
    assert sent({**replied(BLOCKS["text"]).model_dump(), **flags})["metadata"] == {"pinned": True}


def test_nulls_of_other_roles_are_sent_as_they_are():
    """What a user or a tool said is no answer of a client."""
    messages = [
        {"role": "user", "content": "a", "name": None},
        {"role": "assistant", "content": None, **called("c1")},
        {"role": "tool", "tool_call_id": "c1", "content": "", "extra": None},
    ]
    context = ContextManager(tokenizer=count_quarter)
    context.append(*messages)
    assert context.get_messages_for_request() == messages


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda: openai.ChatCompletion.model_validate(chat(CHAT["text"], CHAT["text"])), r"2 choices.*choices\[0\]"),
        (lambda: chat(CHAT["text"], CHAT["text"]), r"2 choices.*choices\[0\]"),
        (lambda: {**chat(CHAT["text"]), "choices": []}, r"no choice"),
        (lambda: {"choices": [{"index": 0, "delta": {"content": "It"}}]}, "a chunk of a stream.*whole message"),
        (lambda: {"object": "response", "output": [], "status": "failed"}, "no items .its status is 'failed'"),
        (
            lambda: {"object": "response", "output": [{"type": "reasoning", "summary": []}], "status": "incomplete"},
            "only reasoning .its status is 'incomplete'",
        ),
        (lambda: {"object": "response.compaction", "output": []}, r"append\(\*compacted\.output\)"),
        (lambda: {"type": "later_call", "call_id": "c1"}, "has no role.*items of the type 'later_call'"),
        (lambda: {"output": {"guardrail": 1}}, "has no role"),
        (lambda: {"choices": "secret"}, "has no role"),
    ],
)
def test_answer_that_is_no_message_says_what_to_append(answer, words):
    """The error names what it is and what to append, and nothing is added."""
    context = ContextManager(tokenizer=count_quarter)
    with pytest.raises(MessageError, match=words):
        context.append(answer())
    assert context.get_messages() == []


def test_answer_is_redacted_as_the_message_in_it():
    """`redact` gets what the history would keep."""
    seen: list[Any] = []
    context = ContextManager(tokenizer=count_quarter, redact=lambda message: seen.append(dict(message)) or message)  # type: ignore[func-returns-value]  # noted, and then handed on
    context.append(HELLO, completed(CHAT["text"]))
    assert seen[-1] == completed(CHAT["text"]).choices[0].message.model_dump()


def rounds(dialect: str, number: int) -> list[Any]:
    """One turn of an agent's loop that appends what its client answers."""
    name, words = f"c{number}", f"line {number}: all is well\n" * 30
    if dialect == "openai":
        return [
            completed({**called(name), "content": f"I look at {number}."}).choices[0].message,
            {"role": "tool", "tool_call_id": name, "content": words},
            completed({"content": f"Done with {number}. " * 10}),
            {"role": "user", "content": f"And {number + 1}?"},
        ]
    content = [{"type": "tool_result", "tool_use_id": name, "content": words}]
    return [
        replied([*BLOCKS["thinking"], use(name, path="a.py " * 50, line=None)]),
        {"role": "user", "content": content},
        replied(BLOCKS["cited characters"] + [text(f"Done with {number}. " * 10)]),
        {"role": "user", "content": [{"type": "text", "text": f"And {number + 1}?"}]},
    ]


@pytest.mark.parametrize("budget", [500, *(pytest.param(most, marks=pytest.mark.long) for most in (1_500, 100_000))])
@pytest.mark.parametrize(("dialect", "kind"), [("openai", openai), ("anthropic", anthropic)])
def test_long_session_of_answers_sends_only_what_requests_take(dialect, kind, budget):
    """In every view, compacted or not, each message is one that the client's own types take, and the judge agrees."""
    takes = kind.ChatCompletionMessageParam if dialect == "openai" else kind.MessageParam
    context = ContextManager(tokenizer=count_quarter, clear_at_least_tokens=150)
    context.append(HELLO)
    for number in range(25):
        for message in rounds(dialect, number):
            context.append(message)
            if context.open_calls():
                continue
            try:
                view = context.get_messages_for_request(token_budget=budget)
            except BudgetError:
                continue
            assert [fault for message in view for fault in faults(message, takes)] == []
            assert problems(view, context.get_messages()) == []
            assert strangers(view, context.get_messages()) == []
    if budget < 100_000:
        assert "[ref:" in json.dumps(view)
