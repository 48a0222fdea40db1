"""What is written again says the same, in the client's own spelling where nothing changed."""

import json
from copy import deepcopy
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.integrations.proxy.json_text import are_equal, respelled, split
from backscroll.integrations.proxy.request_body import RequestBody
from backscroll.integrations.proxy.seen import SeenMessages
from tests.present import present

_LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
_OBJECTS = st.dictionaries(st.sampled_from(["role", "content", "x", "é"]), _VALUES, min_size=1, max_size=4)


@st.composite
def spellings(draw, values):
    """A value with one of its texts."""
    value = draw(values)
    how = draw(st.sampled_from([{}, {"indent": 1}, {"separators": (",", ":")}, {"separators": (" ,\t", " : ")}]))
    return value, json.dumps(value, ensure_ascii=draw(st.booleans()), **how)


@given(_VALUES, spellings(_VALUES))
def test_respelled_value_says_what_it_should(value, known):
    assert are_equal(json.loads(respelled(value, *known)), value)


@given(spellings(_VALUES))
def test_unchanged_value_keeps_its_spelling(known):
    assert respelled(deepcopy(known[0]), *known) == known[1]


@given(spellings(_OBJECTS), st.text(max_size=5))
def test_other_members_keep_their_spelling(known, new):
    value, text = known
    changed = {**value, "role": new}
    found = respelled(changed, value, text)
    assert are_equal(json.loads(found), changed)
    members = {key: json.dumps(each) for key, each in value.items() if key != "role"}
    assert all(are_equal(json.loads(found)[key], json.loads(each)) for key, each in members.items())


@given(st.lists(_OBJECTS, max_size=6), spellings(st.dictionaries(st.text(max_size=4), _VALUES, max_size=3)))
def test_split_finds_each_item_and_all_else(items, others):
    value = others[0]
    value.pop("messages", None)
    inner = json.dumps(items)
    body = f' {{ "messages" : {inner}{"," if value else ""}{json.dumps(value)[1:]}'
    found = split(body, "messages")
    assert body[found.start : found.end] == inner
    assert [item.value for item in present(found.items)] == items
    assert [json.loads(body[item.start : item.end]) for item in present(found.items)] == items
    assert found.others == value


@given(
    st.lists(_OBJECTS, min_size=1, max_size=30),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), _OBJECTS), max_size=6),
)
def test_messages_seen_before_are_read_as_if_they_were_new(items, changes):
    """Requests that grow, shrink and are edited, read with and without what was seen before."""
    seen = SeenMessages()
    for length, at, other in [(len(items), 99, {}), *changes]:
        messages = [other if index == at else item for index, item in enumerate(items[:length])]
        raw = json.dumps({"model": "m", "messages": messages}).encode()
        known, new = RequestBody(raw, "messages", seen), RequestBody(raw, "messages", SeenMessages())
        assert known.items == new.items == messages
        assert [item.text for item in known.items] == [item.text for item in new.items]
        assert known.fields == new.fields
        assert json.loads(known.with_items([item.text for item in known.items])) == json.loads(raw)


def test_growing_conversation_is_not_read_again():
    """A request is read from where the one before it had its newest messages."""
    seen, kept = SeenMessages(), []
    messages = [{"role": "user", "content": f"message {at}"} for at in range(300)]
    for length in range(100, 300, 2):
        body = RequestBody(json.dumps({"messages": messages[:length]}).encode(), "messages", seen)
        kept.append(body.items)
    new = [sum(one is not other for one, other in zip(before, after, strict=False)) for before, after in pairwise(kept)]
    assert max(new) <= 4


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{", "{1:2}", '{"a"}', '{"a":1 "b":2}', '{"messages":[1,]}', '{"messages":[1],}', '{"messages":[1',
        '{"messages":[1 2]}', '{"messages":[],"messages":[]}', '{"messages":1,"messages":[]}',
        '{"messages":[],"messages":1}',
    ],
)  # fmt: skip  # one case each
def test_what_is_no_object_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        split(text, "messages")
