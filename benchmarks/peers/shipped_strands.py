"""What Strands 1.62.0 gets wrong, in its numbered lines: the same script on its own manager and on ours.

    python -m pytest benchmarks/peers/shipped_strands.py

Run before a release, not with the tests: a check that fails here says that Strands mended something, and then this
record has to change. What Backscroll guarantees at the same places, `tests/strands/test_guarantees.py` holds.
"""

import asyncio
import gc
import json
import random
from itertools import pairwise
from typing import Any

import pytest
from strands import Agent, tool
from strands.experimental.context_manager import ContextManager as Upstream
from strands.experimental.context_manager import Offload
from strands.hooks import AfterInvocationEvent as _AfterInvocation
from strands.session import FileSessionManager
from strands.types.exceptions import ContextWindowOverflowException

from backscroll.errors import ConfigurationError
from backscroll.integrations.strands import ContextManagerPlugin, estimate_input_tokens
from backscroll.integrations.strands.registration import conversation_of
from tests.integrations.strands.agents import CHINESE, TOOLS, agent_of, png, refusals_expected, text_of
from tests.integrations.strands.scripted import Scripted, call, faults, tokens_of

pytestmark = pytest.mark.filterwarnings("ignore:context_window_limit is not set", "ignore::DeprecationWarning")


def upstream_of(model: Scripted, **options: Any) -> Agent:
    """An agent of Strands alone."""
    settings: dict[str, Any] = {"tools": TOOLS, "context_manager": "auto", "callback_handler": None, **options}
    return Agent(model=model, **settings)


def saving(request: Any, n: int) -> Any:
    return (
        call("save", {"path": f"notes/{n}.md", "text": f"fact {n // 2}: {n * 7919} " * 150}) if n % 2 == 0 else "Saved."
    )


def test_1_nothing_is_destroyed_and_every_dropped_input_comes_back():
    def run(make: Any) -> tuple[Agent, list[Any], Scripted]:
        mine: list[Any] = []
        model = Scripted(saving, window=9_000)
        agent = make(model, messages=mine)
        for turn in range(12):
            agent(f"Save fact {turn}")
        return agent, mine, model

    _, mine, _ = run(upstream_of)
    assert len(mine) < 12 * 4, "the caller's own list was the one that was cut"
    assert not any("fact 0: " in json.dumps(message) for message in mine)

    agent, mine, model = run(lambda model, messages: agent_of(model, PLUGIN, messages=messages))
    assert mine is agent.messages
    assert len(mine) == 12 * 4
    shown = json.dumps(model.requests[-1]["messages"])
    assert any(shown.count(f"fact {n}: ") < 150 for n in range(12))
    found = [agent.tool.retrieve_offloaded_content(reference=f"{4 * n + 1}") for n in range(12)]
    assert all(f"fact {n}: {2 * n * 7919}" in answer["content"][0]["text"] for n, answer in enumerate(found))


PLUGIN = ContextManagerPlugin("auto")


def test_2_what_was_cut_is_not_cut_again_and_no_summary_is_summarised():
    steps = [
        call("read", {"path": "a.py", "lines": 400}),
        *[call("read", {"path": f"{n}.py"}) for n in range(9)],
        "Done.",
    ]
    cut_anew = Upstream(strategies=[Offload.truncate("tool_results", {"preview_tokens": 200})])
    theirs = upstream_of(Scripted(steps), context_manager=cut_anew)
    theirs("Read them")
    headers = max(text_of([message]).count("runcated") for message in theirs.messages)
    assert headers > 1, "one header on the other"

    model = Scripted(steps, window=8_000)
    with refusals_expected():
        agent_of(model, PLUGIN)("Read them")
    assert max(text_of([message]).count("characters left out") for message in model.requests[-1]["messages"]) <= 1

    summarized = Upstream(strategies=[Offload.summarize("tool_results")])
    counted = Scripted(steps)
    upstream_of(counted, context_manager=summarized)("Read them")
    assert len(counted.summaries) > 10

    ours = Scripted(steps, window=8_000)
    with refusals_expected():
        agent_of(ours, ContextManagerPlugin({"strategy": "auto", "compression": "summarize"}))("Read them")
    assert len(ours.summaries) <= 3


def status_of(request: Any) -> int:
    """Tokens in use, as the last message of a request tells."""
    return int(text_of(request["messages"][-1:]).partition("<used>")[2].split()[0].replace(",", ""))


def shrinking() -> list[Any]:
    reads = [call("read", {"path": f"{n}.py"}) for n in range(10)]
    return [*reads, call("truncate_context", {"keep_recent": 4}), "Done.", "Done."]


def test_3_after_trimming_the_status_tells_the_new_size():
    theirs = Scripted(shrinking(), told=100_000)
    upstream = upstream_of(theirs, context_manager="agentic")
    upstream("Read and trim")
    upstream("And now?")
    assert status_of(theirs.requests[11]) > 0.9 * status_of(theirs.requests[10]), "still the old size"

    ours = Scripted(shrinking(), told=100_000)
    agent = agent_of(ours, ContextManagerPlugin({"strategy": "agentic", "compression": {"protect_last": 4}}))
    agent("Read and trim")
    assert status_of(ours.requests[11]) < 0.7 * status_of(ours.requests[10])


def test_4_counting_is_linear():
    def asked(make: Any, told: int) -> tuple[int, int]:
        found = []
        for rounds in (30, 60):
            model = Scripted([*[call("read", {"path": f"{n}.py"}) for n in range(rounds)], "Done."], told=told)
            found.append(make(model))
        return found[0], found[1]

    def upstream(model: Scripted) -> int:
        upstream_of(model)("Read them all")
        return model.counted

    def ours(model: Scripted) -> int:
        texts: list[str] = []

        def tokens(text: str) -> int:
            texts.append(text)
            return len(text) // 3 + 1

        agent_of(model, ContextManagerPlugin("auto", tokenizer=tokens))("Read them all")
        return len(texts)

    few, many = asked(upstream, told=200_000)
    assert many > 3 * few
    few, many = asked(ours, told=12_000)  # with compactions, which count what they write
    assert many < 2.2 * few


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


def broken(requests: list[Any]) -> int:
    """How often over half of what was sent before was not sent again."""
    found = 0
    for one, other in pairwise(requests):
        pairs = zip(one["messages"], other["messages"], strict=False)
        same = next((n for n, (a, b) in enumerate(pairs) if a["content"] != b["content"]), len(one["messages"]))
        found += 2 * same < len(one["messages"])
    return found


def test_5_the_prefix_is_kept_and_the_window_is_no_slide():
    def steps(request: Any, n: int) -> Any:
        return call("read", {"path": f"{n}.py", "lines": 12}) if n % 3 < 2 else "Done."

    def run(make: Any) -> list[Any]:
        model = Scripted(steps, told=200_000)
        agent = make(model)
        for turn in range(28):
            agent(f"Turn {turn}")
        return model.requests

    slid = run(lambda model: upstream_of(model, context_manager=None))
    free = run(lambda model: upstream_of(model, context_manager=False))
    ours = run(lambda model: agent_of(model, PLUGIN))
    assert broken(slid) > 15
    assert broken(ours) <= len(ours) / 10
    assert cost(ours) < 0.8 * cost(slid)
    assert cost(free) < cost(slid), "the sliding window costs more than no management at all"


def test_6_texts_of_any_kind_are_counted_and_media_too():
    shuffled = random.Random(7)
    kinds = {
        "chinese": CHINESE * 60,
        "hex": "".join(shuffled.choice("0123456789abcdef") for _ in range(4_000)),
        "csv": "\n".join(",".join(str(shuffled.randrange(10_000)) for _ in range(8)) for _ in range(150)),
    }
    model = Scripted()
    for text in kinds.values():
        messages = [{"role": "user", "content": [{"text": text}]}]
        real = tokens_of({"messages": messages, "tools": [], "system": ""})
        theirs = run_async(model.count_tokens(messages))
        assert theirs < 0.7 * real
        assert 0.98 * real <= estimate_input_tokens(messages) <= 1.02 * real
    shot = [{"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": png(800, 600)}}}]}]
    assert run_async(model.count_tokens(shot)) == 0
    assert estimate_input_tokens(shot) > 300

    steps = [*[call("look", {}) for _ in range(8)], "Done.", "Fine."]
    theirs = Scripted(steps, told=5_000, reports_usage=False)
    ours = Scripted(steps, window=5_000, reports_usage=False)
    upstream, agent = upstream_of(theirs), agent_of(ours, PLUGIN)
    with refusals_expected():
        upstream("Look eight times"), agent("Look eight times")
        upstream("And?"), agent("And?")
    assert shots_in(theirs.requests[-1]) == 8
    assert shots_in(ours.requests[-1]) < 8


def shots_in(request: Any) -> int:
    blocks = [block for message in request["messages"] for block in message["content"] if "toolResult" in block]
    return sum("image" in inner for block in blocks for inner in block["toolResult"]["content"])


def run_async(awaitable: Any) -> Any:
    return asyncio.run(awaitable)


HUGE = "A pasted line of a log, with numbers 12345. " * 2_000
RESTORED = [
    {"role": role, "content": [{"text": f"{n}: {CHINESE * 30 if n % 4 == 0 else 'words and words ' * 120}"}]}
    for n in range(160)
    for role in [("user", "assistant")[n % 2]]
]


@pytest.mark.parametrize("case", ["pasted", "parallel", "restored"])
def test_7_no_overflow_reaches_the_caller_while_anything_can_be_cut(case: str):
    parallel = [[call("read", {"path": f"{n}.py", "lines": 110}) for n in range(8)], "Done."]
    steps = parallel if case == "parallel" else ["Done."]
    prompt = HUGE if case == "pasted" else "Go on"
    messages = [dict(message) for message in RESTORED] if case == "restored" else []

    theirs = Scripted(steps, window=8_000)
    with pytest.raises(ContextWindowOverflowException):
        upstream_of(theirs, messages=list(messages))(prompt)

    ours = Scripted(steps, window=8_000)
    agent = agent_of(ours, PLUGIN, messages=list(messages))
    with refusals_expected():
        result = agent(prompt)
    assert result.stop_reason == "end_turn"
    assert ours.faults == []
    assert ours.refused <= 3
    assert len(agent.messages) == len(messages) + 2 * (1 + (case == "parallel"))


def test_8_roles_alternate_whatever_the_model_leaves_out():
    steps = [
        *["Fine."] * 6,
        call("summarize_context", {"keep_recent": 2, "summary_ratio": 0.8, "message_type": "messages"}),
    ]

    def run(make: Any) -> Scripted:
        model = Scripted([*steps, "Done.", "Done."], told=100_000)
        agent = make(model)
        for turn in range(8):
            agent(f"Turn {turn}")
        return model

    theirs = run(lambda model: upstream_of(model, context_manager="agentic"))
    assert any("in a row" in fault for fault in theirs.faults)
    ours = run(
        lambda model: agent_of(model, ContextManagerPlugin({"strategy": "agentic", "compression": {"protect_last": 2}}))
    )
    assert ours.faults == []
    assert "<summary>" in text_of(ours.requests[-1]["messages"])


def test_9_a_reference_names_one_text_for_ever():
    steps = [call("read", {"path": "first.py", "lines": 400}, id="call_0"), "One.",
             call("read", {"path": "second.py", "lines": 400}, id="call_0"), "Two."]  # fmt: skip
    theirs = upstream_of(Scripted(steps))
    theirs("Read the first"), theirs("Read the second")
    first = theirs.messages[2]["content"][0]["toolResult"]["content"]
    assert "call_0_0" in text_of([{"content": first}]), "the first preview names its original so"
    answer = theirs.tool.retrieve_context(reference="call_0_0")
    assert "second.py" in answer["content"][0]["text"], "and gets the wrong document"

    agent = agent_of(Scripted(steps), PLUGIN)
    agent("Read the first"), agent("Read the second")
    for reference, path in (("2", "first.py"), ("6", "second.py")):
        answer = agent.tool.retrieve_offloaded_content(reference=f"[ref:{reference}]", pattern="line 399")
        assert f"{path}: line 399" in answer["content"][0]["text"]


def test_10_one_endless_line_is_read_to_its_end():
    endless = json.dumps([{"id": n, "name": f"item {n}"} for n in range(16_000)])
    assert len(endless) > 490_000
    assert "\n" not in endless

    @tool
    def fetch() -> str:
        """Fetch the data."""
        return endless

    steps = [call("fetch", {}), "Done."]
    theirs = upstream_of(Scripted(steps), tools=[fetch])
    theirs("Fetch")
    ids = theirs.messages[1]["content"][0]["toolUse"]["toolUseId"]
    read = theirs.tool.retrieve_context(reference=f"{ids}_0")["content"][0]["text"]
    assert len(read) < 50_000
    assert read.endswith("[truncated]")

    agent = agent_of(Scripted(steps), PLUGIN, tools=[fetch])
    agent("Fetch")
    pages, offset = [], 0
    while True:
        page = agent.tool.retrieve_offloaded_content(reference="2", offset=offset)["content"][0]["text"]
        text, _, more = page.partition("\n[more follows: call again with offset ")
        pages.append(text)
        if not more:
            break
        offset = int(more.rstrip("]"))
    assert "".join(pages) == endless
    found = agent.tool.retrieve_offloaded_content(reference="2", pattern='"id": 15999')["content"][0]["text"]
    assert "item 15999" in found


def test_11_the_model_sees_a_result_before_it_is_cut():
    steps = [call("read", {"path": "a.py", "lines": 250}), "Done."]
    theirs, ours = Scripted(steps, told=200_000), Scripted(steps, told=200_000)
    upstream_of(theirs)("Read"), agent_of(ours, PLUGIN)("Read")
    assert "line 125," not in text_of(theirs.requests[1]["messages"])
    assert "line 125," in text_of(ours.requests[1]["messages"])
    assert tokens_of(ours.requests[1]) < 0.02 * 200_000


def test_12_errors_and_inputs_are_reduced_as_well():
    @tool
    def explode() -> dict[str, Any]:
        """Explode."""
        return {"status": "error", "content": [{"text": "traceback line\n" * 2_700}]}

    steps = [call("explode", {}), call("save", {"path": "a", "text": "many words " * 3_700}), "Done.",
             *[call("read", {"path": f"{n}.py", "lines": 150}) for n in range(16)], "Done."]  # fmt: skip

    def run(make: Any) -> Any:
        model = Scripted(steps, told=50_000)
        agent = make(model, tools=[explode, *TOOLS])
        agent("Explode and save"), agent("Read on")
        return json.dumps(model.requests[-1]["messages"])

    truncating = Upstream(strategies=[Offload.truncate("tool_results", {"preview_tokens": 750}).when(threshold=1_500)])
    theirs = run(lambda model, tools: upstream_of(model, tools=tools, context_manager=truncating))
    assert theirs.count("traceback line") == 2_700
    assert theirs.count("many words") == 3_700
    ours = run(lambda model, tools: agent_of(model, PLUGIN, tools=tools))
    assert ours.count("traceback line") < 700
    assert ours.count("many words") < 700


def test_13_what_can_never_work_is_refused():
    Offload.summarize("*").when(utilization=85, preserve_recent=-3)
    Offload.truncate("tool_result")  # type: ignore[arg-type]
    Offload.summarize("*", {"sytem_prompt": "Short."})  # type: ignore[typeddict-unknown-key]

    with pytest.raises(ConfigurationError, match="threshold` must be less than or equal to 1, not 85"):
        ContextManagerPlugin({"compression": {"proactive": {"threshold": 85}}})
    with pytest.raises(ConfigurationError, match="protect_last` must be greater than or equal to 0, not -3"):
        ContextManagerPlugin({"compression": {"protect_last": -3}})
    with pytest.raises(ConfigurationError, match="unknown key `ofloader`; did you mean 'offloader'"):
        ContextManagerPlugin({"ofloader": True})
    with pytest.raises(ConfigurationError, match="did you mean 'system_prompt'"):
        ContextManagerPlugin({"compression": {"method": "summarize", "sytem_prompt": "Short."}})


def test_14_after_a_restore_nothing_comes_back_and_pins_hold(tmp_path):
    def long_talk(make: Any) -> tuple[Scripted, Scripted, Agent]:
        first, second = Scripted(saving, window=9_000), Scripted(window=9_000)
        agent = make(first)
        agent("The rule of the house: always answer in French.")
        for turn in range(9):
            agent(f"Save fact {turn}")
        del agent
        gc.collect()  # the process ends here
        again = make(second)
        again("And now?")
        return first, second, again

    def upstream(model: Scripted) -> Agent:
        session = FileSessionManager("theirs", storage_dir=str(tmp_path / "theirs"))
        return upstream_of(model, session_manager=session)

    first, second, _ = long_talk(upstream)
    assert first.summaries
    assert second.summaries, "what was summarised came back whole and was summarised again"

    def ours(model: Scripted) -> Agent:
        session = FileSessionManager("ours", storage_dir=str(tmp_path / "ours"))
        plugin = ContextManagerPlugin(
            {"strategy": "auto", "compression": "summarize"}, store=f"sqlite:///{tmp_path}/ours.db"
        )
        agent = agent_of(model, plugin, session_manager=session)
        agent.add_hook(lambda event: plugin.pin(agent, 3) if len(agent.messages) == 4 else None, _AfterInvocation)
        return agent

    first, second, again = long_talk(ours)
    assert conversation_of(again)._session.history.protected == {3}
    assert first.summaries
    asked = [text_of(request["messages"]) for request in second.summaries]
    assert not any("(none yet)" in text or "fact 0: " in text for text in asked), "it goes on from the summary there is"
    assert len(second.requests[0]["messages"]) < 20


def test_15_one_manager_in_two_agents_keeps_them_apart():
    secret = [call("read", {"path": "secret-of-one.py", "lines": 400}, id="call_1"), "Done."]
    told = upstream_of(Scripted(secret), context_manager=False)
    told("Read")
    shared = Upstream()
    one = upstream_of(Scripted(), context_manager=shared, messages=told.messages)
    two = upstream_of(Scripted(), context_manager=shared)
    one("Go on")
    assert "secret-of-one" in json.dumps(two.tool.retrieve_context(reference="call_1_0"))

    plugin = ContextManagerPlugin("auto")
    one, two = agent_of(Scripted(secret), plugin), agent_of(Scripted(), plugin)
    one("Read"), two("Hello")
    assert "secret-of-one" in one.tool.retrieve_offloaded_content(reference="2")["content"][0]["text"]
    answer = two.tool.retrieve_offloaded_content(reference="2")
    assert "secret-of-one" not in json.dumps(answer)
    assert faults(two.messages[:1]) == []
