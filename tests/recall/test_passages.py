"""Texts cut into passages, and what leads to a passage of JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.recall.passages import PASSAGE, end_of, passages


def product(name, variants):
    items = {
        f"{number}": {"item_id": f"{number}", "options": {"size": "large", "color": "red"}, "price": number / 7}
        for number in range(1_000, 1_000 + variants)
    }
    return {"name": name, "product_id": "p77", "variants": items}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=9), inner, max_size=5),
    max_leaves=40,
)


PRINTED = st.builds(json.dumps, VALUES, indent=st.sampled_from([None, 1]))
LINES = st.text(alphabet="ab \n", max_size=4 * PASSAGE)


@given(st.text(max_size=3 * PASSAGE) | LINES | PRINTED)
def test_passages_of_any_text_joined_are_the_text(text):
    found = list(passages(text))
    assert "".join(each.text for each in found) == text
    assert all(0 < len(each.text) <= PASSAGE and text.startswith(each.text, each.offset) for each in found)
    assert [each.offset for each in found[1:]] == [end_of(text, each.offset) for each in found[:-1]]


@pytest.mark.parametrize("indent", [None, 1])
def test_passages_of_json_carry_the_names_that_lead_there(indent):
    found = list(passages(json.dumps(product("Desk Lamp", 60), indent=indent)))
    assert len(found) > 4
    for each in found[1:-1]:
        assert "Desk Lamp" in each.context
        assert "product_id p77 variants" in each.context


def test_passages_of_one_line_json_end_between_values():
    found = list(passages(json.dumps(product("Desk Lamp", 60))))
    for each in found[:-1]:
        assert each.text.endswith("}, ")


def test_passages_of_call_arguments_end_at_escaped_lines():
    """Arguments hold a whole file in one line: it is cut where its lines end."""
    text = json.dumps({"content": "\n".join(f"value_{number} = {number}" for number in range(200))})
    found = list(passages(text))
    assert len(found) > 3
    assert all(each.text.endswith("\\n") for each in found[:-1])


@pytest.mark.parametrize("text", ["{" * 900, '{"a": ' * 300 + "}", "[" + "]" * 900, '{"' + "x" * 2_000 + "}"])
def test_passages_of_broken_json_are_still_cut(text):
    assert "".join(each.text for each in passages(text)) == text


def test_context_of_deep_json_is_bounded():
    text = '{"key": "value", "inner": ' * 200 + "1" + "}" * 200
    assert max(len(each.context) for each in passages(text)) <= 400
