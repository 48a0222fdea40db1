"""Contents of Gemini: what is read in them, which response answers which call, and what edits leave of them."""

import base64
import json
import random
from typing import Any

import pytest

from backscroll import ContextManager, MessageError, Protection
from backscroll.evaluation.validity import problems
from backscroll.history.history import Entry
from backscroll.history.loading import load
from backscroll.manager.driver import run_unlocked
from backscroll.messages import Media, read_message
from backscroll.messages.rewriter import plain, replace, replaceable
from backscroll.view.rendering import WAITING
from tests.builders import PIXEL, parts
from tests.fakes import count_quarter

Message = dict[str, Any]
PICTURE = {"inlineData": {"mimeType": "image/png", "data": PIXEL}}


def model(*found: Message) -> Message:
    return {"role": "model", "parts": list(found)}


def user(*found: Message) -> Message:
    return {"role": "user", "parts": list(found)}


def call(name: str, id: str | None = None, **more: Any) -> Message:
    known = {} if id is None else {"id": id}
    return {"functionCall": {**known, "name": name, "args": {"of": name}}, **more}


def answer(name: str, text: str, id: str | None = None) -> Message:
    known = {} if id is None else {"id": id}
    return {"functionResponse": {**known, "name": name, "response": {"output": text}}}


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"text": "Hi."}, [("text", "parts.0.text", "Hi.")]),
        ({"text": "Hm.", "thought": True}, [("reasoning", "parts.0.text", "Hm.")]),
        (
            {"text": "Hi.", "thoughtSignature": "c2ln"},
            [("text", "parts.0.text", "Hi."), ("reasoning", "parts.0.thoughtSignature", "c2ln")],
        ),
        ({"text": None, "thought_signature": "c2ln"}, [("reasoning", "parts.0.thought_signature", "c2ln")]),
        (PICTURE, [("media", "parts.0", Media("image", PIXEL))]),
        ({"inline_data": {"mime_type": "audio/wav", "data": "UklG"}}, [("media", "parts.0", Media("audio", "UklG"))]),
        ({"fileData": {"mimeType": "video/mp4", "fileUri": "gs://v"}}, [("media", "parts.0", Media("video", None))]),
        ({"fileData": {"mimeType": "application/pdf"}}, [("media", "parts.0", Media("document", None))]),
        (
            {"functionCall": {"id": "c", "name": "run", "args": {"a": None}}},
            [("call", "parts.0.functionCall.args", '{"a":null}', "function: c", "run")],
        ),
        (
            {"function_call": {"name": "run"}, "text": None},
            [("call", "parts.0.function_call.args", "", "function:run #0", "run")],
        ),
        (
            {"functionResponse": {"id": "c", "name": "run", "response": {"output": "ok"}}},
            [("result", "parts.0.functionResponse.response.output", "ok", "function: c")],
        ),
        (
            {"function_response": {"name": "run", "response": {"error": {"code": 5}}}},
            [("result", "parts.0.function_response.response.error", '{"code":5}', "function:run")],
        ),
        (
            {"functionResponse": {"name": "run", "response": {"a": 1, "b": 2}, "parts": [PICTURE]}},
            [
                ("result", "parts.0.functionResponse.response", '{"a":1,"b":2}', "function:run"),
                ("media", "parts.0.functionResponse.parts.0", Media("image", PIXEL), "function:run"),
            ],
        ),
        (
            {"executableCode": {"language": "PYTHON", "code": "1+1"}},
            [("opaque", "parts.0", '{"executableCode":{"language":"PYTHON","code":"1+1"}}')],
        ),
        ({"toolCall": {"id": "t", "args": {}}}, [("opaque", "parts.0", '{"toolCall":{"id":"t","args":{}}}')]),
    ],
)
def test_every_part_is_read(part, expected):
    assert parts(model(part)) == expected


def test_roles_are_those_of_other_dialects():
    assert read_message(model({"text": "Hi."})).role == "assistant"
    assert read_message(user({"text": "Hi."})).is_user_turn
    assert read_message(user({"text": "Hi."}, answer("run", "ok"))).is_user_turn
    assert not read_message(user(answer("run", "ok"))).is_user_turn
    assert read_message({"role": "system", "parts": [{"text": "Be brief."}]}).is_system


def test_a_signed_part_is_never_edited_and_others_are():
    """A signature holds for its own part."""
    reading = read_message(model({"text": "a"}, call("run", "c", thoughtSignature="c2ln"), call("run", "d")))
    assert [part.text for part in reading.parts if replaceable(reading, part)] == ["a", '{"of":"run"}']
    assert not reading.is_sealed  # Gemini binds no reasoning to what comes before it


def test_a_signature_counts_by_its_bytes():
    """As a text, its base64 would count far more than what a model reads of it."""
    manager = ContextManager()
    manager.append(user({"text": "go"}))
    before = manager.usage().used.tokens
    manager.append(
        model({"text": "", "thoughtSignature": base64.b64encode(random.Random(1).randbytes(4_000)).decode()})
    )
    assert 1_000 <= manager.usage().used.tokens - before <= 1_400
    manager.close()


def test_edits_leave_objects():
    """Of a call its `args`, of a response its `response`, and a response of media holds media."""
    called = model(call("run"))
    assert replace(called, read_message(called), {0: '{"a":1}'}) == model(
        {"functionCall": {"name": "run", "args": {"a": 1}}}
    )
    responses = user(
        {"functionResponse": {"name": "run", "response": {"output": "x" * 9}}},
        {"functionResponse": {"name": "run", "response": {"error": ["x"]}}},
        {"function_response": {"name": "run", "response": {"a": "x", "b": "y"}, "parts": [PICTURE]}},
        PICTURE,
    )
    cut = replace(responses, read_message(responses), {0: "a", 1: "b", 2: "c", 3: "\ud83dd", 4: "e"})
    left = {"inlineData": {"mimeType": "text/plain", "data": "P2Q="}}
    assert cut == user(
        {"functionResponse": {"name": "run", "response": {"output": "a"}}},
        {"functionResponse": {"name": "run", "response": {"error": "b"}}},
        {"function_response": {"name": "run", "response": {"output": "c"}, "parts": [left]}},
        {"text": "e"},
    )


def test_synthetic_messages_have_the_shape_of_the_history():
    like = user({"text": "go"})
    assert plain("assistant", "hm", like) == model({"text": "hm"})
    assert plain("user", "hm", like) == user({"text": "hm"})


# -- which response answers which call --


def texts_by_call(manager: ContextManager) -> list[list[str]]:
    """For each message with calls, the texts of their results, as the history pairs them."""
    history, seqs = manager._session.history, range(manager.append() + 1)
    if manager._session.journal is not None:
        run_unlocked(load(history, manager._session.reader, seqs))
    entries: list[Entry] = [history.entry(seq) for seq in seqs]
    found = []
    for entry in entries:
        members = [history.entry(seq) for seq in entry.group.members if seq > entry.seq]
        results = {part.id: part.text for each in members for part in each.reading.parts if part.kind == "result"}
        if entry.reading.calls:
            found.append([results.get(known, "open") for known in entry.reading.calls])
    return found


def paired(*messages: Message) -> list[list[str]]:
    manager = ContextManager(tokenizer=count_quarter)
    manager.append(user({"text": "go"}), *messages)
    try:
        return texts_by_call(manager)
    finally:
        manager.close()


@pytest.mark.parametrize("ids", [(None, None, None), ("a", "b", "c"), ("a", None, "c")])
def test_responses_without_ids_are_paired_by_name_and_order(ids):
    calls = model(*[call(name, known) for name, known in zip(("read", "list", "read"), ids, strict=True)])
    together = user(answer("list", "l"), answer("read", "r1"), answer("read", "r2"))
    assert paired(calls, together) == [["r1", "l", "r2"]]
    assert paired(calls, *[user(part) for part in together["parts"]]) == [["r1", "l", "r2"]]


def test_ids_decide_where_both_have_them():
    calls = model(call("read", "a"), call("read", "b"))
    assert paired(calls, user(answer("read", "of b", "b"), answer("read", "of a", "a"))) == [["of a", "of b"]]
    assert paired(calls, user(answer("read", "rest"), answer("read", "of a", "a"))) == [["of a", "rest"]]


def test_response_without_an_id_answers_the_nearest_call():
    assert paired(
        model(call("read", "a")),
        user({"text": "never mind"}),
        model(call("read", "b")),
        user(answer("read", "of b")),
    ) == [["open"], ["of b"]]


def test_response_to_nothing_is_sent_as_text():
    manager = ContextManager(tokenizer=count_quarter)
    calls = model(call("read", "a"))
    manager.append(user({"text": "go"}), calls, user(answer("write", "w"), answer("read", "r", "b")))
    manager.append(user({"text": "well?"}))
    view = manager.get_messages_for_request()
    missing = {"functionResponse": {"id": "a", "name": "read", "response": {"error": WAITING}}}
    frame = "Result of an unknown call {} [ref:2]:\n<result>\n{}\n</result>"
    late = user({"text": frame.format("write", "w")}, {"text": frame.format("b", "r")})
    bridge = model({"text": "<summary>The conversation goes on here.</summary>"})
    assert view == [user({"text": "go"}), calls, user(missing), bridge, late, user({"text": "well?"})]
    assert problems(view, manager.get_messages()) == []
    manager.close()


def test_pairs_are_the_same_once_loaded_from_the_store(tmp_path):
    """The window of a session evicts messages; what is loaded again is paired as it was."""
    options: Any = {"session": "s", "store": f"sqlite:///{tmp_path}/a.db", "tokenizer": count_quarter, "budget": 2_000}
    manager = ContextManager(**options)
    manager.append(user({"text": "go"}))
    for number in range(30):
        manager.append(
            model(call("read", f"a{number}"), call("read", f"b{number}")),
            user(answer("read", f"first {number} " * 40), answer("read", f"second {number}")),
        )
        manager.get_messages_for_request()
    expected = [[f"first {number} " * 40, f"second {number}"] for number in range(30)]
    assert texts_by_call(manager) == expected
    manager.close()
    again = ContextManager(**options)
    assert texts_by_call(again) == expected
    again.append(model(call("read", "last")), user(answer("read", "new")))
    assert texts_by_call(again)[-1] == ["new"]
    again.close()


def test_another_writer_may_answer_without_an_id():
    """Two managers on one session: the calls of one are answered by the other, which knows them by name."""
    from backscroll.stores.memory import MemoryStore

    store = MemoryStore()
    one, other = (ContextManager(session="s", store=store, tokenizer=count_quarter) for _ in range(2))
    one.append(user({"text": "go"}), model(call("read", "a")))
    other.append(user(answer("read", "found")))
    assert other.get_messages_for_request()[-1] == user(answer("read", "found"))
    one.close()
    other.close()


# -- views --


def test_view_of_gemini_begins_with_the_user():
    manager = ContextManager(tokenizer=count_quarter)
    manager.append({"role": "system", "content": "Be brief."}, model({"text": "Hello."}), user({"text": "Hi."}))
    system, begun, *rest = manager.get_messages_for_request()
    assert system == {"role": "system", "content": "Be brief."}
    assert begun["role"] == "user"
    assert rest == [model({"text": "Hello."}), user({"text": "Hi."})]
    manager.close()


def test_compacted_view_has_the_shape_of_gemini():
    """A history begins with a system message of another shape; what is synthetic is a content all the same."""
    manager = ContextManager(tokenizer=count_quarter, budget=3_000, protect=Protection(results=1))
    said = [{"role": "system", "content": "Be brief."}, user({"text": "go"})]
    for number in range(120):
        said += [model(call("read", thoughtSignature="c2ln")), user(answer("read", f"{number} is fine\n" * 90))]
    manager.append(*said)
    view = manager.get_messages_for_request()
    assert "<summary>" in json.dumps(view)
    assert problems(view, said) == []
    assert {message["role"] for message in view[1:]} == {"user", "model"}
    assert all(type(message["parts"]) is list and message.keys() == {"role", "parts"} for message in view[1:])
    manager.close()


def test_user_without_a_role_and_a_role_of_none():
    manager = ContextManager(tokenizer=count_quarter)
    manager.append({"parts": [{"text": "go"}]}, {"role": None, "parts": [{"text": "on"}]})
    assert manager.get_messages() == [user({"text": "go"}), user({"text": "on"})]
    with pytest.raises(MessageError, match="role"):
        manager.append({"role": None, "content": "go"})
    manager.close()
