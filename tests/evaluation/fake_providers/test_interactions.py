"""The Interactions API: thoughts of the current turn, inputs of every form, usage and windows."""

import pytest

from backscroll.evaluation.fake_providers import FakeInteractions, FakeProviderError, reply
from tests.evaluation.fake_providers.bad_interactions import FOUND, GO, SEARCH, call, result


def answered(**options):
    """A fake, and the steps of a turn whose first answer has a thought before two calls."""
    fake = FakeInteractions(replies=[reply("I look.", calls=[("read", {"x": 1}), ("read", {"x": 2})])], **options)
    made = fake.create(input="Go.")
    return fake, [GO, *made["steps"], *[result(each["id"]) for each in made["steps"] if "id" in each]]


def test_thought_precedes_the_first_call_and_comes_back():
    fake, steps = answered()
    assert [each["type"] for each in steps[1:5]] == ["model_output", "thought", "function_call", "function_call"]
    assert fake.create(input=steps)["status"] == "completed"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda steps: steps[:2] + steps[3:], "missing the thought before it"),
        (lambda steps: [*steps[:2], {**steps[2], "signature": "c2ln"}, *steps[3:]], "Corrupted"),
        (lambda steps: [*steps[:1], steps[2], steps[1], *steps[3:]], "Corrupted"),
        (lambda steps: [*steps[:3], {**steps[3], "arguments": {}}, *steps[4:]], "Corrupted"),
    ],
    ids=["left out", "changed", "moved", "before a changed call"],
)
def test_thought_of_the_current_turn_is_needed_as_it_was(change, expected):
    fake, steps = answered()
    with pytest.raises(FakeProviderError, match=expected):
        fake.create(input=change(steps))


def test_thoughts_of_earlier_turns_may_be_left_out():
    fake, steps = answered()
    assert fake.create(input=[*steps[:2], *steps[3:], GO])["steps"]


def test_models_before_gemini_3_sign_nothing():
    fake, steps = answered(model="gemini-2.5-flash")
    assert "signature" not in str(steps)
    assert fake.create(input=steps)["steps"]


@pytest.mark.parametrize("given", ["Go.", [{"type": "text", "text": "Go."}], {"type": "text", "text": "Go."}])
def test_text_and_contents_are_a_step_of_the_user(given):
    assert FakeInteractions().create(input=given, store=False)["status"] == "completed"


@pytest.mark.parametrize("steps", [[GO, SEARCH, FOUND, GO], [GO, SEARCH, call(), result(), FOUND, GO]])
def test_server_tools_with_their_results_are_accepted(steps):
    assert FakeInteractions().create(input=steps)["status"] == "completed"


def test_usage_counts_what_was_cached_and_thought():
    fake = FakeInteractions(replies=[reply("a", thinking="hm"), "b"], count=lambda text: 5_000)
    first, second = (fake.create(input=[GO])["usage"] for _ in range(2))
    assert (first["total_cached_tokens"], second["total_cached_tokens"]) == (0, 5_000)
    assert first["total_thought_tokens"] == 5_000


def test_input_beyond_the_window_is_refused():
    with pytest.raises(FakeProviderError, match="exceeds the maximum number of tokens"):
        FakeInteractions(window=3).create(input="many words, which are too many for it")
