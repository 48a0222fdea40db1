"""What the fakes' prompt caches read and write, in figures counted by hand: one character is one token here."""

import pytest

from backscroll.evaluation.fake_providers import FakeAnthropic, FakeProviderError, reply
from backscroll.evaluation.fake_providers.prompt_cache import CacheUsage, PromptCache, Unit
from tests.evaluation.fake_providers.talks import Talk, replies, setting, text, thinking_places, without_thinking

MARK = {"type": "ephemeral"}


def units(count, *marks, size=100, first=0):
    """Units of equal size, with marks at these places."""
    return [Unit(f"unit {first + at}", size, "5m" if at in marks else None) for at in range(count)]


def billed(cache, *args, minimum=512, **kwargs):
    usage = cache.bill_marks("model", units(*args, **kwargs), minimum)
    return usage.read, usage.written, usage.uncached


def test_mark_writes_and_the_next_request_reads():
    cache = PromptCache()
    assert billed(cache, 10, 8) == (0, 900, 100)
    assert billed(cache, 10, 8) == (900, 0, 100)
    assert billed(cache, 13, 12) == (900, 400, 0)


def test_without_a_mark_nothing_is_cached():
    cache = PromptCache()
    assert billed(cache, 10) == (0, 0, 1000)
    assert billed(cache, 10) == (0, 0, 1000)


def test_only_positions_written_earlier_are_read():
    """The first request wrote at its mark alone: a shorter prefix of it is a miss."""
    cache = PromptCache()
    assert billed(cache, 10, 9) == (0, 1000, 0)
    assert billed(cache, 8, 7) == (0, 800, 0)


@pytest.mark.parametrize(("step", "read"), [(1, 600), (19, 600), (20, 0), (21, 0)])
def test_look_back_reaches_19_blocks_before_the_mark(step, read):
    """20 positions from the mark, the mark's own as the first."""
    cache = PromptCache()
    assert billed(cache, 6, 5) == (0, 600, 0)
    assert billed(cache, 6 + step, 5 + step) == (read, 600 + step * 100 - read, 0)


def test_a_mark_in_between_carries_over_a_long_step():
    cache = PromptCache()
    billed(cache, 6, 5)
    assert billed(cache, 36, 20, 35) == (600, 3000, 0)
    assert billed(cache, 37, 36) == (3600, 100, 0)


def test_a_mark_that_stays_reads_where_the_last_cannot():
    cache = PromptCache()
    billed(cache, 6, 5)
    assert billed(cache, 60, 5, 59) == (600, 5400, 0)


def test_edit_before_a_position_misses_it():
    cache = PromptCache()
    billed(cache, 10, 5, 9)
    changed = units(10, 5, 9)
    changed[7] = Unit("other", 100)
    assert cache.bill_marks("model", changed, 512) == CacheUsage(600, 400, 0, (("5m", 400),))


@pytest.mark.parametrize(("minimum", "written"), [(1000, 1000), (1001, 0)])
def test_prefix_below_the_minimum_is_not_cached(minimum, written):
    cache = PromptCache()
    assert billed(cache, 10, 9, minimum=minimum) == (0, written, 1000 - written)
    assert billed(cache, 10, 9, minimum=minimum) == (written, 0, 1000 - written)


def test_entries_live_five_minutes_after_their_last_use():
    cache = PromptCache()
    billed(cache, 10, 9)
    for _ in range(3):
        cache.advance(299)
        assert billed(cache, 10, 9) == (1000, 0, 0)
    cache.advance(300)
    assert billed(cache, 10, 9) == (0, 1000, 0)


def test_entries_of_one_hour_outlive_those_of_five_minutes():
    cache = PromptCache()
    made = [Unit("a", 600, "1h"), Unit("b", 100, "5m"), Unit("c", 50)]
    assert cache.bill_marks("model", made, 512) == CacheUsage(0, 700, 50, (("1h", 600), ("5m", 100)))
    cache.advance(3599)
    assert cache.bill_marks("model", made, 512) == CacheUsage(600, 100, 50, (("5m", 100),))


def test_another_model_reads_nothing():
    cache = PromptCache()
    cache.bill_marks("one", units(10, 9), 512)
    assert cache.bill_marks("other", units(10, 9), 512).read == 0


def test_automatic_cache_reads_the_longest_prefix_without_a_limit():
    cache = PromptCache()
    first = cache.bill_prefix("model", units(10), 1024)
    assert (first.read, first.written, first.uncached) == (0, 0, 1000)
    second = cache.bill_prefix("model", units(50), 1024)
    assert (second.read, second.written, second.uncached) == (0, 5000, 0)
    third = cache.bill_prefix("model", units(90), 1024)
    assert (third.read, third.written) == (5000, 4000)
    shorter = cache.bill_prefix("model", units(20), 1024)
    assert (shorter.read, shorter.written) == (2000, 0)


# -- through the Messages API --


def usage(response):
    found = response["usage"]
    return found["cache_read_input_tokens"], found["cache_creation_input_tokens"], found["input_tokens"]


def content(words):
    """A block with a mark; without it, its JSON has 25 characters and the words."""
    return {**text(words), "cache_control": MARK}


def fake(**options):
    return FakeAnthropic(count=len, **options)


def test_messages_are_billed_by_hand():
    """`{"text":"...","type":"text"}` has 25 characters and the words; the answer is `{"text":"Done.",...}`, 30."""
    provider = fake()
    messages = [{"role": "user", "content": [content("x" * 975)]}]
    assert usage(provider.create(messages=messages)) == (0, 1000, 0)
    messages = [{"role": "user", "content": [text("x" * 975)]}]
    messages += [{"role": "assistant", "content": [text("Done.")]}, {"role": "user", "content": [content("y" * 5)]}]
    answer = provider.create(messages=messages)
    assert usage(answer) == (1000, 60, 0)
    assert answer["usage"]["output_tokens"] == 30
    assert answer["usage"]["cache_creation"] == {"ephemeral_5m_input_tokens": 60, "ephemeral_1h_input_tokens": 0}


def test_order_is_tools_system_messages():
    provider = fake()
    tool = {"name": "t", "cache_control": MARK}
    request = {"tools": [{**tool, "description": "d" * 600}], "system": [text("s" * 75)]}
    asked = [{"role": "user", "content": [text("Go.")]}]
    read, written, uncached = usage(provider.create(**request, messages=asked))
    assert (read, uncached) == (0, 100 + 28)
    assert usage(provider.create(**{**request, "system": "Other."}, messages=asked)) == (written, 0, 8 + 28)


@pytest.mark.parametrize(
    ("model", "minimum"),
    [
        ("claude-opus-5-5", 512),
        ("claude-haiku-5-5", 512),
        ("claude-fable-5", 512),
        ("claude-sonnet-5", 1024),
        ("claude-opus-4-8", 1024),
        ("claude-sonnet-4-5", 1024),
        ("claude-opus-4-7", 2048),
        ("claude-opus-4-6", 4096),
        ("claude-haiku-4-5", 4096),
    ],
)
def test_minimum_is_that_of_the_model(model, minimum):
    for size, written in ((minimum, minimum), (minimum - 1, 0)):
        messages = [{"role": "user", "content": [content("x" * (size - 25))]}]
        assert usage(fake(model=model).create(messages=messages)) == (0, written, size - written)


def test_fifth_mark_is_refused():
    blocks = [content(f"{number}") for number in range(4)]
    request = {"messages": [{"role": "user", "content": blocks}]}
    assert fake().create(**request)["type"] == "message"
    for more in (
        {"system": [content("s")]},
        {"cache_control": MARK},
        {"tools": [{"name": "t", "cache_control": MARK}]},
    ):
        with pytest.raises(
            FakeProviderError, match=r"A maximum of 4 blocks with cache_control may be provided\. Found 5"
        ):
            fake().create(**request, **more)


def test_marks_inside_results_count():
    made = Talk(FakeAnthropic(replies=replies()))
    made.say(text("Go."))
    made.send()
    made.results()
    made.messages[-1]["content"][0]["content"] = [content(f"{number}") for number in range(5)]
    with pytest.raises(FakeProviderError, match="Found 5"):
        made.send()


def test_marks_of_one_hour_come_first():
    hour = {**text("a"), "cache_control": {**MARK, "ttl": "1h"}}
    for blocks, is_good in (([hour, content("b")], True), ([content("b"), hour], False)):
        messages = [{"role": "user", "content": blocks}]
        if is_good:
            fake().create(messages=messages)
        else:
            with pytest.raises(FakeProviderError, match="must not come after"):
                fake().create(messages=messages)


def test_automatic_mark_is_on_the_last_block():
    provider = fake()
    messages = [{"role": "user", "content": [text("x" * 975), text("y" * 5)]}]
    assert usage(provider.create(messages=messages, cache_control=MARK)) == (0, 1030, 0)
    messages += [{"role": "assistant", "content": [text("Done.")]}, {"role": "user", "content": [text("z" * 5)]}]
    assert usage(provider.create(messages=messages, cache_control=MARK)) == (1030, 60, 0)


def test_thinking_and_tool_choice_invalidate_the_messages_only():
    provider = fake()
    request = {
        "system": [content("s" * 975)],
        "messages": [{"role": "user", "content": [content("x" * 75)]}],
    }
    assert usage(provider.create(**request)) == (0, 1100, 0)
    assert usage(provider.create(**request)) == (1100, 0, 0)
    for change in (
        {"tool_choice": {"type": "none"}},
        {"thinking": {"type": "adaptive"}},
        {"output_config": {"effort": "low"}},
    ):
        assert usage(provider.create(**request, **change)) == (1000, 100, 0)


def test_accounts_share_no_cache():
    provider = fake()
    messages = [{"role": "user", "content": [content("x" * 975)]}]
    provider.create(messages=messages)
    other = provider.for_account("account-2", account_created="2026-01-01")
    assert usage(other.create(messages=messages)) == (0, 1000, 0)


def test_cache_restarts_at_dropped_thinking():
    """The positions before it are read, those after it are written again."""
    made = Talk(fake(replies=[reply("Done.", thinking="Hm.")] * 3))
    made.messages.append({"role": "user", "content": [content("x" * 975)]})
    made.send()
    made.messages.append({"role": "user", "content": [content("Next.")]})
    read, written, _ = usage(made.fake.create(**made.request))
    assert usage(made.fake.create(**made.request)) == (read + written, 0, 0)
    at = thinking_places(made.request)[0]
    thought = made.fake._tokens([made.messages[at[0]]["content"][at[1]]])
    edited = setting(without_thinking(made.request), "error")
    assert usage(made.fake.create(**{**edited, "thinking": {}})) == (read, written - thought, 0)


def test_older_models_drop_the_thinking_of_earlier_turns():
    for model, is_kept in (("claude-opus-5", True), ("claude-haiku-4-5", False)):
        made = Talk(fake(model=model, replies=replies()), betas=[])
        made.say(text("Go."))
        made.send()
        made.results()
        made.send()
        made.results()
        made.send()
        made.say(text("Next."))
        whole = sum(made.fake._tokens(message["content"]) for message in made.messages)
        whole += made.fake._tokens([*made.request["system"], *made.request["tools"]])
        thought = [
            block
            for message in made.messages
            for block in message["content"]
            if block["type"] in ("thinking", "redacted_thinking")
        ]
        expected = whole if is_kept else whole - made.fake._tokens(thought)
        assert made.fake.count_tokens(**made.request)["input_tokens"] == expected
