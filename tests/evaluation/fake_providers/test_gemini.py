"""`generateContent`: signatures of the current turn, order of turns, windows and usage."""

import base64
from copy import deepcopy
from typing import Any

import pytest

from backscroll.evaluation.fake_providers import FakeGemini, FakeProviderError, reply

GO = {"role": "user", "parts": [{"text": "Go."}]}
MISSING = "Function call is missing a thought_signature in functionCall parts"


def calls(*names):
    return {"role": "model", "parts": [{"functionCall": {"name": name, "args": {}}} for name in names]}


def responses(*names):
    return {"role": "user", "parts": [{"functionResponse": {"name": name, "response": {}}} for name in names]}


def says(words):
    return {"role": "model", "parts": [{"text": words}]}


def steps():
    return [
        reply(thinking="One.", calls=[("a", {"x": 1})]),
        reply(calls=[("a", {"x": 2}), ("b", {})]),
        reply("First.", thinking="Two."),
        reply(calls=[("b", {})]),
        *[reply("Done.")] * 9,
    ]


class Turns:
    """A conversation whose `contents` are sent next."""

    def __init__(self, **options):
        self.fake = FakeGemini(replies=steps(), **options)
        self.contents: list[Any] = [deepcopy(GO)]

    def send(self):
        response = self.fake.generate_content(contents=deepcopy(self.contents))
        self.contents.append(response["candidates"][0]["content"])
        return response

    def respond(self):
        parts = [part["functionCall"] for part in self.contents[-1]["parts"] if "functionCall" in part]
        self.contents.append(
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": call["id"], "name": call["name"], "response": {"output": "42"}}}
                    for call in parts
                ],
            }
        )


def tool_loop(**options):
    """Two steps of the current turn; the second has parallel calls."""
    made = Turns(**options)
    for _ in range(2):
        made.send()
        made.respond()
    return made


def later(**options):
    """A turn after the one of `tool_loop`, with one step."""
    made = tool_loop(**options)
    made.send()
    made.contents.append(deepcopy(GO))
    made.send()
    made.respond()
    return made


def signed(made):
    """Content and part of each signature."""
    return [
        (at, number)
        for at, content in enumerate(made.contents)
        for number, part in enumerate(content["parts"])
        if "thoughtSignature" in part
    ]


def test_good_requests_are_answered():
    made = later()
    assert made.send()["candidates"][0]["content"]["parts"] == [{"text": "Done."}]


def test_first_call_of_each_step_is_signed():
    made = later()
    assert signed(made) == [(1, 1), (3, 0), (5, 1), (7, 0)]


@pytest.mark.parametrize("step", [0, 1])
def test_each_step_of_the_current_turn_needs_its_signature(step):
    made = tool_loop()
    at, number = signed(made)[step]
    del made.contents[at]["parts"][number]["thoughtSignature"]
    with pytest.raises(FakeProviderError, match=MISSING) as caught:
        made.send()
    assert caught.value.status_code == 400
    assert caught.value.body["error"]["status"] == "INVALID_ARGUMENT"


def test_earlier_turns_are_not_validated():
    made = later()
    for at, number in signed(made)[:3]:
        del made.contents[at]["parts"][number]["thoughtSignature"]
    made.send()
    at, number = signed(made)[0]
    assert at == 7


def test_earlier_turns_may_be_left_out_whole():
    made = later()
    del made.contents[:6]
    assert made.send()["candidates"]


def test_only_the_newest_words_of_the_user_begin_a_turn():
    """Responses of functions do not."""
    made = later()
    at, number = signed(made)[3]
    del made.contents[at]["parts"][number]["thoughtSignature"]
    with pytest.raises(FakeProviderError, match=MISSING):
        made.send()


def test_older_models_need_no_signature():
    made = tool_loop(model="gemini-2.5-pro")
    for at, number in signed(made):
        del made.contents[at]["parts"][number]["thoughtSignature"]
    assert made.send()["candidates"]


def test_changed_or_moved_signature_is_refused():
    def tamper(made):
        made.contents[1]["parts"][1]["thoughtSignature"] += "AAAA"

    def move(made):
        made.contents[1]["parts"][1]["thoughtSignature"] = made.contents[3]["parts"][0]["thoughtSignature"]

    def edit(made):
        made.contents[1]["parts"][1]["functionCall"]["args"] = {"x": 9}

    for change in (tamper, move, edit):
        made = tool_loop()
        change(made)
        with pytest.raises(FakeProviderError, match="Corrupted thought signature"):
            made.send()


@pytest.mark.parametrize("is_encoded", [True, False])
def test_dummy_signature_serves_for_calls_that_no_model_made(is_encoded):
    fake = FakeGemini()
    contents = [GO, calls("a"), responses("a")]
    with pytest.raises(FakeProviderError, match=MISSING):
        fake.generate_content(contents=contents)
    dummy = "skip_thought_signature_validator"
    made = deepcopy(contents)
    made[1]["parts"][0]["thoughtSignature"] = base64.b64encode(dummy.encode()).decode() if is_encoded else dummy
    assert fake.generate_content(contents=made)["candidates"]


def test_names_of_the_client_and_bytes_are_read():
    made = tool_loop()
    for content in made.contents:
        for part in content["parts"]:
            for camel, snake in (("functionCall", "function_call"), ("functionResponse", "function_response")):
                if camel in part:
                    part[snake] = part.pop(camel)
            if "thoughtSignature" in part:
                part["thought_signature"] = base64.b64decode(part.pop("thoughtSignature"))
    assert made.fake.generate_content(contents=made.contents)["candidates"]


COUNT = "number of function response parts is equal to the number of function call parts"
REFUSED = {
    "nothing": ([], "contents is not specified"),
    "first model": ([says("Hi."), GO], "start with a user role"),
    "last model": ([GO, says("Hi.")], "end with a user role"),
    "role assistant": ([{**says("Hi."), "role": "assistant"}], "Please use a valid role: user, model"),
    "no parts": ([{"role": "user", "parts": []}], "parts must not be empty"),
    "two data fields": ([{"parts": [{"text": "a", "inlineData": {}}]}], "required oneof field 'data'"),
    "no data field": ([{"parts": [{"thought": True}]}], "required oneof field 'data'"),
    "foreign field": ([{"parts": [{"text": "a", "cache_control": {}}]}], 'Unknown name "cacheControl"'),
    "unanswered": ([GO, calls("a"), GO], COUNT),
    "half answered": ([GO, calls("a", "b"), responses("a")], COUNT),
    "answered twice": ([GO, calls("a"), responses("a", "a")], COUNT),
    "another function": ([GO, calls("a"), responses("b")], "match the function calls"),
    "response without call": ([GO, says("Hi."), responses("a")], "comes immediately after a function call turn"),
    "response first": ([responses("a")], "comes immediately after a function call turn"),
    "call after model": ([GO, says("Hi."), calls("a"), responses("a")], "comes immediately after a user turn"),
    "call by user": ([{**calls("a"), "role": "user"}], "comes from the model"),
    "response by model": ([GO, calls("a"), {**responses("a"), "role": "model"}], "comes from the user"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_request_is_refused_with_the_text(name):
    contents, expected = REFUSED[name]
    with pytest.raises(FakeProviderError, match=expected) as caught:
        FakeGemini(model="gemini-2.5-flash").generate_content(contents=contents)
    assert caught.value.status_code == 400


def test_responses_of_parallel_calls_come_in_any_order():
    made = tool_loop()
    made.contents[-1]["parts"].reverse()
    assert made.send()["candidates"]


def test_unset_role_and_plain_text_are_the_users():
    fake = FakeGemini()
    assert fake.generate_content(contents="Go.")["candidates"]
    assert fake.generate_content(contents=[{"parts": [{"text": "Go."}]}])["candidates"]


def test_overflow_has_the_text_with_both_numbers():
    with pytest.raises(FakeProviderError, match="input token count") as caught:
        FakeGemini(window=10, count=len).generate_content(contents="x" * 10)
    expected = "The input token count (30) exceeds the maximum number of tokens allowed (10)."
    assert caught.value.message == expected


def test_unknown_model_is_not_found():
    with pytest.raises(FakeProviderError, match="is not found") as caught:
        FakeGemini().generate_content(model="gpt-6.2-sol", contents="Go.")
    assert caught.value.status_code == 404


@pytest.mark.parametrize(("model", "minimum"), [("gemini-4-argon", 4096), ("gemini-2.5-pro", 2048)])
def test_usage_is_counted_by_hand(model, minimum):
    """A part of the user has 20 characters and its words, a thought 28 and its words."""
    fake = FakeGemini(model=model, count=len, replies=[reply("Done.", thinking="Hm.")] * 3)
    for size, cached in ((minimum, minimum), (minimum - 1, 0)):
        words = "x" * (size - len('["user",{"text":""}]'))
        first, second = (fake.generate_content(contents=words)["usageMetadata"] for _ in range(2))
        assert (first["promptTokenCount"], first["cachedContentTokenCount"]) == (size, 0)
        assert (second["promptTokenCount"], second["cachedContentTokenCount"]) == (size, cached)
        total = second["promptTokenCount"] + second["candidatesTokenCount"] + second["thoughtsTokenCount"]
        assert second["totalTokenCount"] == total
        assert first["thoughtsTokenCount"] == len('{"text":"Hm.","thought":true}')


def test_two_fakes_answer_alike():
    assert later().contents == later().contents
