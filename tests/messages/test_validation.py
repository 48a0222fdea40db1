"""What may be kept: accepting a message, refusing one with its place named, isolated copies. No reading of content."""

import copy
import json
import math
from collections import OrderedDict, UserDict, defaultdict
from collections.abc import Iterator, Mapping
from enum import Enum, IntEnum, StrEnum
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import BackscrollError, MessageError
from backscroll.messages import Copier, copy_message, validated

texts = st.text(st.characters(), max_size=20)  # lone surrogates included
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
jsons = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=20
)
messages = st.dictionaries(texts, jsons, max_size=5).map(lambda extra: {**extra, "role": "user"})


class Role(StrEnum):
    USER = "user"


class OldRole(str, Enum):  # noqa: UP042 (what code older than `StrEnum` has)
    USER = "user"


class Code(IntEnum):
    OK = 200


class Half(float):
    pass


class Listing(list[Any]):
    pass


class Lazy(Mapping[str, Any]):
    """A mapping that makes its values on demand, as deep as one looks."""

    def __getitem__(self, key: str) -> Any:
        return Lazy()

    def __iter__(self) -> Iterator[str]:
        return iter(("again",))

    def __len__(self) -> int:
        return 1


class Dumped:
    """Anything with a `model_dump`."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def model_dump(self) -> Any:
        if isinstance(self._value, Exception):
            raise self._value
        return self._value


def same(one: Any, other: Any) -> bool:
    """Equal, and of equal exact types throughout: `1`, `1.0` and `True` differ."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def containers(value: Any) -> Iterator[int]:
    """Identities of everything that could be changed in place."""
    if isinstance(value, dict | list):
        yield id(value)
        for item in value.values() if isinstance(value, dict) else value:
            yield from containers(item)


def nested(levels: int, kind: str) -> dict[str, Any]:
    """A message of exactly so many levels of nesting, itself being the first."""
    value: Any = [] if kind == "list" else {}
    for _ in range(levels - 2):
        value = [value] if kind == "list" else {"a": value}
    return {"role": "user", "content": value}


# --- accepted ------------------------------------------------------------------------------------------------------


@given(messages)
def test_accepted_message_is_an_equal_ordered_isolated_copy(
    message: dict[str, Any],
) -> None:
    """An accepted message equals the given one key by key in order and shares nothing."""
    before = copy.deepcopy(message)
    accepted = validated(message)
    assert same(accepted, message)
    assert same(message, before)
    assert not set(containers(accepted)) & set(containers(message))


@given(messages)
def test_a_copy_equals_its_original_and_shares_nothing(message: dict[str, Any]) -> None:
    accepted = validated(message)
    copied = copy_message(accepted)
    assert same(copied, accepted)
    assert not set(containers(copied)) & set(containers(accepted))


@given(st.lists(messages, max_size=5), st.integers(0, 5), st.lists(messages, max_size=3))
def test_copies_of_a_growing_list_are_equal_and_isolated(
    before: list[dict[str, Any]], kept: int, after: list[dict[str, Any]]
) -> None:
    """Copies of a list that changes at its end equal it and share nothing."""
    copier, listed = Copier(), list(map(validated, before))
    first = copier.copies(listed)
    assert same(first, listed)
    del listed[kept:]
    copier.cut(len(listed))
    listed += map(validated, after)
    second = copier.copies(listed)
    assert same(second, listed)
    for one, other in ((second, listed), (first, second), (copier.copies(listed), second)):
        assert not set(containers(one)) & set(containers(other))
    held = len(copier._messages) + len(copier._inner)
    assert held == len(list(containers(listed))) - 1, "what left the list is not held and not copied"


def test_later_changes_of_the_given_message_change_nothing() -> None:
    """Changing the given message afterwards changes nothing that is kept."""
    block: dict[str, Any] = {"type": "text", "text": "one", "tags": ["a", ["b"]]}
    message: dict[str, Any] = {"role": "user", "content": [block, [block]], "metadata": {"deep": {"er": [1]}}}
    accepted = validated(message)
    kept = json.dumps(accepted)
    block["text"] = "two"
    block["tags"][1].append("c")
    message["metadata"]["deep"]["er"].clear()
    message["content"].append("more")
    assert json.dumps(accepted) == kept


def test_one_object_in_two_places_becomes_two() -> None:
    block = {"text": "x"}
    accepted = validated({"role": "user", "content": [block, block]})
    accepted["content"][0]["text"] = "y"
    assert accepted["content"][1] == {"text": "x"}


@pytest.mark.parametrize(
    "message",
    [
        OrderedDict(role="user", content=[OrderedDict(text="x")]),
        defaultdict(list, {"role": "user", "content": [defaultdict(str, {"text": "x"})]}),
        MappingProxyType({"role": "user", "content": (Listing([MappingProxyType({"text": "x"})]))}),
        UserDict({"role": "user", "content": [UserDict({"text": "x"})]}),
        {"role": Role.USER, "content": [{"text": "x"}]},
        {"role": OldRole.USER, "content": Listing([{"text": "x"}])},
    ],
    ids=lambda message: type(message).__name__,
)
def test_other_mappings_lists_and_enums_become_plain_json(message: Any) -> None:
    """Other mappings lists and text enums are kept as plain JSON."""
    assert same(validated(message), {"role": "user", "content": [{"text": "x"}]})


def test_number_enums_and_subclasses_become_plain_numbers() -> None:
    """Number enums and subclasses are kept as the plain numbers that they equal."""
    assert same(
        validated({"role": "user", "code": Code.OK, "half": Half(0.5), "list": [Code.OK, True]}),
        {"role": "user", "code": 200, "half": 0.5, "list": [200, True]},
    )


def test_pydantic_message_is_dumped_and_isolated() -> None:
    """A pydantic message is dumped and later changes of it do not matter."""
    models = pytest.importorskip("amplifier_core.message_models", reason="needs a framework that uses pydantic")
    blocks = [
        models.TextBlock(text="hello"),
        models.ThinkingBlock(thinking="hm", signature="c2ln"),
        models.ToolCallBlock(id="1", name="read", input={"path": ["a"]}),
    ]
    message = models.Message(role="assistant", content=blocks, metadata={"pinned": True, "list": [1]})
    accepted = validated(message)
    assert accepted == message.model_dump()
    message.metadata["list"].append(2)
    blocks[2].input["path"].append("b")
    assert accepted["metadata"] == {"pinned": True, "list": [1]}
    assert accepted["content"][2]["input"] == {"path": ["a"]}


@given(texts)
def test_lone_surrogates_survive_being_kept_and_written_as_json(text: str) -> None:
    message = {"role": "user", "content": [{"type": "text", "text": "\ud83d" + text}], "\udc00": text}
    assert validated(message) == message
    assert json.dumps(validated(message)) == json.dumps(message)  # what is read again joins two halves of a character


def test_200_levels_are_kept_and_can_be_copied_and_written() -> None:
    for kind in ("list", "dict"):
        message = nested(200, kind)
        assert copy_message(validated(message)) == message
        assert json.loads(json.dumps(validated(message))) == message


def test_the_largest_integers_that_json_readers_take_are_kept() -> None:
    for number in (2**13_000 - 1, -(2**13_000) + 1):
        assert json.loads(json.dumps(validated({"role": "user", "n": number})))["n"] == number


# --- refused -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (math.nan, "nan"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (Half("nan"), "nan"),
        (b"\x89PNG", "base64"),
        (bytearray(b"x"), "base64"),
        (memoryview(b"x"), "base64"),
        ((1, 2), "tuple"),
        ({1, 2}, "set"),
        (frozenset("a"), "frozenset"),
        (object(), "object"),
        (1j, "complex"),
        (len, "builtin"),
        (range(3), "range"),
        (2**13_000, "digits"),
        (Dumped(KeyError("lost")), "model_dump"),
        (Dumped({"data": b"raw"}), "base64"),
    ],
)
def test_what_json_cannot_hold_is_refused_with_its_place(value: Any, says: str) -> None:
    with pytest.raises(MessageError, match=says) as found:
        validated({"role": "user", "content": ["x", {"a": [0, value]}]})
    if not isinstance(value, Dumped) or says == "base64":
        assert "message['content'][1]['a'][1]" in str(found.value)


def test_blocks_that_an_sdk_made_are_kept_as_they_dump() -> None:
    kept = validated({"role": "assistant", "content": [Dumped({"type": "text", "text": "hi", "citations": None})]})
    assert kept == {"role": "assistant", "content": [{"type": "text", "text": "hi", "citations": None}]}


def test_an_object_that_dumps_itself_for_ever_is_refused() -> None:
    endless = Dumped(None)
    endless._value = endless
    with pytest.raises(MessageError, match="deeper"):
        validated({"role": "user", "content": [endless]})


@pytest.mark.parametrize(
    ("key", "says"),
    [
        (1, "int"),
        (None, "NoneType"),
        (True, "bool"),
        (1.5, "float"),
        (("a",), "tuple"),
        (b"a", "bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_key_that_is_no_text_is_refused_with_its_place(key: Any, says: str) -> None:
    with pytest.raises(MessageError, match=says) as found:
        validated({"role": "user", "content": [{"a": {key: 1}}]})
    assert "message['content'][0]['a'] " in str(found.value)


@pytest.mark.parametrize("kind", ["list", "dict"])
def test_more_than_200_levels_are_refused(kind: str) -> None:
    for levels in (201, 100_000):
        with pytest.raises(MessageError, match="deeper than 200"):
            validated(nested(levels, kind))


def test_a_mapping_without_end_is_refused() -> None:
    with pytest.raises(MessageError, match="deeper than 200"):
        validated({"role": "user", "content": Lazy()})


def cyclic_list() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


def wide_cycle() -> list[Any]:
    """Every child leads back to the top: following all of them to 200 levels would never end."""
    top: list[Any] = []
    top += [{"a": top, "b": [top, top]} for _ in range(50)]
    return top


def long_wide_cycle() -> list[Any]:
    """The way round is 100 levels long and doubles at each."""
    top: list[Any] = []
    level = [top, top]
    for _ in range(100):
        level = [level, level]
    top += level
    return top


def late_cycle() -> dict[str, Any]:
    """The way back stands behind much that is sound."""
    top: dict[str, Any] = {f"key {number}": [number] * 10 for number in range(500)}
    top["again"] = [[top]]
    return top


@pytest.mark.parametrize("cycle", [cyclic_list, wide_cycle, long_wide_cycle, late_cycle])
def test_recursive_message_is_refused_quickly(cycle: Any) -> None:
    """A message that contains itself is refused without following all its paths."""
    with pytest.raises(MessageError, match=r"itself|deeper"):
        validated({"role": "user", "content": cycle()})


def test_a_message_that_is_its_own_content_is_refused() -> None:
    message: dict[str, Any] = {"role": "user"}
    message["content"] = [message]
    with pytest.raises(MessageError, match="itself"):
        validated(message)


@pytest.mark.parametrize("role", [None, "", 5, ["user"], {"a": 1}, True])
def test_a_role_that_is_no_text_is_refused(role: Any) -> None:
    with pytest.raises(MessageError, match="role"):
        validated({"role": role, "content": "x"})


def test_a_message_without_a_role_is_refused() -> None:
    for message in ({}, {"content": "x"}, {"Role": "user"}):
        with pytest.raises(MessageError, match="no role"):
            validated(message)


@pytest.mark.parametrize(
    "message",
    [None, "text", 5, [("role", "user")], ("role", "user"), object(), Dumped, {"role"}],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_mapping_is_refused(message: Any) -> None:
    with pytest.raises(MessageError, match="must be a mapping"):
        validated(message)


def test_a_model_dump_that_gives_no_mapping_or_fails_is_refused() -> None:
    for value in (None, [1], "text", KeyError("lost")):
        with pytest.raises(MessageError, match=r"model_dump\(\)"):
            validated(Dumped(value))
    with pytest.raises(MessageError, match="base64"):
        validated(Dumped({"role": "user", "content": b"x"}))


def test_a_refusal_is_both_a_value_error_and_one_of_ours() -> None:
    assert issubclass(MessageError, ValueError)
    assert issubclass(MessageError, BackscrollError)


def test_unprintable_number_is_refused_as_value_and_key() -> None:
    """A number too long to be printed is refused as value and as key."""
    for content in ([0, 10**5_000], [0, -(10**5_000)], {10**5_000: 1}):
        with pytest.raises(MessageError, match="content"):
            validated({"role": "user", "content": content})
