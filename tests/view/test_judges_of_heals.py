"""Each rule of the healer has a judge: unhealed, its example is found by the rules of judges that are named here.

So no rule heals what nothing refuses, and no judge is blind in a dialect in which views are healed.
"""

import json
from typing import Any, get_args

import pytest

from backscroll.evaluation.fake_providers import (
    anthropic_rules,
    bedrock_rules,
    chat_rules,
    gemini_rules,
    interactions_rules,
    openai_rules,
)
from backscroll.evaluation.validity import Judge
from backscroll.evaluation.validity_rules import RULES as OF_ORACLE
from backscroll.manager.importing import ImportingManager
from backscroll.messages import dialects, in_a_row, read_message
from backscroll.messages.heal_rules import HealRule
from backscroll.messages.healing import healed, want_texts
from tests.builders import DIALECTS, MessageFactory
from tests.fakes import count_quarter
from tests.odd.healed_examples import CASES, CUT, EVERY, Message, called
from tests.odd.walk import refusal

ORACLE: dict[str, set[str]] = {
    "second_result": {"unasked"},
    "late_result": {"unasked"},
    "unknown_call": {"unasked"},
    "server_pair": {"server-pairs"},
    "cut_arguments": {"arguments", "types"},
    "empty_text": {"empty-blocks", "empty-answers"},
    "lone_surrogate": {"halves"},
    "reasoning_alone": {"reasoning-alone"},
    "open_call": {"unanswered"},
    "result_not_text": {"not-text"},
    "data_twice": {"twice"},
}
"""By rule of the healer: the rules of the oracle of which one finds its example in each dialect."""
OF_FAKES: dict[str, Any] = {
    "openai": chat_rules.RULES,
    "anthropic": anthropic_rules.RULES,
    "bedrock": bedrock_rules.RULES,
    "responses": openai_rules.RULES,
    "gemini": gemini_rules.RULES,
    "interactions": interactions_rules.RULES,
}
FAKES: dict[str, dict[str, str]] = {
    "second_result": dict.fromkeys(OF_FAKES, "asked"),
    "late_result": {dialect: "answered" for dialect in OF_FAKES if dialect != "responses"},
    "unknown_call": dict.fromkeys(OF_FAKES, "asked"),
    "server_pair": {"anthropic": "server-pairs", "interactions": "server-pairs"},
    "cut_arguments": {
        "openai": "cut-arguments",
        "anthropic": "inputs",
        "bedrock": "inputs",
        "responses": "cut-arguments",
        "gemini": "arguments",
        "interactions": "arguments",
    },
    "empty_text": {"anthropic": "contents", "bedrock": "blank", "interactions": "empty-texts"},
    "lone_surrogate": dict.fromkeys(OF_FAKES, "surrogates"),
    "reasoning_alone": {"responses": "alone"},
    "open_call": dict.fromkeys(OF_FAKES, "answered"),
    "result_not_text": {
        "openai": "contents",
        "anthropic": "not-texts",
        "bedrock": "shape",
        "responses": "texts",
        "gemini": "types",
        "interactions": "results",
    },
    "data_twice": {},
}
"""By rule of the healer and dialect: the rule by which the fake refuses the example. The rest is taken there."""
NAMES = {
    "openai": "OpenAI chat",
    "amplifier": "Amplifier",
    "anthropic": "Anthropic",
    "bedrock": "Bedrock Converse",
    "responses": "OpenAI Responses",
    "gemini": "Gemini",
    "interactions": "Gemini Interactions",
}
"""The dialects of the cases, as the package names them."""


def view_of(messages: list[Message]) -> list[Message]:
    with ImportingManager(tokenizer=count_quarter) as context:
        context.append(*messages)
        return context.get_messages_for_request()


def as_it_came(messages: list[Message]) -> list[Message]:
    """A view without the healer."""
    return in_a_row(messages)


def oracle_finds(view: list[Message], history: list[Message]) -> set[str]:
    return {rule.name for rule in OF_ORACLE if Judge([rule]).problems(view, history)}


def fake_refuses(dialect: str, view: list[Message]) -> set[str]:
    """The rules by which the fake refuses a view, each asked alone."""
    return {rule.name for rule in OF_FAKES.get(dialect, ()) if refusal(dialect, view, rules=[rule])}


def test_each_rule_names_its_judges():
    assert set(ORACLE) == set(FAKES) == set(get_args(HealRule))
    assert all(names for names in ORACLE.values())


@EVERY
def test_example_of_a_rule_is_found_where_it_is_not_healed(rule, dialect):
    """By the rules that the tables name; and by none in the view."""
    messages, _, _ = CASES[rule](MessageFactory(dialect))
    view, unhealed = view_of(messages), as_it_came(messages)
    assert (oracle_finds(view, messages), fake_refuses(dialect, view)) == (set(), set())
    assert oracle_finds(unhealed, messages) & ORACLE[rule]
    refused, expected = fake_refuses(dialect, unhealed), FAKES[rule].get(dialect)
    assert expected in refused if expected else refused == set()


# -- each heal of a dialect --

DATA = {"structured_rows": [f"row {number} of the table" for number in range(9)]}
TWICE = [{"type": "text", "text": json.dumps(DATA)}] * 2
BLANK: Message = {"type": "text", "text": ""}


def with_arguments(dialect: str) -> list[Message]:
    """A call whose arguments are an object, where its dialect takes a text."""
    call = called(MessageFactory(dialect))
    holder = call["content"][-1] if dialect == "responses" else call["tool_calls"][0]["function"]
    holder["arguments"] = {"path": "a"}
    return [call, *MessageFactory(dialect).results([("c1", "found")])]


def answered_by(dialect: str, content: Any) -> list[Message]:
    """A call, and its result with this content."""
    blocks: dict[str, Message] = {
        "anthropic": {"type": "tool_result", "tool_use_id": "c1", "content": content},
        "bedrock": {"toolResult": {"toolUseId": "c1", "content": content}},
        "interactions": {"type": "function_result", "call_id": "c1", "name": "run", "result": content},
    }
    return [called(MessageFactory(dialect)), {"role": "user", "content": [blocks[dialect]]}]


def thought() -> list[Message]:
    unsigned = {"type": "thinking", "thinking": "Hm.", "signature": ""}
    return [{"role": "assistant", "content": [unsigned, {"type": "text", "text": "So."}]}]


MORE: dict[tuple[str, str, str], list[Message]] = {
    ("openai", "empty_text", "text"): [{"role": "user", "content": [BLANK, {"type": "text", "text": "and?"}]}],
    ("openai", "result_not_text", ""): with_arguments("openai"),
    ("anthropic", "empty_text", "thinking"): thought(),
    ("anthropic", "empty_text", "tool_result"): answered_by("anthropic", [BLANK]),
    ("anthropic", "data_twice", "tool_result"): answered_by("anthropic", TWICE),
    ("bedrock", "empty_text", "toolResult"): answered_by("bedrock", None),
    ("bedrock", "data_twice", "toolResult"): answered_by("bedrock", [{"json": DATA}, {"text": json.dumps(DATA)}]),
    ("responses", "empty_text", "input_text"): [
        {"role": "user", "content": [{"type": "input_text", "text": text} for text in (" ", "and?")]}
    ],
    ("responses", "result_not_text", "function_call"): with_arguments("responses"),
    ("interactions", "empty_text", "function_result"): answered_by("interactions", [BLANK]),
    ("amplifier", "cut_arguments", "tool_call"): [
        {"role": "assistant", "content": [{"type": "tool_call", "id": "c1", "name": "run", "input": CUT}]},
        {"role": "tool", "tool_call_id": "c1", "content": "It was not run."},
    ],
}
"""What a dialect heals next to the examples of the rules, by dialect, rule and the first kind of block."""
UNJUDGED = {("responses", "empty_text", "message")}
"""An empty item, which the API takes: it is left out because it says nothing."""
HEALS = [
    pytest.param(name, heal, id=f"{name}-{heal.rule}-{'-'.join(heal.kinds[:1])}")
    for name, known in NAMES.items()
    for dialect in dialects.DIALECTS
    if dialect.name == known
    for heal in dialect.heals
    if (name, heal.rule, "".join(heal.kinds[:1])) not in UNJUDGED
]


@pytest.mark.parametrize(("dialect", "heal"), HEALS)
def test_example_of_each_heal_is_found_by_a_judge(dialect, heal):
    """Where it is not healed; nothing but this rule heals it, and the view is sound."""
    talk = MessageFactory(dialect)
    more = MORE.get((dialect, heal.rule, "".join(heal.kinds[:1])))
    messages = CASES[heal.rule](talk)[0] if more is None else [talk.say("user", "go"), *more, talk.say("user", "on")]
    texts = any(want_texts(read_message(message).parts) for message in messages)
    rules = {rule for message in messages for rule in healed(message, texts=texts).rules}
    assert heal.rule in rules
    assert rules <= {heal.rule, "empty_text"}  # nothing may be left of a message then
    view, unhealed = view_of(messages), as_it_came(messages)
    assert (oracle_finds(view, messages), fake_refuses(dialect, view)) == (set(), set())
    assert oracle_finds(unhealed, messages) | fake_refuses(dialect, unhealed)


def test_dialects_of_the_cases_are_all_dialects():
    assert set(NAMES.values()) == {each.name for each in dialects.DIALECTS}
    assert {dialect for dialect, _, _ in MORE} <= set(NAMES) == set(DIALECTS)
