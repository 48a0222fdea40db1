"""What Strands 1.62.0 gets wrong, in its numbered lines: scripts on its own manager.

    python -m pytest benchmarks/peers/shipped_strands.py

Run before a release, not with the tests: a check that fails here says that Strands mended something, and then this
record has to change. `tests/integrations/strands/test_guarantees.py` runs the same scripts on ours.
"""

import asyncio
import gc
import json
from pathlib import Path
from typing import Any

import pytest
from strands import Agent
from strands.experimental.context_manager import ContextManager as Upstream
from strands.experimental.context_manager import Offload
from strands.session import FileSessionManager
from strands.types.exceptions import ContextWindowOverflowException

from backscroll.integrations.strands import ContextManagerPlugin
from tests.integrations.strands import scripts
from tests.integrations.strands.agents import TOOLS, agent_of, png, text_of
from tests.integrations.strands.scripted import Scripted, call, tokens_of

pytestmark = pytest.mark.filterwarnings("ignore:context_window_limit is not set", "ignore::DeprecationWarning")


def upstream_of(model: Scripted, **options: Any) -> Agent:
    """An agent of Strands alone."""
    settings: dict[str, Any] = {"tools": TOOLS, "context_manager": "auto", "callback_handler": None, **options}
    return Agent(model=model, **settings)


def test_1_dropped_inputs_are_destroyed() -> None:
    mine: list[Any] = []
    agent = upstream_of(Scripted(scripts.saving, window=9_000), messages=mine)
    for turn in range(12):
        agent(f"Save fact {turn}")
    assert len(mine) < 12 * 4, "the caller's own list was the one that was cut"
    assert not any("fact 0: " in json.dumps(message) for message in mine)


def test_2_what_was_cut_is_cut_again_and_each_result_is_summarised() -> None:
    cut_again = Upstream(strategies=[Offload.truncate("tool_results", {"preview_tokens": 200})])
    agent = upstream_of(Scripted(scripts.READING), context_manager=cut_again)
    agent("Read them")
    assert max(text_of([message]).count("runcated") for message in agent.messages) > 1, "one header on the other"

    model = Scripted(scripts.READING)
    upstream_of(model, context_manager=Upstream(strategies=[Offload.summarize("tool_results")]))("Read them")
    assert len(model.summaries) > 10


def test_3_after_trimming_the_status_is_the_old_one() -> None:
    model = Scripted(scripts.shrinking(), told=100_000)
    agent = upstream_of(model, context_manager="agentic")
    agent("Read and trim")
    agent("And now?")
    assert scripts.status_of(model.requests[11]) > 0.9 * scripts.status_of(model.requests[10])


def test_4_counting_is_quadratic() -> None:
    def counted(model: Scripted) -> int:
        upstream_of(model)("Read them all")
        return model.counted

    few, many = scripts.counts(counted, told=200_000)
    assert many > 3 * few


def cost(requests: list[Any]) -> float:
    """Of the prompts, at cache prices: what a request shares with the one before is read, the rest is written."""
    total, before = 0.0, list[str]()
    for request in requests:
        messages = [json.dumps(message["content"], default=len) for message in request["messages"]]
        same = next(
            (n for n, (a, b) in enumerate(zip(before, messages, strict=False)) if a != b),
            min(len(before), len(messages)),
        )
        total += 0.1 * sum(map(len, messages[:same])) + 1.25 * sum(map(len, messages[same:]))
        before = messages
    return total


def test_5_the_sliding_window_costs_more_than_no_management_at_all() -> None:
    def run(make: Any) -> list[Any]:
        model = Scripted(scripts.two_reads_a_turn, told=200_000)
        scripts.turns(make(model), 28)
        return model.requests

    slid = run(lambda model: upstream_of(model, context_manager=None))
    free = run(lambda model: upstream_of(model, context_manager=False))
    ours = run(lambda model: agent_of(model, ContextManagerPlugin("auto")))
    assert scripts.broken(slid) > 15
    assert cost(free) < cost(slid)
    assert cost(ours) < 0.8 * cost(slid)


def test_6_dense_texts_are_undercounted_and_media_not_counted() -> None:
    model = Scripted()
    for text in scripts.texts_of_any_kind():
        messages = [{"role": "user", "content": [{"text": text}]}]
        counted = asyncio.run(model.count_tokens(messages))
        assert counted < 0.7 * tokens_of({"messages": messages, "tools": [], "system": ""})
    shot = [{"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": png(800, 600)}}}]}]
    assert asyncio.run(model.count_tokens(shot)) == 0

    looking = Scripted(scripts.LOOKING, told=5_000, reports_usage=False)
    agent = upstream_of(looking)
    agent("Look eight times"), agent("And?")
    assert scripts.shots_in(looking.requests[-1]) == 8


@pytest.mark.parametrize("case", scripts.OVERFLOWS)
def test_7_overflows_reach_the_caller_though_much_can_be_cut(case: str) -> None:
    steps, prompt, messages = scripts.OVERFLOWS[case]
    with pytest.raises(ContextWindowOverflowException):
        upstream_of(Scripted(steps, window=8_000), messages=[dict(message) for message in messages])(prompt)


def test_8_roles_do_not_alternate_where_the_model_leaves_something_out() -> None:
    model = Scripted([*scripts.SUMMARIZING, "Done.", "Done."], told=100_000)
    scripts.turns(upstream_of(model, context_manager="agentic"), 8)
    assert any("in a row" in fault for fault in model.faults)


def test_9_a_reference_names_another_text_later() -> None:
    agent = upstream_of(Scripted(scripts.SAME_ID))
    agent("Read the first"), agent("Read the second")
    first = agent.messages[2]["content"][0]["toolResult"]["content"]
    assert "call_0_0" in text_of([{"content": first}]), "the first preview names its original so"
    answer = agent.tool.retrieve_context(reference="call_0_0")
    assert "second.py" in answer["content"][0]["text"], "and gets the wrong document"


def test_10_one_endless_line_is_not_read_to_its_end() -> None:
    agent = upstream_of(Scripted(scripts.FETCHING), tools=[scripts.fetch])
    agent("Fetch")
    ids = agent.messages[1]["content"][0]["toolUse"]["toolUseId"]
    read = agent.tool.retrieve_context(reference=f"{ids}_0")["content"][0]["text"]
    assert len(read) < 50_000
    assert read.endswith("[truncated]")


def test_11_a_result_is_cut_before_the_model_has_seen_it() -> None:
    model = Scripted([call("read", {"path": "a.py", "lines": 250}), "Done."], told=200_000)
    upstream_of(model)("Read")
    assert "line 125," not in text_of(model.requests[1]["messages"])


def test_12_errors_and_inputs_are_never_reduced() -> None:
    truncating = Upstream(strategies=[Offload.truncate("tool_results", {"preview_tokens": 750}).when(threshold=1_500)])
    last = scripts.exploded(lambda model, tools: upstream_of(model, tools=tools, context_manager=truncating))
    assert last.count("traceback line") == 2_700
    assert last.count("many words") == 3_700


def test_13_what_can_never_work_is_accepted() -> None:
    Offload.summarize("*").when(utilization=85, preserve_recent=-3)
    Offload.truncate("tool_result")  # type: ignore[arg-type]
    Offload.summarize("*", {"sytem_prompt": "Short."})  # type: ignore[arg-type]  # a typing error


def test_14_after_a_restore_all_comes_back_and_is_summarised_again(tmp_path: Path) -> None:
    def upstream(model: Scripted) -> Agent:
        session = FileSessionManager("theirs", storage_dir=str(tmp_path / "theirs"))
        return upstream_of(model, session_manager=session)

    first, second = Scripted(scripts.saving, window=9_000), Scripted(window=9_000)
    scripts.long_talk(upstream(first))
    gc.collect()  # the process ends here
    upstream(second)("And now?")
    assert first.summaries
    assert second.summaries


def test_15_one_manager_in_two_agents_mixes_them_up() -> None:
    told = upstream_of(Scripted(scripts.SECRET), context_manager=False)
    told("Read")
    shared = Upstream()
    one = upstream_of(Scripted(), context_manager=shared, messages=told.messages)
    two = upstream_of(Scripted(), context_manager=shared)
    one("Go on")
    assert "secret-of-one" in json.dumps(two.tool.retrieve_context(reference="call_1_0"))
