"""Marks for the prompt cache in views of Bedrock's Converse: blocks of their own."""

import pytest

from backscroll import CacheMarks, ContextManager
from backscroll.messages.cache_marks import in_blocks

POINT = {"cachePoint": {"type": "default"}}
MODEL = "us.anthropic.claude-opus-5-5-20260922-v1:0"


def said(text, role="user"):
    return {"role": role, "content": [{"text": text}]}


def step(first, number):
    """A round of so many parallel calls."""
    numbers = range(first, first + number)
    ids = [f"call{each}" for each in numbers]
    uses = [{"toolUse": {"toolUseId": known, "name": "read", "input": {"cachePoint": "an argument"}}} for known in ids]
    results = [{"toolResult": {"toolUseId": known, "content": [{"text": "yes"}], "status": "success"}} for known in ids]
    return [{"role": "assistant", "content": uses}, {"role": "user", "content": results}]


def begun(marks="auto", **options):
    manager = ContextManager(model=MODEL, cache_marks=marks, **options)
    manager.append({"role": "system", "content": "Be brief."}, said("Begin."))
    return manager


def points(view):
    """Message and block of each mark."""
    return [
        (at, number)
        for at, message in enumerate(view)
        for number, block in enumerate(message["content"])
        if "cachePoint" in block
    ]


def bare(view):
    return [in_blocks(message) for message in view]


def test_points_are_behind_system_and_newest_message():
    with begun() as manager:
        view = manager.get_messages_for_request()
    assert view == [
        {"role": "system", "content": [{"text": "Be brief."}, POINT]},
        {"role": "user", "content": [{"text": "Begin."}, POINT]},
    ]


def test_next_request_keeps_the_point_of_the_previous_newest():
    """Without the marks, each view extends the one before."""
    with begun() as manager:
        before = bare(manager.get_messages_for_request())
        manager.append(*step(0, 3))
        view = manager.get_messages_for_request()
        assert points(view) == [(0, 1), (1, 1), (3, 3)]
        assert bare(view)[:2] == before
        manager.append(*step(3, 1))
        again = manager.get_messages_for_request()
    assert points(again) == [(0, 1), (3, 3), (5, 1)]
    assert bare(again)[:4] == bare(view)


def test_large_step_gets_a_point_between():
    with begun() as manager:
        manager.get_messages_for_request()
        manager.append(*step(0, 15))
        view = manager.get_messages_for_request()
    assert len(points(view)) == 4
    assert points(view)[0] == (0, 1)
    assert points(view)[-1] == (3, len(view[3]["content"]) - 1)
    assert all(block == POINT for at, number in points(view) for block in [view[at]["content"][number]])


def test_points_of_the_caller_are_taken_out_of_the_view_only():
    """A request has at most four, and an argument of a call is none."""
    given = [{"role": "user", "content": [{"text": f"{at}"}, POINT]} for at in range(6)]
    given = [message for at, user in enumerate(given) for message in (said(f"so {at}", "assistant"), user)]
    with begun() as manager:
        manager.append(*given)
        view = manager.get_messages_for_request()
        assert manager.get_messages()[2:] == given
    assert points(view) == [(0, 1), (13, 1)]
    assert [message["content"] for message in bare(view)[3:5]] == [[{"text": "0"}], [{"text": "so 1"}]]


@pytest.mark.filterwarnings("ignore:the request of lane 'main' ends with the model's own message")
def test_reasoning_bears_no_point_and_a_blank_text_is_not_sent():
    thought = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s"}}}
    with begun() as manager:
        manager.append({"role": "assistant", "content": [{"text": "Yes."}, thought, {"text": " "}]})
        view = manager.get_messages_for_request()
    assert view[-1]["content"] == [{"text": "Yes."}, POINT, thought]


def test_points_of_one_hour_say_so():
    with begun(CacheMarks("auto", ttl="5m", system_ttl="1h")) as manager:
        view = manager.get_messages_for_request()
    assert view[0]["content"][1] == {"cachePoint": {"type": "default", "ttl": "1h"}}
    assert view[1]["content"][1] == POINT


def test_texts_are_blocks_of_the_session_dialect():
    """A text before the first message of Converse comes in its form as well, in each view alike."""
    with ContextManager(cache_marks="anthropic") as manager:
        manager.append({"role": "user", "content": "Begin."})
        assert manager.get_messages_for_request()[0]["content"][0]["type"] == "text"
        manager.append(*step(0, 1))
        first = manager.get_messages_for_request()
        assert first[0]["content"] == [{"text": "Begin."}, POINT]
        manager.append(*step(1, 1))
        assert bare(manager.get_messages_for_request())[:3] == bare(first)
        manager.rewind(0)
        assert manager.get_messages_for_request()[0]["content"][0]["type"] == "text"


def test_strands_and_the_client_accept_the_points():
    """Strands' formatting passes them on, and botocore's model of the operation knows them."""
    bedrock = pytest.importorskip("strands.models.bedrock")
    boto3 = pytest.importorskip("boto3")
    validate = pytest.importorskip("botocore.validate")
    session = boto3.Session("none", "none", region_name="us-east-1")
    model = bedrock.BedrockModel(boto_session=session, model_id=MODEL)
    with begun(CacheMarks("auto", system_ttl="1h")) as manager:
        manager.get_messages_for_request()
        manager.append(*step(0, 15))
        view = manager.get_messages_for_request()
    system = [block for message in view if message["role"] == "system" for block in message["content"]]
    messages = [message for message in view if message["role"] != "system"]
    request = model.format_request(messages, None, system)
    assert request["system"] == system
    assert points(request["messages"]) == points(messages)
    operation = session.client("bedrock-runtime").meta.service_model.operation_model("Converse")
    report = validate.ParamValidator().validate({**request, "messages": request["messages"]}, operation.input_shape)
    assert not report.has_errors(), report.generate_report()
