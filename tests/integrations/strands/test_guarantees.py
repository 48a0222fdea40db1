"""What the adapter guarantees where Strands' own manager fails: `benchmarks/peers/shipped_strands.py` shows both."""

import gc
import json
import random
from itertools import pairwise
from typing import Any

import pytest
from strands import Agent, tool
from strands.hooks import AfterInvocationEvent as _AfterInvocation
from strands.session import FileSessionManager

from backscroll.errors import ConfigurationError
from backscroll.integrations.strands import ContextManagerPlugin, estimate_input_tokens
from backscroll.integrations.strands.registration import conversation_of
from tests.integrations.strands.agents import CHINESE, TOOLS, agent_of, png, refusals_expected, text_of
from tests.integrations.strands.scripted import Scripted, call, faults, tokens_of

pytestmark = pytest.mark.filterwarnings("ignore:context_window_limit is not set", "ignore::DeprecationWarning")


def saving(request: Any, n: int) -> Any:
    return (
        call("save", {"path": f"notes/{n}.md", "text": f"fact {n // 2}: {n * 7919} " * 150}) if n % 2 == 0 else "Saved."
    )


def test_nothing_is_destroyed_and_dropped_inputs_come_back():
    mine: list[Any] = []
    model = Scripted(saving, window=9_000)
    agent = agent_of(model, PLUGIN, messages=mine)
    for turn in range(12):
        agent(f"Save fact {turn}")
    assert mine is agent.messages
    assert len(mine) == 12 * 4
    shown = json.dumps(model.requests[-1]["messages"])
    assert any(shown.count(f"fact {n}: ") < 150 for n in range(12))
    found = [agent.tool.retrieve_offloaded_content(reference=f"{4 * n + 1}") for n in range(12)]
    assert all(f"fact {n}: {2 * n * 7919}" in answer["content"][0]["text"] for n, answer in enumerate(found))


PLUGIN = ContextManagerPlugin("auto")


def test_nothing_is_cut_twice_and_no_summary_is_summarised():
    steps = [
        call("read", {"path": "a.py", "lines": 400}),
        *[call("read", {"path": f"{n}.py"}) for n in range(9)],
        "Done.",
    ]
    model = Scripted(steps, window=8_000)
    with refusals_expected():
        agent_of(model, PLUGIN)("Read them")
    assert max(text_of([message]).count("characters left out") for message in model.requests[-1]["messages"]) <= 1

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


def test_status_after_trimming_has_the_new_size():
    ours = Scripted(shrinking(), told=100_000)
    agent = agent_of(ours, ContextManagerPlugin({"strategy": "agentic", "compression": {"protect_last": 4}}))
    agent("Read and trim")
    assert status_of(ours.requests[11]) < 0.7 * status_of(ours.requests[10])


def test_counting_is_linear():
    def asked(make: Any, told: int) -> tuple[int, int]:
        found = []
        for rounds in (30, 60):
            model = Scripted([*[call("read", {"path": f"{n}.py"}) for n in range(rounds)], "Done."], told=told)
            found.append(make(model))
        return found[0], found[1]

    def ours(model: Scripted) -> int:
        texts: list[str] = []

        def tokens(text: str) -> int:
            texts.append(text)
            return len(text) // 3 + 1

        agent_of(model, ContextManagerPlugin("auto", tokenizer=tokens))("Read them all")
        return len(texts)

    few, many = asked(ours, told=12_000)  # with compactions, which count what they write
    assert many < 2.2 * few


def broken(requests: list[Any]) -> int:
    """How often over half of what was sent before was not sent again."""
    found = 0
    for one, other in pairwise(requests):
        pairs = zip(one["messages"], other["messages"], strict=False)
        same = next((n for n, (a, b) in enumerate(pairs) if a["content"] != b["content"]), len(one["messages"]))
        found += 2 * same < len(one["messages"])
    return found


def test_the_prefix_is_kept_and_the_window_is_no_slide():
    def steps(request: Any, n: int) -> Any:
        return call("read", {"path": f"{n}.py", "lines": 12}) if n % 3 < 2 else "Done."

    def run(make: Any) -> list[Any]:
        model = Scripted(steps, told=200_000)
        agent = make(model)
        for turn in range(28):
            agent(f"Turn {turn}")
        return model.requests

    ours = run(lambda model: agent_of(model, PLUGIN))
    assert broken(ours) <= len(ours) / 10


def test_texts_of_any_kind_are_counted_and_media_too():
    shuffled = random.Random(7)
    kinds = {
        "chinese": CHINESE * 60,
        "hex": "".join(shuffled.choice("0123456789abcdef") for _ in range(4_000)),
        "csv": "\n".join(",".join(str(shuffled.randrange(10_000)) for _ in range(8)) for _ in range(150)),
    }
    for text in kinds.values():
        messages = [{"role": "user", "content": [{"text": text}]}]
        real = tokens_of({"messages": messages, "tools": [], "system": ""})
        assert 0.98 * real <= estimate_input_tokens(messages) <= 1.02 * real
    shot = [{"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": png(800, 600)}}}]}]
    assert estimate_input_tokens(shot) > 300

    steps = [*[call("look", {}) for _ in range(8)], "Done.", "Fine."]
    ours = Scripted(steps, window=5_000, reports_usage=False)
    agent = agent_of(ours, PLUGIN)
    with refusals_expected():
        agent("Look eight times")
        agent("And?")
    assert shots_in(ours.requests[-1]) < 8


def shots_in(request: Any) -> int:
    blocks = [block for message in request["messages"] for block in message["content"] if "toolResult" in block]
    return sum("image" in inner for block in blocks for inner in block["toolResult"]["content"])


HUGE = "A pasted line of a log, with numbers 12345. " * 2_000
RESTORED = [
    {"role": role, "content": [{"text": f"{n}: {CHINESE * 30 if n % 4 == 0 else 'words and words ' * 120}"}]}
    for n in range(160)
    for role in [("user", "assistant")[n % 2]]
]


@pytest.mark.parametrize("case", ["pasted", "parallel", "restored"])
def test_no_overflow_reaches_the_caller_while_much_can_be_cut(case: str):
    parallel = [[call("read", {"path": f"{n}.py", "lines": 110}) for n in range(8)], "Done."]
    steps = parallel if case == "parallel" else ["Done."]
    prompt = HUGE if case == "pasted" else "Go on"
    messages = [dict(message) for message in RESTORED] if case == "restored" else []

    ours = Scripted(steps, window=8_000)
    agent = agent_of(ours, PLUGIN, messages=list(messages))
    with refusals_expected():
        result = agent(prompt)
    assert result.stop_reason == "end_turn"
    assert ours.faults == []
    assert ours.refused <= 3
    assert len(agent.messages) == len(messages) + 2 * (1 + (case == "parallel"))


def test_roles_alternate_after_any_omission_of_the_model():
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

    ours = run(
        lambda model: agent_of(model, ContextManagerPlugin({"strategy": "agentic", "compression": {"protect_last": 2}}))
    )
    assert ours.faults == []
    assert "<summary>" in text_of(ours.requests[-1]["messages"])


def test_a_reference_names_one_text_for_ever():
    steps = [call("read", {"path": "first.py", "lines": 400}, id="call_0"), "One.",
             call("read", {"path": "second.py", "lines": 400}, id="call_0"), "Two."]  # fmt: skip
    agent = agent_of(Scripted(steps), PLUGIN)
    agent("Read the first"), agent("Read the second")
    for reference, path in (("2", "first.py"), ("6", "second.py")):
        answer = agent.tool.retrieve_offloaded_content(reference=f"[ref:{reference}]", pattern="line 399")
        assert f"{path}: line 399" in answer["content"][0]["text"]


def test_one_endless_line_is_read_to_its_end():
    endless = json.dumps([{"id": n, "name": f"item {n}"} for n in range(16_000)])
    assert len(endless) > 490_000
    assert "\n" not in endless

    @tool
    def fetch() -> str:
        """Fetch the data."""
        return endless

    steps = [call("fetch", {}), "Done."]
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


def test_the_model_sees_a_result_before_it_is_cut():
    steps = [call("read", {"path": "a.py", "lines": 250}), "Done."]
    ours = Scripted(steps, told=200_000)
    agent_of(ours, PLUGIN)("Read")
    assert "line 125," in text_of(ours.requests[1]["messages"])
    assert tokens_of(ours.requests[1]) < 0.02 * 200_000


def test_errors_and_inputs_are_reduced_as_well():
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

    ours = run(lambda model, tools: agent_of(model, PLUGIN, tools=tools))
    assert ours.count("traceback line") < 700
    assert ours.count("many words") < 700


def test_what_can_never_work_is_refused():
    with pytest.raises(ConfigurationError, match="threshold` must be less than or equal to 1, not 85"):
        ContextManagerPlugin({"compression": {"proactive": {"threshold": 85}}})
    with pytest.raises(ConfigurationError, match="protect_last` must be greater than or equal to 0, not -3"):
        ContextManagerPlugin({"compression": {"protect_last": -3}})
    with pytest.raises(ConfigurationError, match="unknown key `ofloader`; did you mean 'offloader'"):
        ContextManagerPlugin({"ofloader": True})
    with pytest.raises(ConfigurationError, match="did you mean 'system_prompt'"):
        ContextManagerPlugin({"compression": {"method": "summarize", "sytem_prompt": "Short."}})


def test_after_a_restore_nothing_comes_back_and_pins_hold(tmp_path):
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


def test_one_manager_in_two_agents_keeps_them_apart():
    secret = [call("read", {"path": "secret-of-one.py", "lines": 400}, id="call_1"), "Done."]
    plugin = ContextManagerPlugin("auto")
    one, two = agent_of(Scripted(secret), plugin), agent_of(Scripted(), plugin)
    one("Read"), two("Hello")
    assert "secret-of-one" in one.tool.retrieve_offloaded_content(reference="2")["content"][0]["text"]
    answer = two.tool.retrieve_offloaded_content(reference="2")
    assert "secret-of-one" not in json.dumps(answer)
    assert faults(two.messages[:1]) == []
