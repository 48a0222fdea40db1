"""Each dialect is one value in a file of its own, and the rest of the package asks for it by a message or a block."""

from pathlib import Path
from typing import get_args

import pytest

from backscroll import messages
from backscroll.messages import read_message
from backscroll.messages.dialects import DIALECTS, dialect_of, dialect_of_block
from backscroll.messages.dialects.blocks import EMPTY_RESULT
from backscroll.messages.heal_rules import HealRule
from backscroll.messages.healing import healed
from tests.builders import MessageFactory

FILES = {
    "openai_chat": "openai", "gemini": "gemini", "bedrock": "bedrock", "responses": "responses",
    "anthropic": "anthropic", "amplifier": "amplifier", "interactions": "interactions",
}  # fmt: skip  # one table
"""Each file with a dialect, and the name of the factory that makes its messages."""
SHARED = {"__init__", "blocks", "dialect", "response_items"}
CUT, EMPTY, NO_TEXT, TWICE = "cut_arguments", "empty_text", "result_not_text", "data_twice"
HEALS = {
    "OpenAI chat": {EMPTY, NO_TEXT, CUT},
    "Gemini": {EMPTY, NO_TEXT, CUT},
    "Gemini Interactions": {EMPTY, NO_TEXT, CUT, "reasoning_alone"},
    "Bedrock Converse": {EMPTY, NO_TEXT, CUT, TWICE},
    "OpenAI Responses": {EMPTY, NO_TEXT, CUT, "reasoning_alone"},
    "Anthropic": {EMPTY, NO_TEXT, CUT, TWICE},
    "Amplifier": {CUT},
}
"""What is healed in one block or message of each dialect; all else is healed in every one."""


def test_each_file_holds_one_dialect():
    folder = Path(messages.__file__).parent / "dialects"
    assert {path.stem for path in folder.glob("*.py")} - SHARED == set(FILES)
    assert len(DIALECTS) == len({each.name for each in DIALECTS}) == len(FILES)


def test_rules_of_healing_are_known_by_dialect():
    assert {each.name: {heal.rule for heal in each.heals} for each in DIALECTS} == HEALS
    assert set().union(*HEALS.values()) <= set(get_args(HealRule))


@pytest.mark.parametrize("dialect", FILES.values())
def test_message_of_each_shape_is_detected(dialect):
    """Those of Anthropic and Amplifier have the shape of chat completions: their blocks tell them apart."""
    made = MessageFactory(dialect).call(["c1"], "look", {"path": "a"})
    expected = {"gemini": "Gemini", "bedrock": "Bedrock Converse", "responses": "OpenAI Responses"}
    expected["interactions"] = "Gemini Interactions"
    assert dialect_of(made).name == expected.get(dialect, "OpenAI chat")


@pytest.mark.parametrize("dialect", ["anthropic", "bedrock", "responses", "interactions"])
def test_result_that_a_dialect_makes_answers_its_call(dialect):
    made = MessageFactory(dialect).call(["c1"], "", {"path": "a"})
    block = made["content"][-1]
    of = dialect_of_block(block)
    assert of.make_result is not None
    result = of.make_result(block, "c1", "text")
    answer = result["content"][0] if "role" in result else result
    assert of.call(block) == of.answer(answer) == "c1"


@pytest.mark.parametrize(
    ("result", "sent"),
    [
        (
            {"type": "tool_result", "tool_use_id": "c", "content": [" "]},
            {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": EMPTY_RESULT}]},
        ),
        (
            {"toolResult": {"toolUseId": "c", "content": [" "]}},
            {"toolResult": {"toolUseId": "c", "content": [{"text": EMPTY_RESULT}]}},
        ),
    ],
)
def test_result_of_blank_texts_is_healed_and_named(result, sent):
    message, rules = healed({"role": "user", "content": [result]})
    assert (message, rules) == ({"role": "user", "content": [sent]}, ("empty_text",))


@pytest.mark.parametrize(
    ("message", "role"),
    [
        ({"role": "model", "parts": [{"text": "a"}]}, "assistant"),
        ({"role": "function", "name": "f", "content": "a"}, "tool"),
        ({"role": "tool", "tool_call_id": "c", "content": "a"}, "tool"),
        ({"role": "developer", "content": "a"}, "developer"),
        ({"type": "function_call_output", "call_id": "c", "output": "a"}, "tool"),
    ],
)
def test_roles_are_the_same_in_every_dialect(message, role):
    """A developer's message keeps a rank of its own."""
    assert read_message(message).role == role
