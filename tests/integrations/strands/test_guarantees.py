"""What the adapter guarantees where Strands' own manager fails, as `benchmarks/peers/shipped_strands.py` shows."""

import gc
import json
from typing import Any

import pytest
from strands import Agent
from strands.hooks import AfterInvocationEvent as _AfterInvocation
from strands.session import FileSessionManager

from backscroll.errors import ConfigurationError
from backscroll.integrations.strands import ContextManagerPlugin, estimate_input_tokens
from backscroll.integrations.strands.registration import conversation_of
from tests.integrations.strands import scripts
from tests.integrations.strands.agents import agent_of, png, refusals_expected, text_of
from tests.integrations.strands.scripted import Scripted, call, faults, tokens_of
from tests.present import present

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.filterwarnings("ignore:context_window_limit is not set", "ignore::DeprecationWarning"),
]


PLUGIN = ContextManagerPlugin("auto")


def test_nothing_is_destroyed_and_dropped_inputs_come_back():
    mine: list[Any] = []
    model = Scripted(scripts.saving, window=9_000)
    agent = agent_of(model, PLUGIN, messages=mine)
    for turn in range(12):
        agent(f"Save fact {turn}")
    assert mine is agent.messages
    assert len(mine) == 12 * 4
    shown = json.dumps(model.requests[-1]["messages"])
    assert any(shown.count(f"fact {n}: ") < 150 for n in range(12))
    found = [agent.tool.retrieve_offloaded_content(reference=f"{4 * n + 1}") for n in range(12)]
    assert all(f"fact {n}: {2 * n * 7919}" in answer["content"][0]["text"] for n, answer in enumerate(found))


def test_nothing_is_cut_twice_and_no_summary_is_summarised():
    model = Scripted(scripts.READING, window=8_000)
    with refusals_expected():
        agent_of(model, PLUGIN)("Read them")
    assert max(text_of([message]).count("characters left out") for message in model.requests[-1]["messages"]) <= 1

    ours = Scripted(scripts.READING, window=8_000)
    with refusals_expected():
        agent_of(ours, ContextManagerPlugin({"strategy": "auto", "compression": "summarize"}))("Read them")
    assert len(ours.summaries) <= 3


def test_status_after_trimming_has_the_new_size():
    ours = Scripted(scripts.shrinking(), told=100_000)
    agent = agent_of(ours, ContextManagerPlugin({"strategy": "agentic", "compression": {"protect_last": 4}}))
    agent("Read and trim")
    assert scripts.status_of(ours.requests[11]) < 0.7 * scripts.status_of(ours.requests[10])


@pytest.mark.long
def test_counting_is_linear():
    def ours(model: Scripted) -> int:
        texts: list[str] = []

        def tokens(text: str) -> int:
            texts.append(text)
            return len(text) // 3 + 1

        agent_of(model, ContextManagerPlugin("auto", tokenizer=tokens))("Read them all")
        return len(texts)

    few, many = scripts.counts(ours, told=12_000)  # with compactions, which count what they write
    assert many < 2.2 * few


def test_the_prefix_is_kept_and_the_window_is_no_slide():
    model = Scripted(scripts.two_reads_a_turn, told=200_000)
    scripts.turns(agent_of(model, PLUGIN), 28)
    assert scripts.broken(model.requests) <= len(model.requests) / 10


def test_texts_of_any_kind_are_counted_and_media_too():
    for text in scripts.texts_of_any_kind():
        messages = [{"role": "user", "content": [{"text": text}]}]
        real = tokens_of({"messages": messages, "tools": [], "system": ""})
        assert 0.98 * real <= estimate_input_tokens(messages) <= 1.02 * real
    shot = [{"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": png(800, 600)}}}]}]
    assert estimate_input_tokens(shot) > 300

    ours = Scripted(scripts.LOOKING, window=5_000, reports_usage=False)
    agent = agent_of(ours, PLUGIN)
    with refusals_expected():
        agent("Look eight times")
        agent("And?")
    assert scripts.shots_in(ours.requests[-1]) < 8


@pytest.mark.parametrize("case", scripts.OVERFLOWS)
def test_no_overflow_reaches_the_caller_while_much_can_be_cut(case: str):
    steps, prompt, messages = scripts.OVERFLOWS[case]
    ours = Scripted(steps, window=8_000)
    agent = agent_of(ours, PLUGIN, messages=[dict(message) for message in messages])
    with refusals_expected():
        result = agent(prompt)
    assert result.stop_reason == "end_turn"
    assert ours.faults == []
    assert ours.refused <= 3
    assert len(agent.messages) == len(messages) + 2 * (1 + (case == "parallel"))


def test_roles_alternate_after_any_omission_of_the_model():
    ours = Scripted([*scripts.SUMMARIZING, "Done.", "Done."], told=100_000)
    plugin = ContextManagerPlugin({"strategy": "agentic", "compression": {"protect_last": 2}})
    scripts.turns(agent_of(ours, plugin), 8)
    assert ours.faults == []
    assert "<summary>" in text_of(ours.requests[-1]["messages"])


def test_a_reference_names_one_text_for_ever():
    agent = agent_of(Scripted(scripts.SAME_ID), PLUGIN)
    agent("Read the first"), agent("Read the second")
    for reference, path in (("2", "first.py"), ("6", "second.py")):
        answer = agent.tool.retrieve_offloaded_content(reference=f"[ref:{reference}]", pattern="line 399")
        assert f"{path}: line 399" in answer["content"][0]["text"]


def test_one_endless_line_is_read_to_its_end():
    agent = agent_of(Scripted(scripts.FETCHING), PLUGIN, tools=[scripts.fetch])
    agent("Fetch")
    pages, offset = [], 0
    while True:
        page = agent.tool.retrieve_offloaded_content(reference="2", offset=offset)["content"][0]["text"]
        text, _, more = page.partition("\n[more follows: call again with offset ")
        pages.append(text)
        if not more:
            break
        offset = int(more.rstrip("]"))
    assert "".join(pages) == scripts.ENDLESS
    found = agent.tool.retrieve_offloaded_content(reference="2", pattern='"id": 15999')["content"][0]["text"]
    assert "item 15999" in found


def test_the_model_sees_a_result_before_it_is_cut():
    steps = [call("read", {"path": "a.py", "lines": 250}), "Done."]
    ours = Scripted(steps, told=200_000)
    agent_of(ours, PLUGIN)("Read")
    assert "line 125," in text_of(ours.requests[1]["messages"])
    assert tokens_of(ours.requests[1]) < 0.02 * 200_000


def test_errors_and_inputs_are_reduced_as_well():
    ours = scripts.exploded(lambda model, tools: agent_of(model, PLUGIN, tools=tools))
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
    def ours(model: Scripted) -> Agent:
        session = FileSessionManager("ours", storage_dir=str(tmp_path / "ours"))
        plugin = ContextManagerPlugin(
            {"strategy": "auto", "compression": "summarize"}, store=f"sqlite:///{tmp_path}/ours.db"
        )
        agent = agent_of(model, plugin, session_manager=session)
        agent.add_hook(lambda event: plugin.pin(agent, 3) if len(agent.messages) == 4 else None, _AfterInvocation)
        return agent

    first, second = Scripted(scripts.saving, window=9_000), Scripted(window=9_000)
    scripts.long_talk(ours(first))
    gc.collect()  # the process ends here
    again = ours(second)
    again("And now?")
    assert present(conversation_of(again))._session.history.protected == {3}
    assert first.summaries
    asked = [text_of(request["messages"]) for request in second.summaries]
    assert not any("(none yet)" in text or "fact 0: " in text for text in asked), "it goes on from the summary there is"
    assert len(second.requests[0]["messages"]) <= len(first.requests[-1]["messages"]) + 2


def test_one_manager_in_two_agents_keeps_them_apart():
    plugin = ContextManagerPlugin("auto")
    one, two = agent_of(Scripted(scripts.SECRET), plugin), agent_of(Scripted(), plugin)
    one("Read"), two("Hello")
    assert "secret-of-one" in one.tool.retrieve_offloaded_content(reference="2")["content"][0]["text"]
    answer = two.tool.retrieve_offloaded_content(reference="2")
    assert "secret-of-one" not in json.dumps(answer)
    assert faults(two.messages[:1]) == []
