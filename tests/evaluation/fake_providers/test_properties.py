"""Over random conversations: what is appended is always accepted, and a changed block never is."""

from copy import deepcopy

from hypothesis import given
from hypothesis import strategies as st

from backscroll.evaluation.fake_providers import FakeAnthropic, FakeProviderError, reply
from tests.evaluation.fake_providers.talks import Talk, setting, text, thinking_places, without_thinking

STEPS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.booleans()), min_size=3, max_size=8)
"""Of each answer: blocks of reasoning, calls, and whether the reasoning is redacted."""


def conversation(steps):
    script = [
        reply("" if calls else "Done.", thinking=[f"t{at}"] * thoughts, redacted=redacted, calls=[("read", {})] * calls)
        for at, (thoughts, calls, redacted) in enumerate(steps)
    ]
    made = Talk(FakeAnthropic(replies=[*script, *[reply("End.", thinking="e")] * 3]))
    made.say(text("Go."))
    for _, calls, _ in steps:
        assert made.send()["input_transformations"] == []
        made.results() if calls else made.say(text("Next."))
    for _ in range(3):
        made.send()
        made.say(text("Next."))
    return made


def refused_at(fake, request):
    """The place that a refusal names; none if the request is accepted."""
    try:
        fake.create(**request)
    except FakeProviderError as error:
        return [error.message.partition(":")[0]]
    return []


@given(STEPS, st.data())
def test_changed_block_is_refused_where_thinking_follows(steps, data):
    made = conversation(steps)
    request = deepcopy(setting(made.request, "error"))
    places = [
        (at, number)
        for at, message in enumerate(request["messages"])
        for number, block in enumerate(message["content"])
        if block["type"] in ("text", "tool_result")
    ]
    at, number = data.draw(st.sampled_from(places))
    block = request["messages"][at]["content"][number]
    block["text" if block["type"] == "text" else "content"] = "changed"
    follows = [place for place in thinking_places(request) if place > (at, number)]
    expected = [f"messages.{message}.content.{block}" for message, block in follows[:1]]
    assert refused_at(made.fake, request) == expected


@given(STEPS, st.data())
def test_thinking_left_out_is_refused_exactly_from_the_middle(steps, data):
    """Whole messages: of the latest one all or none may be left out."""
    made = conversation(steps)
    places = thinking_places(made.request)
    messages = sorted({at for at, _ in places})
    gone = data.draw(st.sets(st.sampled_from(messages)))
    left = [at for at in messages if at not in gone]
    numbers = [number for number, (at, _) in enumerate(places) if at in gone]
    request = setting(without_thinking(made.request, *numbers) if numbers else made.request, "error")
    is_run = not left or left == [at for at in messages if left[0] <= at <= left[-1]]
    assert (refused_at(made.fake, request) == []) == is_run
