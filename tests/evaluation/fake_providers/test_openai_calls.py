"""Calls of the Responses API: their type follows from the tool that the request offers."""

import pytest

from backscroll.evaluation.fake_providers import FakeOpenAIResponses, FakeProviderError, reply

FUNCTION = {"type": "function", "name": "find", "parameters": {"type": "object"}}
CUSTOM = {"type": "custom", "name": "exec"}
SPACE = {"type": "namespace", "name": "files", "tools": [FUNCTION, CUSTOM]}
SEARCH = {"type": "tool_search", "execution": "client"}
ASKED = {"type": "message", "role": "user", "content": "Go on."}


def called(name, arguments, *tools, items=()):
    """The call in an answer."""
    fake = FakeOpenAIResponses(replies=[reply(calls=[(name, arguments)])])
    (item,) = fake.create(input=[*items, ASKED], tools=list(tools), store=False)["output"]
    return {key: value for key, value in item.items() if key not in ("id", "call_id", "status")}


def test_call_has_the_type_of_its_tool():
    assert called("find", {"a": 1}, FUNCTION) == {"type": "function_call", "name": "find", "arguments": '{"a":1}'}
    assert called("exec", {"input": "ls"}, CUSTOM) == {"type": "custom_tool_call", "name": "exec", "input": "ls"}
    found = called("tool_search", {"query": "a"}, SEARCH)
    assert found == {"type": "tool_search_call", "execution": "client", "arguments": {"query": "a"}}


@pytest.mark.parametrize("kind", ["additional_tools", "tool_search_output"])
def test_call_of_a_tool_in_an_item(kind):
    """In a namespace, which the call names."""
    call = [] if kind == "additional_tools" else [{"type": "tool_search_call", "call_id": "c1", "arguments": {}}]
    items = [*call, {"type": kind, "role": "developer", "call_id": "c1", "tools": [SPACE]}]
    found = called("files.exec", {"input": "ls"}, items=items)
    assert found == {"type": "custom_tool_call", "name": "exec", "input": "ls", "namespace": "files"}


def test_search_for_tools_needs_its_output():
    with pytest.raises(FakeProviderError, match="No tool output found for tool search call c1"):
        called("find", {}, items=[{"type": "tool_search_call", "call_id": "c1", "arguments": {}}])


def test_sealed_reasoning_needs_no_id():
    """OpenCode sends none; reasoning that is not sealed is known by its id alone."""
    fake = FakeOpenAIResponses(replies=[reply("Yes.", thinking="Hm.")])
    reasoning, said = fake.create(input=[ASKED], store=False)["output"]
    bare = {key: value for key, value in reasoning.items() if key != "id"}
    fake.create(input=[ASKED, bare, said, ASKED], store=False)
    with pytest.raises(FakeProviderError, match=r"input\[1\]\.id"):
        fake.create(input=[ASKED, {**bare, "encrypted_content": None}, said, ASKED], store=False)
