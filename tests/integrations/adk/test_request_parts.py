"""What the framework, tools and callbacks add to one request, and what callbacks take away."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.base_tool import BaseTool
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from backscroll.integrations.adk.request import system_of
from backscroll.integrations.adk.request_parts import RequestParts
from tests.integrations import world
from tests.integrations.adk.agents import Running, agent_of, order, plugin_of, running
from tests.integrations.adk.scripted import Scripted, as_gemini, chat, one_turn, text, text_of
from tests.present import present

pytestmark = pytest.mark.frameworks


def said(words: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=words)])


def worked(turns: int = 1, *, model: Scripted | None = None, context: Any = None, **options: Any) -> Any:
    """What an agent sent, and what was stored of it."""
    model = model or Scripted(one_turn)
    run = running(model, **options)

    async def work() -> None:
        for turn in range(turns):
            await run.hear(world.asked(turn), model_input_context=context(turn) if context else None)

    asyncio.run(work())
    return model, run


def stays_out(model: Scripted, run: Running, *phrases: str) -> None:
    """Each request has each phrase once, the conversation none, and views keep their prefix."""
    assert len(model.requests) >= world.TURN
    for phrase in phrases:
        assert [text_of(request).count(phrase) for request in model.requests] == [1] * len(model.requests)
        assert phrase not in str(run.stored)
    assert len(run.stored) == 2 * len(model.requests) - 1
    usage = run.conversation.usage("small")
    assert usage.compactions > 0
    plain = [
        [each for each in request if not any(phrase in text_of([each]) for phrase in phrases)]
        for request in model.requests
    ]
    assert world.broken_prefixes(list(map(as_gemini, plain))) <= usage.compactions


def test_a_dynamic_instruction_is_in_the_request_only():
    model, run = worked(2, static_instruction="You serve a shop.", instruction="Today is Monday.")
    stays_out(model, run, "Today is Monday.")
    assert model.configs[0].system_instruction.startswith("You serve a shop.")
    assert "Today is Monday." in model.requests[9][-1].parts[0].text, "behind the newest result, as it was"
    first = next(at for at, each in enumerate(model.requests[20]) if "Monday" in text_of([each]))
    assert text_of(model.requests[20][first + 1 :]) == world.asked(1)


class Memory(BaseTool):
    """A tool that adds what it remembers to each request, as the framework's own do."""

    def __init__(self, add: Callable[[LlmRequest, types.Content], None]) -> None:
        super().__init__(name="memory", description="remembers")
        self.add, self.number = add, 0

    async def process_llm_request(self, *, tool_context: Any, llm_request: LlmRequest) -> None:
        self.number += 1
        self.add(llm_request, said(f"you remember {self.number}"))


def inserted(request: LlmRequest, content: types.Content) -> None:
    request._insert_transient_user_content([content])


def appended(request: LlmRequest, content: types.Content) -> None:
    request.contents.append(content)


@pytest.mark.parametrize("add", [inserted, pytest.param(appended, marks=pytest.mark.long)])
def test_what_a_tool_adds_is_in_the_request_only(add):
    model, run = worked(tools=[order, Memory(add)])
    stays_out(model, run, "you remember")
    if add is appended:
        assert all("you remember" in text_of(request[-1:]) for request in model.requests)


def test_the_input_context_of_a_run_is_in_its_requests_only():
    model, run = worked(2, context=lambda turn: [said(f"known of turn {turn}"), said("and more")])
    stays_out(model, run, "known of turn", "and more")
    for at, turn in ((0, 0), (9, 0), (20, 1)):
        texts = [text_of([each]) for each in model.requests[at]]
        assert texts[texts.index("and more") - 1] == f"known of turn {turn}"


def test_a_static_instruction_with_a_picture_is_in_front():
    picture = types.Part(inline_data=types.Blob(data=b"picture", mime_type="image/png"))
    static = types.Content(role="user", parts=[types.Part(text="Look like this."), picture])
    model, run = worked(model=Scripted(counts=False), static_instruction=static)
    stays_out(model, run, "Referenced inline data")
    assert all(request[0].parts[1].inline_data.data == b"picture" for request in model.requests)


def edited(edit: Callable[[list[types.Content]], Any], turns: int = 1) -> Any:
    def callback(callback_context: Any, llm_request: LlmRequest) -> None:
        llm_request.contents = edit(list(llm_request.contents))

    return worked(turns, before_model_callback=callback)


@pytest.mark.parametrize(
    ("front", "end"), [pytest.param(1, 0, marks=pytest.mark.long), pytest.param(0, 1, marks=pytest.mark.long), (1, 1)]
)
def test_what_a_callback_puts_at_an_end_is_in_the_request_only(front, end):
    first, last = [said("in front")] * front, [said("at the end")] * end
    model, run = edited(lambda contents: [*first, *contents, *last])
    stays_out(model, run, *map(text_of, filter(None, [first, last])))
    assert all(request[:front] == first and request[len(request) - end :] == last for request in model.requests)


def masked(contents: list[types.Content]) -> list[types.Content]:
    return [
        said(text_of([each]).replace("customer", "person"))
        if each.role == "user" and present(each.parts)[0].text
        else each
        for each in contents
    ]


def test_an_edit_by_a_callback_reaches_the_model_and_the_store():
    model, run = edited(masked)
    assert "orders of customer" not in "".join(map(text_of, model.requests))
    assert "orders of customer" not in str(run.stored)
    assert "orders of person" in str(run.stored)
    assert "orders of customer" in text_of(run.contents)
    assert run.conversation.usage("small").compactions > 0


def test_a_window_of_a_callback_is_named_and_respected():
    with pytest.warns(RuntimeWarning, match="a callback removed contents of the conversation"):
        model, run = edited(lambda contents: contents[:1] + contents[-2:] if len(contents) > 3 else contents, 1)
    assert all(len(request) <= 3 for request in model.requests)
    assert len(run.contents) == 40


def test_words_of_another_agent_are_part_of_the_conversation():
    """The framework writes them into contents of the user."""
    plugin = plugin_of(budget=20_000)
    helper_model, model = Scripted(chat, model="helping"), Scripted(transferring)
    run = running(model, plugin=plugin, sub_agents=[agent_of(helper_model, plugin, name="helper")])
    run.say("hello")
    run.say("and now?")
    for request, whole in zip(helper_model.requests, run.recorder.given[1:], strict=True):
        assert list(map(id, request)) == list(map(id, whole))
    stored = asyncio.run(plugin.conversation(run.session, "helper").get_messages())
    assert "For context:" in str(stored)
    assert len(stored) == len(helper_model.requests[-1])


def transferring(step: int, contents: list[types.Content]) -> list[types.Part]:
    if step:
        return text("back")
    return [types.Part(function_call=types.FunctionCall(name="transfer_to_agent", args={"agent_name": "helper"}))]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (None, None),
        ("", None),
        ("Be brief.", "Be brief."),
        (types.Part(text="Be brief."), "Be brief."),
        (types.Content(parts=[types.Part(text="Be"), types.Part(text="brief.")]), "Be\n\nbrief."),
        (["Be", types.Part(text="brief.")], "Be\n\nbrief."),
    ],
)
def test_the_system_prompt_is_read_in_every_form(given, text):
    assert system_of(LlmRequest(config=types.GenerateContentConfig(system_instruction=given))) == text


def test_the_system_prompt_counts():
    run = running(Scripted(chat, counts=False), plugin=plugin_of(budget=8_000), instruction="word " * 500)
    run.say("hello")
    assert run.conversation.usage("small").by_kind["system"].tokens > 400


def test_schemas_and_added_contents_count():
    def overhead(**options: Any) -> int:
        model = Scripted(chat, counts=False)
        run = running(model, plugin=plugin_of(budget=8_000), **options)
        run.say("hello")
        return run.conversation.usage("small").by_kind["overhead"].tokens

    config = types.GenerateContentConfig(response_json_schema={"enum": ["word"] * 300})
    assert overhead(static_instruction="Hi.", instruction="word " * 500) > overhead() + 400
    assert overhead(generate_content_config=config) > overhead() + 100


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.data())
def test_added_contents_keep_their_order_in_every_view(added, data):
    contents = [said(str(at)) for at in range(len(added))]
    history = [each for each, extra in zip(contents, added, strict=True) if not extra]
    extra = [(sum(not each for each in added[:at]), contents[at]) for at in range(len(added)) if added[at]]
    kept = data.draw(st.lists(st.booleans(), min_size=len(history), max_size=len(history)))
    view = [each if same else said("...") for each, same in zip(history, kept, strict=True)]
    woven = RequestParts(history, extra).woven(view)
    ours = {id(content) for _, content in extra}
    assert [each for each in woven if id(each) not in ours] == view
    assert [each for each in woven if id(each) in ours] == [content for _, content in extra]
    if all(kept):
        assert woven == contents
