"""Tool definitions in the shape of any provider."""

from typing import Any

import pytest

from backscroll import ConfigurationError
from backscroll.messages.tools import read_tools

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
READ = {"name": "read", "description": "Read a file."}
SHAPES: dict[str, Any] = {
    "anthropic": [READ | {"input_schema": SCHEMA}],
    "chat": [{"type": "function", "function": READ | {"parameters": SCHEMA}}],
    "responses": [{"type": "function", "parameters": SCHEMA} | READ],
    "gemini": [{"functionDeclarations": [READ | {"parameters": SCHEMA}]}],
    "gemini, python": [{"function_declarations": [READ | {"parameters": SCHEMA}]}],
    "bedrock": {"tools": [{"toolSpec": READ | {"inputSchema": {"json": SCHEMA}}}], "toolChoice": {"auto": {}}},
}


class Dumped:
    """A definition of a typed client."""

    def model_dump(self, **_: object) -> object:
        return SHAPES["anthropic"][0]


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_is_read_by_name(shape):
    ((name, text),) = read_tools(SHAPES[shape]).texts
    assert name == "read"
    assert "Read a file." in text


def test_objects_of_clients_are_read_as_their_mapping():
    assert read_tools([Dumped()]) == read_tools(SHAPES["anthropic"])


def test_tools_without_a_name_go_by_type_or_key():
    found = read_tools([{"type": "web_search"}, {"google_search": {}}, {"cachePoint": {"type": "default"}}])
    assert [name for name, _ in found.texts] == ["web_search", "google_search"]


def test_order_counts_and_the_order_of_keys_does_not():
    other = {"name": "write", "input_schema": SCHEMA}
    first = read_tools([READ, other]).digest
    assert first == read_tools([dict(reversed(READ.items())), other]).digest
    assert first != read_tools([other, READ]).digest


def test_marks_and_deferred_tools_are_no_part():
    deferred = {"name": "rare", "defer_loading": True}
    marked = READ | {"cache_control": {"type": "ephemeral"}}
    assert read_tools([marked, deferred]) == read_tools([READ])


@pytest.mark.parametrize("wrong", ["read", 5, [5], [READ | {"input_schema": object()}]])
def test_other_values_raise_and_are_named(wrong):
    with pytest.raises(ConfigurationError, match="tools"):
        read_tools(wrong)
