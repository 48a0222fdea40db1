"""ToolResultPreview: long results as head and tail, once they were seen or from the beginning."""

import asyncio
from typing import Any

import pytest

from backscroll import AsyncContextManager, CachePricing, ContextManager, Protection, ToolResultPreview
from backscroll.errors import ConfigurationError
from tests.present import present

LONG = "\n".join(f"line {number} of the file" for number in range(400))  # about 2,400 tokens


def manager(when: str = "seen", **options: Any) -> ContextManager:
    previews = ToolResultPreview(threshold_tokens=1_000, preview_tokens=200, when=when)
    made = ContextManager(
        tool_result_preview=previews, budget=20_000, strategies=[], protect=Protection(recent=0.0), **options
    )
    made.append({"role": "user", "content": "Read the file"})
    return made


def read(context: ContextManager, number: int, text: str = LONG, tool: str = "read", **result: Any) -> None:
    function = {"name": tool, "arguments": f'{{"number": {number}}}'}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    context.append({"role": "assistant", "content": None, "tool_calls": [call]})
    context.append({"role": "tool", "tool_call_id": call["id"], "content": text, **result})


def lines(view: list[dict[str, Any]], seq_of_result: int = 2) -> int:
    return str(view[seq_of_result]["content"]).count("line ")


def test_result_is_seen_whole_and_previewed_at_compaction():
    """A result is seen whole and previewed with the next compaction."""
    context = manager(clear_at_least_tokens=None)
    for number in range(7):
        read(context, number)
        assert lines(context.get_messages_for_request(), 2 * number + 2) == 400
    read(context, 7)
    view = context.get_messages_for_request()
    previewed = [10 < lines(view, at) < 60 for at in range(2, 18, 2)]
    assert previewed == [True] * 3 + [False] * 5  # down to 70% of the budget
    assert "[ref:2.0]" in view[2]["content"]
    assert context.explain()[2].reason == "preview"
    assert context.recall("2.0") == LONG


def test_preview_on_arrival_is_constant_and_moves_nothing():
    """On arrival it is never shown whole and that moves nothing."""
    context = manager("arrival")
    before = context.get_messages_for_request()
    read(context, 0)
    view = context.get_messages_for_request()
    assert 10 < lines(view) < 60
    assert view[: len(before)] == before
    context.append({"role": "assistant", "content": "I have read it."})
    assert context.get_messages_for_request()[:3] == view


def test_one_over_a_quarter_of_the_budget_is_never_shown_whole():
    context = manager()
    read(context, 0, LONG * 3)
    assert lines(context.get_messages_for_request()) < 60
    assert lines(context.get_messages()) == 1_200


@pytest.mark.parametrize("when", ["seen", "arrival"])
def test_pinned_result_is_never_previewed(when):
    """Pinned messages stay word for word, also where they are pinned after they were shown as previews."""
    context = manager(when)
    read(context, 0, LONG * 3)
    assert lines(context.get_messages_for_request()) < 60
    context.pin(2)
    assert lines(context.get_messages_for_request()) == 1_200
    read(context, 1, LONG * 3, metadata={"pinned": True})
    view = context.get_messages_for_request()
    assert [lines(view, at) for at in (2, 4)] == [1_200, 1_200]


def test_in_a_small_budget_a_preview_is_smaller_as_well():
    context = ContextManager(tool_result_preview=ToolResultPreview(), budget=4_000)
    context.append({"role": "user", "content": "Read"})
    read(context, 0)
    assert 20 < lines(context.get_messages_for_request()) < 120


def test_what_brings_back_what_was_left_out_is_shown_whole_once():
    context = manager("arrival")
    read(context, 0, tool="recall")
    assert lines(context.get_messages_for_request()) == 400


def test_a_message_may_say_that_it_is_to_stay_whole():
    context = manager("arrival")
    read(context, 0, metadata={"whole": True})
    assert lines(context.get_messages_for_request()) == 400


def test_batch_of_old_results_is_cleared_also_with_previews():
    """A batch costs the cache of all that follows, and a preview frees too little for that."""
    context = manager(clear_at_least_tokens=2_000, cache_pricing=CachePricing(read=1.0, write=1.0))
    for number in range(10):
        read(context, number)
        view = context.get_messages_for_request()
    cleared = [n for n, message in enumerate(view) if "tool result of" in str(message["content"])]
    assert cleared[:2] == [2, 4]


@pytest.mark.parametrize(
    ("budget", "whole", "shown"),
    [(4_000, 1_000, 360), (8_000, 2_000, 720), (16_000, 2_000, 1_000), (64_000, 8_000, 4_000)],
)
def test_longest_new_result_shown_whole_is_a_share_of_the_budget(budget, whole, shown):
    """Without an option an eighth, in a small budget 2,000 tokens up to a quarter; a longer one is shown by half."""
    for tokens in (0.9 * whole, 1.1 * whole):
        context = ContextManager(budget=budget, tokenizer=lambda text: len(text) // 4)
        context.append({"role": "user", "content": "Read the file"})
        read(context, 0, "".join(f"line {number:04d} of the file\n" for number in range(int(tokens / 5.5))))
        said = sum(len(str(message["content"])) // 4 for message in context.get_messages_for_request())
        if tokens < whole:
            assert said > 0.95 * tokens
        else:
            assert 0.5 * shown < said < 1.2 * shown


def test_new_result_over_a_quarter_of_the_budget_is_previewed():
    """Also where reasoning is not bound and no preview is configured, by about a tenth of the budget."""
    context = ContextManager(budget=8_000)
    context.append({"role": "user", "content": "Read the file"})
    read(context, 0)
    view = context.get_messages_for_request()
    assert 20 < lines(view) < 200
    assert context.explain()[2].reason == "preview"
    assert context.usage().used_upper_bound < 0.12 * 8_000
    assert context.get_messages_for_request() == view


@pytest.mark.parametrize("strategies", [["digest"], ["truncate"], None])
def test_strategies_that_shorten_nothing_preview_nothing(strategies):
    context = ContextManager(budget=8_000, strategies=strategies)
    context.append({"role": "user", "content": "Read the file"})
    read(context, 0)
    assert lines(context.get_messages_for_request()) == 400


def test_preview_plan_survives_a_resume(tmp_path):
    """The plan is an event and a resumed session shows the same."""
    address = f"sqlite:///{tmp_path}/previews.db"
    context = manager("arrival", session="one", store=address)
    read(context, 0)
    view = context.get_messages_for_request()
    context.close()
    again = ContextManager(
        session="one",
        store=address,
        tool_result_preview=ToolResultPreview(1_000, 200, "arrival"),
        budget=20_000,
        strategies=[],
    )
    assert again.get_messages_for_request() == view
    assert again.usage().compactions == 1
    again.close()


@pytest.mark.parametrize(
    "values",
    [
        {"threshold_tokens": 1},
        {"preview_tokens": 0},
        {"threshold_tokens": 100, "preview_tokens": 100},
        {"when": "later"},
    ],
)
def test_what_can_never_work_is_refused(values: dict[str, Any]):
    with pytest.raises(ConfigurationError):
        ToolResultPreview(**values)
    with pytest.raises(ConfigurationError, match="`tool_result_preview` must be a ToolResultPreview"):
        ContextManager(tool_result_preview=values)  # type: ignore[arg-type]  # on purpose


# -- messages kept by number, and leaving out what is asked for --


def talk(turns: int = 20, **options: Any) -> ContextManager:
    context = ContextManager(**options)
    context.append({"role": "system", "content": "Be brief."})
    for turn in range(turns):
        context.append({"role": "user", "content": f"Question {turn} " + "and words " * 60})
        context.append({"role": "assistant", "content": f"Answer {turn} " + "and words " * 60})
    return context


def test_messages_at_both_ends_never_leave_by_number():
    context = talk(budget=3_000, protect=Protection(recent=0.0, first=3, last=5))
    view, whole = context.get_messages_for_request(), context.get_messages()
    assert len(view) < len(whole)
    assert view[:2] == whole[:2]
    assert view[1:].count(whole[2]) == view[1:].count(whole[3]) == 1
    assert view[-5:] == whole[-5:]


def test_where_they_cannot_fit_they_are_cut_and_leave_at_last():
    context = talk(budget=900, protect=Protection(first=8, last=12))
    view = context.get_messages_for_request()
    assert view[0]["content"] == "Be brief."
    assert view[-1]["role"] == "assistant"


def test_what_is_asked_for_leaves_the_view_and_can_come_back():
    context = talk()
    context.get_messages_for_request()
    done = context.trim(keep_last=6)
    view = context.get_messages_for_request()
    assert done is not None
    assert done.after_messages == len(view) < 15
    assert view[-6:] == context.get_messages()[-6:]
    assert "<summary>" in view[2]["content"]
    assert context.trim(keep_last=6) is None
    assert context.undo_compaction()
    assert context.get_messages_for_request() == context.get_messages()


def test_a_share_and_a_kind_narrow_it_down():
    context = talk(turns=4)
    read(context, 0)
    context.append({"role": "assistant", "content": "Read."})
    context.append({"role": "user", "content": "Go on"})
    context.get_messages_for_request()
    assert context.trim(keep_last=2, fraction=0.4, only="tools") is None
    assert present(context.trim(keep_last=2, only="tools")).messages_dropped == 2
    view = context.get_messages_for_request()
    assert not any(message["role"] == "tool" for message in view)
    assert sum("Question" in message["content"] for message in view if message["role"] == "user") == 4
    context.pin(3)
    context.trim(keep_last=2, only="messages")
    assert context.get_messages()[3] in context.get_messages_for_request()


def test_a_summarizer_is_asked_first_where_that_is_wanted():
    asked = []

    async def summarizer(request: Any) -> str:
        asked.append(request.prompt)
        return "<summary>All went well.</summary>"

    async def run() -> list[dict[str, Any]]:
        context = AsyncContextManager(summarizer=summarizer)
        for message in talk().get_messages():
            await context.append(message)
        await context.get_messages_for_request()
        await context.trim(keep_last=6, summarize=True)
        return await context.get_messages_for_request()

    view = asyncio.run(run())
    assert len(asked) == 1
    assert "Question 3" in asked[0]
    assert "All went well." in view[2]["content"]


@pytest.mark.parametrize(
    "values", [{"keep_last": -1}, {"keep_last": 1, "fraction": 0}, {"keep_last": 1, "only": "texts"}]
)
def test_a_wish_that_names_nothing_is_refused(values: dict[str, Any]):
    with pytest.raises(ConfigurationError):
        talk(turns=1).trim(**values)


def test_what_stands_outside_counts_until_a_provider_reported():
    context = talk(turns=2, budget=10_000)
    context.get_messages_for_request(overhead_tokens=2_000)
    assert context.usage().overhead.tokens == 2_000
    tokens = context.usage().used.tokens
    context.observe_usage(input_tokens=tokens - 1_000)
    context.append({"role": "user", "content": "Go on"})
    context.get_messages_for_request(overhead_tokens=2_000)
    assert context.usage().overhead.tokens < 1_500


def test_previews_of_new_results_leave_what_was_cut_cut():
    """A user's text that was cut because nothing else was left stays cut when a small result is previewed."""
    context = ContextManager(
        tool_result_preview=ToolResultPreview(threshold_tokens=50, preview_tokens=40, when="arrival"), budget=3_000
    )
    context.append({"role": "user", "content": LONG * 4})
    read(context, 0, LONG[:300])
    view = context.get_messages_for_request()
    assert "characters left out" in view[2]["content"]
    assert context.usage().used_upper_bound <= 3_000
    assert context.get_messages_for_request() == view
