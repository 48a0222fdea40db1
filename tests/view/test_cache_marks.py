"""Where the marks for a prompt cache stand, and what they leave as it was."""

import pytest

from backscroll import AsyncContextManager, BudgetOptions, CacheMarks, ConfigurationError, ContextManager
from backscroll.messages.cache_marks import in_blocks
from backscroll.view.cache_marks import MarkableMessages, Place, set_marks

MARK = {"type": "ephemeral"}


def use(number):
    return {"type": "tool_use", "id": f"call{number}", "name": "read", "input": {"cache_control": "an argument"}}


def result(number, **more):
    return {"type": "tool_result", "tool_use_id": f"call{number}", "content": "yes", **more}


def step(first, number):
    """A round of so many parallel calls."""
    numbers = range(first, first + number)
    return [
        {"role": "assistant", "content": [use(each) for each in numbers]},
        {"role": "user", "content": [result(each) for each in numbers]},
    ]


def marked(view):
    """Message, block and mark of each marked block."""
    return [
        (at, number, block["cache_control"])
        for at, message in enumerate(view)
        for number, block in enumerate(message["content"])
        if isinstance(block, dict) and "cache_control" in block
    ]


def bare(view):
    return [in_blocks(message) for message in view]


def begun(**options):
    manager = ContextManager(cache_marks="anthropic", **options)
    manager.append({"role": "system", "content": "Be brief."}, {"role": "user", "content": "Begin."})
    return manager


def test_marks_are_at_system_and_at_the_newest_message():
    with begun() as manager:
        view = manager.get_messages_for_request()
    assert view[0]["content"] == [{"type": "text", "text": "Be brief.", "cache_control": MARK}]
    assert marked(view) == [(0, 0, MARK), (1, 0, MARK)]


def test_next_request_keeps_the_mark_of_the_previous_newest():
    with begun() as manager:
        manager.get_messages_for_request()
        manager.append(*step(0, 3))
        assert [place[:2] for place in marked(manager.get_messages_for_request())] == [(0, 0), (1, 0), (3, 2)]
        manager.append(*step(3, 1))
        assert [place[:2] for place in marked(manager.get_messages_for_request())] == [(0, 0), (3, 2), (5, 0)]


def test_request_without_news_marks_the_same_place():
    with begun() as manager:
        assert marked(manager.get_messages_for_request()) == marked(manager.get_messages_for_request())


def test_step_of_more_than_20_blocks_gets_a_mark_between():
    """From there the provider looks back to where the last request wrote: 20 blocks, the marked one included."""
    with begun() as manager:
        manager.get_messages_for_request()
        manager.append(*step(0, 15))
        assert [place[:2] for place in marked(manager.get_messages_for_request())] == [
            (0, 0), (1, 0), (3, 3), (3, 14),
        ]  # fmt: skip  # one list
        manager.append(*step(15, 9), {"role": "user", "content": "And?"})
        assert [place[:2] for place in marked(manager.get_messages_for_request())] == [(0, 0), (3, 14), (6, 0)]


def test_digest_is_marked_and_gives_way_to_a_large_step():
    with begun() as manager:
        for number in range(4):
            manager.append({"role": "assistant", "content": f"Yes {number}."}, {"role": "user", "content": "On."})
        manager.get_messages_for_request()
        manager.trim(keep_last=2)
        view = manager.get_messages_for_request()
        digest = next(at for at, message in enumerate(view) if "<summary>" in str(message["content"]))
        manager.append({"role": "assistant", "content": "Yes."}, {"role": "user", "content": "On."})
        assert digest in [place[0] for place in marked(manager.get_messages_for_request())]
        manager.append(*step(0, 15))
        places = [place[0] for place in marked(manager.get_messages_for_request())]
        assert len(places) == 4
        assert digest not in places


def test_marks_of_the_caller_are_taken_out_of_the_view_only():
    """Also in the content of results; an argument of a call is no mark."""
    inner = [{"type": "text", "text": "yes", "cache_control": MARK}]
    given = [
        {"role": "user", "content": [{"type": "text", "text": f"{at}", "cache_control": MARK} for at in range(6)]},
        {"role": "assistant", "content": [use(1)]},
        {"role": "user", "content": [result(1, content=inner, cache_control=MARK)]},
    ]
    with begun() as manager:
        manager.append(*given)
        view = manager.get_messages_for_request()
        assert manager.get_messages()[2:] == given
        assert len(marked(view)) == 2
        assert view[4]["content"][0]["content"] == [{"type": "text", "text": "yes"}]
        assert view[3]["content"] == [use(1)]


def test_marks_change_nothing_else_of_a_view():
    """A text is one block, in each view alike; the view without marks is an extension of the one before."""
    talks = [[{"role": "user", "content": "On."}], step(0, 25), step(25, 2), [{"role": "user", "content": "And?"}]]
    with begun() as manager, ContextManager() as plain:
        plain.append({"role": "system", "content": "Be brief."}, {"role": "user", "content": "Begin."})
        before = []
        for messages in talks:
            manager.append(*messages)
            plain.append(*messages)
            view = bare(manager.get_messages_for_request())
            assert view == bare(plain.get_messages_for_request())
            assert view[: len(before)] == before
            before = view


def test_a_view_that_was_marked_is_no_part_of_the_next():
    """Callers may change what they get, marks included."""
    with begun() as manager:
        first = manager.get_messages_for_request()
        first[0]["content"][0]["cache_control"]["ttl"] = "1h"
        assert marked(manager.get_messages_for_request())[0][2] == MARK
        assert marked(manager.view()) == []


def test_reasoning_and_empty_texts_bear_no_mark():
    messages = MarkableMessages()
    thinking = {"type": "thinking", "thinking": "", "signature": "s"}
    blocks = [{"type": "text", "text": "yes"}, thinking, {"type": "text", "text": " \n"}]
    messages.follow([{"role": "user", "content": blocks}, {"role": "user", "content": [thinking]}])
    assert messages.places(None, None, 4) == [(Place(0, 0), False)]


@pytest.mark.parametrize(
    ("marks", "ttls"),
    [
        (CacheMarks("anthropic", ttl="1h"), ["1h", "1h"]),
        (CacheMarks("anthropic", system_ttl="1h"), ["1h", None]),
        (CacheMarks("anthropic"), [None, None]),
    ],
)
def test_marks_of_one_hour_come_first(marks, ttls):
    with ContextManager(cache_marks=marks) as manager:
        manager.append({"role": "system", "content": "Be brief."}, {"role": "user", "content": "Begin."})
        found = marked(manager.get_messages_for_request())
    assert [mark.get("ttl") for _, _, mark in found] == ttls


def test_reserved_marks_are_left_to_the_caller():
    with ContextManager(cache_marks=CacheMarks("anthropic", reserved=2)) as manager:
        manager.append({"role": "system", "content": "Be brief."}, {"role": "user", "content": "Begin."})
        manager.get_messages_for_request()
        manager.append(*step(0, 25))
        assert [place[:2] for place in marked(manager.get_messages_for_request())] == [(1, 0), (3, 24)]


@pytest.mark.parametrize(
    ("lane", "model", "has_marks"),
    [
        ("claude-opus-5-5", None, True),
        ("main", "claude-sonnet-5", True),
        ("main", "us.anthropic.claude-haiku-4-5-v1:0", True),
        ("gpt-6.2-sol", "claude-sonnet-5", False),
        ("main", "gpt-6.2-sol", False),
        ("main", None, False),
    ],
)
def test_auto_marks_views_for_claude_only(lane, model, has_marks):
    with ContextManager(cache_marks="auto", model=model, budget=BudgetOptions(max_tokens=9_000)) as manager:
        manager.append({"role": "user", "content": "Begin."})
        view = manager.get_messages_for_request(lane=lane)
    assert bool(has_marks) == (view != [{"role": "user", "content": "Begin."}])


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"ttl": "10m"}, "`ttl`"),
        ({"ttl": "1h", "system_ttl": "5m"}, "`system_ttl`"),
        ({"provider": "openai"}, "`provider`"),
        ({"reserved": 3}, "`reserved`"),
    ],
)
def test_wrong_cache_marks_raise_and_name_the_value(wrong, named):
    with pytest.raises(ConfigurationError, match=named):
        CacheMarks(**wrong)


def test_cache_key_is_stable_and_own_to_session_and_lane(tmp_path):
    keys = []
    for session in ("a", "a", "b"):
        with ContextManager(store=tmp_path / "a.db", session=session) as manager:
            keys += [manager.prompt_cache_key(), manager.prompt_cache_key("other")]
    assert (
        keys[:2] == keys[2:4] == [AsyncContextManager(store=tmp_path / "a.db", session="a").prompt_cache_key(), keys[1]]
    )
    assert len(set(keys)) == 4
    assert all(len(key) <= 64 for key in keys)


def test_marks_rebuild_marked_messages_only():
    """Of a view of blocks, each message is looked at once, and shared with the view in the form that it was added."""
    messages = [each for number in range(50) for each in step(number, 1)]
    markable = MarkableMessages()
    markable.follow(messages)
    assert all(one is other for one, other in zip(markable.messages, messages, strict=True))
    markable.cut(40)
    assert len(markable.messages) == len(markable.ends) == 40


def test_a_mark_of_one_hour_never_follows_one_of_5_minutes():
    """Where the previous request ended before the digest, the digest gets the shorter life as well."""
    messages = [{"role": "user", "content": [{"type": "text", "text": f"{at}"}]} for at in range(2)]
    set_marks(messages, [(Place(0, 0), False), (Place(1, 0), True)], ("1h", "5m"))
    assert [mark for _, _, mark in marked(messages)] == [MARK, MARK]


@pytest.mark.parametrize(("before", "after"), [(None, "auto"), ("auto", None), ("auto", "anthropic")])
def test_reasoning_goes_where_texts_become_blocks_or_cease_to_be(before, after, tmp_path):
    options = {"store": tmp_path / "a.db", "session": "s", "model": "claude-opus-5-5"}
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "sealed"}
    with ContextManager(cache_marks=before, **options) as manager:
        manager.append({"role": "user", "content": "Begin."})
        manager.get_messages_for_request()
        manager.append({"role": "assistant", "content": [thinking, {"type": "text", "text": "Yes."}]})
        manager.append({"role": "user", "content": "And?"})
        assert "sealed" in str(manager.get_messages_for_request())
    with ContextManager(cache_marks=after, **options) as manager:
        assert ("sealed" in str(manager.get_messages_for_request())) == (None not in (before, after))
