"""Answers of Gemini, as JSON and as objects of google-genai: kept whole as JSON, and sent without their nulls."""

import base64
import json
from typing import Any

import pytest

from backscroll import ContextManager, MessageError
from backscroll.evaluation.fake_providers import FakeGemini, reply
from tests.fakes import count_quarter

SIGNATURE = b"\xff\xfe\x01>?"
TEXT = base64.b64encode(SIGNATURE).decode()


class Dumped:
    """An object as google-genai makes them: a dump has snake_case keys, nulls for what is not there, and bytes."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def model_dump(self) -> Any:
        return self.held


def content(role: str | None = "model") -> dict[str, Any]:
    call = {"id": "c", "name": "read", "args": {"path": None}, "partial_args": None}
    parts = [
        {"text": "Hm.", "thought": True, "function_call": None, "thought_signature": None},
        {"text": None, "thought": None, "function_call": call, "thought_signature": SIGNATURE},
    ]
    return {"role": role, "parts": parts}


def added(*answers: Any) -> ContextManager:
    manager = ContextManager(tokenizer=count_quarter)
    manager.append({"role": "user", "parts": [{"text": "go"}]}, *answers)
    return manager


@pytest.mark.parametrize(
    "answer",
    [
        content(),
        Dumped(content()),
        {"role": "model", "parts": [Dumped(part) for part in content()["parts"]]},
        {"content": content(), "finish_reason": "STOP", "index": 0},
        Dumped({"candidates": [{"content": content(None), "finish_reason": "STOP"}], "usage_metadata": {}}),
    ],
    ids=["content", "object", "objects of parts", "candidate", "response"],
)
def test_answer_in_any_form_is_kept_as_json_and_sent_bare(answer):
    manager = added(answer)
    kept = manager.get_messages()[-1]
    assert json.loads(json.dumps(kept)) == kept
    assert kept["parts"][1]["thought_signature"] == TEXT
    assert kept["parts"][1]["text"] is None
    assert manager.get_messages_for_request()[1] == {
        "role": "model",
        "parts": [
            {"text": "Hm.", "thought": True},
            {
                "function_call": {"id": "c", "name": "read", "args": {"path": None}},
                "thought_signature": TEXT,
            },
        ],
    }
    manager.close()


def test_whole_response_of_the_wire_is_the_content_in_it():
    response = FakeGemini(replies=[reply("Done.", thinking="Hm.")]).generate_content(contents="go")
    manager = added(response)
    assert manager.get_messages()[-1] == response["candidates"][0]["content"]
    assert manager.get_messages_for_request()[-1] == response["candidates"][0]["content"]
    manager.close()


def test_nulls_of_a_user_and_of_a_response_are_not_sent():
    """What a tool returned stays as it is."""
    picture = {"file_data": None, "inline_data": {"mime_type": "image/png", "data": b"\x89PNG", "display_name": None}}
    response = {"name": "read", "response": {"found": None}, "id": "c", "parts": [picture], "scheduling": None}
    answered = {"role": "user", "parts": [{"function_response": response, "text": None}]}
    manager = added(content(), answered)
    shown = {"inline_data": {"mime_type": "image/png", "data": base64.b64encode(b"\x89PNG").decode()}}
    sent = {"name": "read", "response": {"found": None}, "id": "c", "parts": [shown]}
    assert manager.get_messages_for_request()[-1] == {"role": "user", "parts": [{"function_response": sent}]}
    manager.close()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"candidates": []}, "a response with no candidates is no message"),
        ({"candidates": None}, "a response with no candidates is no message"),
        ({"candidates": [{"content": content()}] * 2}, "a response with 2 candidates is no message"),
        ({"candidates": [{"content": None, "finishReason": "SAFETY"}]}, "no content .it finished with 'SAFETY'"),
        ({"candidates": [{"content": {"role": "model"}, "finish_reason": "STOP"}]}, "no content .it finished"),
        ({"content": "Hi."}, "has no role"),
        ({"role": "user", "content": [{"data": b"1"}]}, "bytes, which JSON cannot hold; encode it as base64"),
    ],
)
def test_answer_without_one_content_says_so(answer, words):
    with pytest.raises(MessageError, match=words):
        added(answer)


# -- objects of the client itself --


def objects() -> tuple[Any, Any]:
    types = pytest.importorskip("google.genai.types")
    call = types.FunctionCall(name="read", args={"path": None}, id="c")
    parts = [types.Part(text="Hm.", thought=True), types.Part(function_call=call, thought_signature=SIGNATURE)]
    return types, types.Content(role="model", parts=parts)


@pytest.mark.parametrize("form", ["content", "candidate", "response"])
def test_view_of_google_genai_is_what_its_client_takes(form):
    """The client reads the base64 of a view back into the bytes that it gave."""
    types, made = objects()
    candidate = types.Candidate(content=made)
    answer = {
        "content": made,
        "candidate": candidate,
        "response": types.GenerateContentResponse(candidates=[candidate]),
    }
    asked = types.UserContent(
        parts=[types.Part.from_text(text="go"), types.Part.from_bytes(data=b"1", mime_type="a/b")]
    )
    found = types.Part.from_function_response(name="read", response={"output": "found"})
    manager = ContextManager(tokenizer=count_quarter)
    manager.append(asked, answer[form], types.Content(role="user", parts=[found]))
    view = manager.get_messages_for_request()
    again = [types.Content.model_validate(message) for message in json.loads(json.dumps(view))]
    assert again == [types.Content(**asked.model_dump()), made, types.Content(role="user", parts=[found])]
    sent = [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in again]
    assert sent[1]["parts"][1]["thoughtSignature"] == base64.urlsafe_b64encode(SIGNATURE).decode()
    manager.close()
