"""Contents in Gemini's dialect, and back: what a view leaves as it is stays the same object."""

import base64
import json
import math
from typing import Any

from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from backscroll import ContextManager
from backscroll.integrations.adk.translation import ADKTranslation
from tests.integrations import world

TRANSLATION = ADKTranslation()
TEXTS = st.text(max_size=20)
NAMES = st.sampled_from(["order", "read"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=2)
IDS = st.sampled_from([None, "a", "b"])
SIGNED = st.none() | st.binary(min_size=1, max_size=8)
DATA = st.binary(min_size=1, max_size=20)
BLOBS = st.builds(types.Blob, data=DATA, mime_type=st.sampled_from(["image/png", "audio/wav", "application/pdf"]))
SHOWN = st.lists(
    st.builds(
        lambda data: types.FunctionResponsePart(
            inline_data=types.FunctionResponseBlob(data=data, mime_type="image/png")
        ),
        DATA,
    ),
    max_size=2,
)
PARTS = st.one_of(
    st.builds(types.Part, text=TEXTS, thought=st.none() | st.booleans(), thought_signature=SIGNED),
    st.builds(
        types.Part,
        function_call=st.builds(types.FunctionCall, id=IDS, name=NAMES, args=st.none() | OBJECTS),
        thought_signature=SIGNED,
    ),
    st.builds(
        types.Part,
        function_response=st.builds(
            types.FunctionResponse, id=IDS, name=NAMES, response=OBJECTS, parts=st.none() | SHOWN
        ),
    ),
    st.builds(types.Part, inline_data=BLOBS),
    st.sampled_from([
        types.Part(file_data=types.FileData(file_uri="gs://a/b.pdf", mime_type="application/pdf")),
        types.Part(executable_code=types.ExecutableCode(code="1 + 1", language=types.Language.PYTHON)),
        types.Part(code_execution_result=types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK, output="2")),
    ]),
)  # fmt: skip  # one list
CONTENTS = st.builds(types.Content, role=st.sampled_from(["user", "model"]), parts=st.lists(PARTS, max_size=4))


def back(message: dict[str, Any], natives: list[Any]) -> Any:
    """The content that becomes of a message; nearly each field of one may be None."""
    return TRANSLATION.to_native(message, natives)


@given(CONTENTS)
def test_an_unchanged_content_has_its_own_parts(native):
    before = native.model_copy(deep=True)
    message = json.loads(json.dumps(TRANSLATION.to_message(native), allow_nan=False))
    made = back(message, [native])
    assert len(made.parts) == len(native.parts) == len(message["parts"])
    assert all(any(one is own for own in native.parts) for one in made.parts)
    assert repr(native) == repr(before)
    assert made.role == native.role


@given(CONTENTS)
def test_every_content_is_one_that_a_manager_takes(native):
    with ContextManager(budget=10_000) as context:
        if native.parts and native.role == "user" and not any(part.function_call for part in native.parts):
            context.append(TRANSLATION.to_message(native))
            assert len(context.get_messages()) == 1


@given(CONTENTS, TEXTS)
def test_a_changed_text_changes_its_part_only(native, text):
    message = TRANSLATION.to_message(native)
    at = next((at for at, part in enumerate(message["parts"]) if "text" in part), None)
    if at is None:
        return
    before = repr(native)
    message["parts"][at]["text"] = changed = f"changed {text}"
    made = back(message, [native])
    assert made.parts[at].text == changed
    assert made.parts[at].thought_signature == native.parts[at].thought_signature
    assert [any(one is own for own in native.parts) for one in made.parts].count(False) == 1
    assert repr(native) == before


def model_content(*parts: types.Part) -> Any:
    return types.Content(role="model", parts=list(parts))


def test_shortened_arguments_are_those_of_a_copy():
    call = types.FunctionCall(id="c", name="save", args={"text": "long"})
    native = model_content(types.Part(text="so"), types.Part(function_call=call, thought_signature=b"sig"))
    message = TRANSLATION.to_message(native)
    message["parts"][1]["function_call"]["args"] = {"text": "s"}
    made = back(message, [native])
    assert made.parts[0] is native.parts[0]
    assert made.parts[1].function_call.model_dump(exclude_none=True) == {
        "id": "c",
        "name": "save",
        "args": {"text": "s"},
    }
    assert made.parts[1].thought_signature == b"sig"
    assert call.args == {"text": "long"}


def test_a_shortened_response_keeps_its_pictures():
    picture = types.FunctionResponsePart(inline_data=types.FunctionResponseBlob(data=b"x", mime_type="image/png"))
    response = types.FunctionResponse(name="look", response={"result": "long"}, parts=[picture], will_continue=False)
    native = types.Content(role="user", parts=[types.Part(function_response=response)])
    message = TRANSLATION.to_message(native)
    message["parts"][0]["function_response"]["response"] = {"result": "short"}
    made = back(message, [native]).parts[0].function_response
    assert made.response == {"result": "short"}
    assert made.will_continue is False
    assert made.parts[0] is picture
    message["parts"][0]["function_response"]["parts"][0] = {
        "inlineData": {"mimeType": "text/plain", "data": base64.b64encode(b"[image left out]").decode()}
    }
    made = back(message, [native]).parts[0].function_response
    assert (made.parts[0].inline_data.data, made.parts[0].inline_data.mime_type) == (b"[image left out]", "text/plain")
    assert response.parts == [picture]


def test_a_picture_that_left_becomes_a_text():
    picture = types.Part(inline_data=types.Blob(data=base64.b64decode(world.PNG[:76]), mime_type="image/png"))
    native: Any = types.Content(role="user", parts=[types.Part(text="look"), picture, types.Part(text="and say")])
    message = TRANSLATION.to_message(native)
    message["parts"][1] = {"text": "[image left out]"}
    made = back(message, [native])
    assert [part.text for part in made.parts] == ["look", "[image left out]", "and say"]
    assert made.parts[0] is native.parts[0]
    assert made.parts[2] is native.parts[2]


def test_a_signature_that_left_is_taken_off_a_copy():
    native = model_content(types.Part(text="Hm.", thought_signature=b"sig"))
    made = back({"role": "model", "parts": [{"text": "Hm."}]}, [native])
    assert (made.parts[0].text, made.parts[0].thought_signature) == ("Hm.", None)
    assert native.parts[0].thought_signature == b"sig"


def test_what_backscroll_writes_is_plain():
    said = back({"role": "model", "parts": [{"text": "<summary>"}]}, [])
    assert (said.role, said.parts) == ("model", [types.Part(text="<summary>")])
    said = back({"role": "assistant", "content": "so far"}, [])
    assert (said.role, said.parts[0].text) == ("model", "so far")
    answer: Any = {"functionResponse": {"name": "order", "response": {"error": "[no result recorded]"}}}
    made = back({"role": "user", "parts": [answer]}, [])
    assert made.parts[0].function_response.response == {"error": "[no result recorded]"}


def test_data_is_base64_as_the_wire_has_it():
    native = types.Content(
        role="user", parts=[types.Part(inline_data=types.Blob(data=b"\xff\xfe\xfd", mime_type="image/png"))]
    )
    assert TRANSLATION.to_message(native)["parts"][0]["inline_data"]["data"] == "//79"


def test_values_that_are_no_json_are_stored_as_texts():
    response = types.FunctionResponse(name="order", response={"result": math.nan, "of": object})
    message = TRANSLATION.to_message(types.Content(role="user", parts=[types.Part(function_response=response)]))
    assert message["parts"][0]["function_response"]["response"] == {"result": None, "of": "<class 'object'>"}


def test_contents_are_the_same_by_what_they_say():
    def said(text: str, data: bytes) -> object:
        return TRANSLATION.says(
            types.Content(role="user", parts=[types.Part(text=text), types.Part(inline_data=types.Blob(data=data))])
        )

    assert said("a", b"x") == said("a", b"x")
    assert said("a", b"x") != said("b", b"x")
    assert said("a", b"x") != said("a", b"y")
