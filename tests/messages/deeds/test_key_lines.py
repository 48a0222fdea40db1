"""Lines of code that say what its signatures do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.messages.deeds.key_lines import key_lines

CODE = """
def settle(order):
    rows = list(order.rows)
    rows.sort()
    if rows is None:
        return None
    # An order without rows was settled by hand
    order.open = False
    # Never charge below the smallest coin
    if order.total < SMALLEST and not order.free:
        raise ChargeError("the total is below a coin")
    notify(order)
    order.attempts = 0
"""
LINES = st.lists(
    st.sampled_from([*CODE.splitlines(), "", "# one two three", 'x = "a"', "y: 12,", "// a note on it", "é = 1;"]),
    max_size=40,
).map("\n".join) | st.text(max_size=300)


@pytest.mark.parametrize(
    "line",
    [
        "order.open = False", "# An order without rows was settled by hand", "# Never charge below the smallest coin",
        "order.attempts = 0", 'raise ChargeError("the total is below a coin")',
        "if order.total < SMALLEST and not order.free:",
    ],
)  # fmt: skip  # a table
def test_values_messages_reasons_and_conditions_are_key(line):
    assert line in key_lines(CODE, 600)


def test_what_only_does_the_work_is_not_key():
    assert not {"rows.sort()", "notify(order)", "rows = list(order.rows)", "return None"} & {*key_lines(CODE, 600)}


def test_values_stay_before_messages_and_conditions():
    assert "order.attempts = 0" in key_lines(CODE, 90)
    assert "if order.total < SMALLEST and not order.free:" not in key_lines(CODE, 160)


@pytest.mark.parametrize(
    "line", ["retries: 3", "const LIMIT = 60;", 'NAME: str = "shop"', "export let a = null", "x := 0"]
)
def test_a_value_is_found_in_many_languages(line):
    assert key_lines(line, 100) == (line,)


@given(LINES, st.integers(0, 500))
def test_key_lines_fit_their_room_and_stand_in_order(code, room):
    kept, at = key_lines(code, room), 0
    assert sum(map(len, kept)) <= room
    source = [" ".join(line.split()) for line in code.split("\n")]
    for line in kept:
        at = next(number for number in range(at, len(source)) if source[number].startswith(line.rstrip("…"))) + 1
