"""What holds for any conversation in any dialect: no rule raises, no cost is negative, no valid one has an error."""

import copy
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.errors import TranscriptError
from backscroll.evaluation.lint import SEVERITIES, Finding, Request, Talk, chained, lint, read_body
from backscroll.evaluation.transcript import is_answer
from backscroll.messages import in_a_row
from tests.builders import conversations
from tests.evaluation.lint.agents import AGENTS, Body, costs

MOST = 100
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "text", "user", "tool_use", "thinking"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "role", "content", "text", "id", "input", "name"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)


def requests_of(messages: list[Body]) -> Talk:
    """The requests before each answer, as a store has them."""
    ends = [at for at, message in enumerate(messages) if at and is_answer(message)]
    sent = [in_a_row(copy.deepcopy(messages[:end])) for end in ends]
    return Talk("sent", requests=[Request(at, "chat", None, [], [], each) for at, each in enumerate(sent, 1)])


def is_sound(each: Finding) -> bool:
    figures = (each.tokens, each.sent, each.cost)
    return (
        min(figures) >= 0 and each.count >= 1 and each.severity in SEVERITIES and bool(each.what and each.place.where)
    )


@settings(max_examples=40)
@given(conversations())
def test_no_rule_raises_on_any_conversation(messages: list[Body]) -> None:
    for talk in (Talk("talk", messages), requests_of(messages)):
        assert all(map(is_sound, lint(talk, costs())))


@settings(max_examples=40)
@given(conversations(strange=False))
def test_a_valid_conversation_has_no_error(messages: list[Body]) -> None:
    """Some hold half a character, which is one."""
    for talk in (Talk("talk", messages), requests_of(messages)):
        errors = [each for each in lint(talk, costs()) if each.severity == "error"]
        assert [each for each in errors if each.rule != "lone-surrogate"] == []


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of everything within a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, each in inner for found in places(each, (*path, key)))]


BODIES = {name: agent(3) for name, agent in AGENTS.items()}
PATHS = {name: [path for path in places(bodies) if len(path) > 1] for name, bodies in BODIES.items()}


@settings(max_examples=MOST)
@given(st.data())
def test_no_rule_raises_on_a_body_of_another_shape(data: st.DataObject) -> None:
    """Any value of a body may be anything: it is read, or refused with a `TranscriptError`."""
    name = data.draw(st.sampled_from(sorted(BODIES)))
    bodies: Any = json.loads(json.dumps(BODIES[name]))
    for path in data.draw(st.lists(st.sampled_from(PATHS[name]), min_size=1, max_size=3)):
        held = bodies
        try:
            for key in path[:-1]:
                held = held[key]
            held[path[-1]]  # what an earlier change took away is not put back
            held[path[-1]] = data.draw(JSON)
        except (KeyError, IndexError, TypeError):
            continue
    try:
        requests = [read_body(body, number, "sent") for number, body in enumerate(bodies, 1)]
    except TranscriptError:
        return
    for talk in chained(requests, "sent"):
        assert all(map(is_sound, lint(talk, costs())))
