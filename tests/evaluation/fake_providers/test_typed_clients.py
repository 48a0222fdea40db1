"""The responses parse as the types of the real clients, and what these send back is accepted."""

import pytest
from pydantic import TypeAdapter

from backscroll.evaluation.fake_providers import (
    FakeAnthropic,
    FakeBedrock,
    FakeGemini,
    FakeOpenAIChat,
    FakeOpenAIResponses,
    reply,
)
from tests.evaluation.fake_providers import bad_bedrock
from tests.evaluation.fake_providers.talks import Items, Talk, items, replies, talk, text

pytestmark = pytest.mark.peer


def anthropic_types():
    return pytest.importorskip("anthropic.types.beta")


def openai_types():
    return pytest.importorskip("openai.types.responses")


def test_anthropic_responses_parse():
    types = anthropic_types()
    made = talk()
    made.messages.append({"role": "assistant", "content": [text("From elsewhere.")]})
    made.say(text("Next."))
    for request in (made.request, {**made.request, "model": "claude-fable-5-2"}):
        response = made.fake.create(**request)
        parsed = types.BetaMessage.model_validate(response)
        assert parsed.usage.cache_creation.ephemeral_5m_input_tokens == 0
        assert [each.model_dump() for each in parsed.input_transformations] == response["input_transformations"]
    assert len(parsed.input_transformations) == 5


def test_anthropic_answers_sent_back_by_the_client_are_accepted():
    """The client sends of its own types the fields that were set."""
    types = anthropic_types()
    made = Talk(FakeAnthropic(replies=replies()))
    made.say(text("Go."))
    for _ in range(6):
        parsed = types.BetaMessage.model_validate(made.send())
        made.messages[-1]["content"] = [block.model_dump(exclude_unset=True, mode="json") for block in parsed.content]
        calls = [block for block in made.messages[-1]["content"] if block["type"] == "tool_use"]
        made.results() if calls else made.say(text("Next."))
    assert made.send()["input_transformations"] == []


def test_anthropic_compactions_parse():
    types = anthropic_types()
    made = talk()
    response = made.fake.create(**made.request, compaction={"type": "summarize"})
    parsed = types.BetaMessage.model_validate(response)
    assert parsed.content[0].signature == response["content"][0]["signature"]
    assert parsed.usage.iterations[0].type == "compaction"
    assert parsed.stop_reason == "compaction"


def test_openai_responses_parse():
    types = openai_types()
    made = items()
    made.items[0]["content"] = "Changed."
    response = made.fake.create(**made.request)
    parsed = types.Response.model_validate(response)
    assert [item.type for item in parsed.output] == ["reasoning", "message"]
    assert [each.model_dump() for each in parsed.input_transformations] == response["input_transformations"]
    assert parsed.usage.input_tokens_details.cached_tokens == 0


def test_openai_calls_and_compactions_parse():
    types = openai_types()
    made = Items(FakeOpenAIResponses(replies=[reply(calls=[("a", {"x": 1})]), *replies()]))
    assert types.Response.model_validate(made.send()).output[0].arguments == '{"x":1}'
    made.results()
    response = made.fake.compact(input=made.items)
    compaction = types.CompactedResponse.model_validate({**response, "output": response["output"][-1:]})
    assert compaction.output[0].encrypted_content == response["output"][-1]["encrypted_content"]


def test_openai_requests_are_of_the_clients_types():
    params = pytest.importorskip("openai.types.responses.response_input_item_param")
    adapter = TypeAdapter(params.ResponseInputItemParam)
    for item in items().items:
        adapter.validate_python(item)


def test_gemini_responses_parse():
    types = pytest.importorskip("google.genai.types")
    fake = FakeGemini(replies=[reply("Hm.", thinking="One.", calls=[("a", {"x": 1})])])
    parsed = types.GenerateContentResponse.model_validate(fake.generate_content(contents="Go."))
    assert parsed.candidates[0].content.parts[-1].thought_signature.startswith(b"sig_")
    assert parsed.usage_metadata.thoughts_token_count > 0
    again = [
        {"role": "user", "parts": [{"text": "Go."}]},
        parsed.candidates[0].content.model_dump(exclude_none=True),
        {"role": "user", "parts": [{"functionResponse": {"name": "a", "response": {}}}]},
    ]
    assert fake.generate_content(contents=again)["candidates"]


def test_chat_completions_parse():
    types = pytest.importorskip("openai.types.chat")
    fake = FakeOpenAIChat(replies=[reply("Hm.", calls=[("a", {"x": 1})])])
    parsed = types.ChatCompletion.model_validate(fake.create(messages=[{"role": "user", "content": "Go."}]))
    assert parsed.choices[0].message.tool_calls[0].function.arguments == '{"x":1}'
    assert parsed.usage.prompt_tokens_details.cached_tokens == 0


@pytest.fixture(scope="module")
def converse():
    """Botocore's own check of a request, and the shape of a response."""
    loaders = pytest.importorskip("botocore.loaders")
    model, validate = pytest.importorskip("botocore.model"), pytest.importorskip("botocore.validate")
    service = model.ServiceModel(loaders.Loader().load_service_model("bedrock-runtime", "service-2"))
    operation = service.operation_model("Converse")
    return validate.ParamValidator(), operation


@pytest.mark.parametrize(("rule", "request_", "expected"), list(bad_bedrock.bad_requests()))
def test_client_of_bedrock_refuses_the_same_shapes(converse, rule, request_, expected):
    """`tool-config` is the service's rule, which the client also has for an empty object."""
    validator, operation = converse
    report = validator.validate({"modelId": "m", **request_}, operation.input_shape)
    assert report.has_errors() == (rule in ("shape", "tool-config"))


def test_converse_responses_parse(converse):
    validator, operation = converse
    fake = FakeBedrock(replies=[reply("Hm.", thinking="One.", calls=[("a", {"x": 1})])])
    response = fake.converse(messages=[bad_bedrock.GO])
    assert not validator.validate(response, operation.output_shape).has_errors()
