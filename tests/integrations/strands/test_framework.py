"""The rest of Strands goes on as before: streams, structured output, interrupts, graphs, swarms, other plugins."""

import asyncio
import json
from typing import Any

import pytest
from pydantic import BaseModel
from strands import ToolContext, tool
from strands.multiagent import GraphBuilder, Swarm
from strands.vended_plugins.context_injector import ContextInjector

from backscroll.integrations.strands import ContextManagerPlugin
from backscroll.integrations.strands.models import counted_in
from tests.integrations.strands.agents import TOOLS, agent_of, text_of
from tests.integrations.strands.scripted import Scripted, call, faults, sent
from tests.present import present


def reading(request: Any, n: int) -> Any:
    return call("read", {"path": f"{n}.py", "lines": 60}) if n % 2 == 0 else f"Done {n}."


def test_it_streams():
    async def run() -> tuple[list[str], Any]:
        agent = agent_of(Scripted(reading, window=6_000))
        texts, result = [], None
        for turn in range(6):
            async for event in agent.stream_async(f"Turn {turn}"):
                texts += [event["data"]] if "data" in event else []
                result = event.get("result", result)
        return texts, result

    texts, result = asyncio.run(run())
    assert texts == [f"Done {n}." for n in range(1, 12, 2)]
    assert result.stop_reason == "end_turn"


def test_agents_of_one_loop_run_at_the_same_time():
    async def run() -> list[Scripted]:
        plugin = ContextManagerPlugin("auto")
        models = [Scripted(reading, window=6_000) for _ in range(3)]
        agents = [agent_of(model, plugin) for model in models]
        for turn in range(5):
            await asyncio.gather(*[agent.invoke_async(f"Turn {turn}") for agent in agents])
        return models

    models = asyncio.run(run())
    assert all(model.faults == [] for model in models)
    assert len({json.dumps(model.requests[-1]["messages"]).count("Turn 4") for model in models}) == 1


class City(BaseModel):
    name: str
    people: int


def test_structured_output_is_unharmed():
    steps = [
        *[call("read", {"path": f"{n}.py", "lines": 60}) for n in range(12)],
        call("City", {"name": "Bern", "people": 134_000}),
    ]
    model = Scripted(steps, window=6_000)
    result = agent_of(model)("Which city?", structured_output_model=City)
    assert result.structured_output == City(name="Bern", people=134_000)
    assert model.faults == []


def test_interrupts_are_unharmed():
    @tool(context=True)
    def delete(path: str, tool_context: ToolContext) -> str:
        """Delete a file.

        Args:
            path: Which.
            tool_context: Injected.
        """
        return f"{path}: {tool_context.interrupt('sure', reason=path)}"

    model = Scripted([call("delete", {"path": "a.py"}), "Done."])
    agent = agent_of(model, tools=[delete])
    result = agent("Delete it")
    assert result.stop_reason == "interrupt"
    answer: Any = {"interruptResponse": {"interruptId": present(result.interrupts)[0].id, "response": "yes"}}
    again = agent([answer])
    assert again.stop_reason == "end_turn"
    assert "a.py: yes" in text_of(model.requests[-1]["messages"])
    assert model.faults == []


def test_a_graph_runs():
    plugin = ContextManagerPlugin("auto")
    models = {name: Scripted(reading, window=6_000) for name in ("one", "two")}
    builder = GraphBuilder()
    for name, model in models.items():
        builder.add_node(agent_of(model, plugin, name=name, agent_id=name), name)
    builder.add_edge("one", "two")
    graph = builder.set_max_node_executions(10).build()
    for turn in range(3):
        assert graph(f"Task {turn}").status.value == "completed"
    assert all(model.faults == [] for model in models.values())
    assert all("Task 2" in text_of(model.requests[-1]["messages"]) for model in models.values())


def test_a_swarm_hands_over():
    plugin = ContextManagerPlugin("auto")
    first = Scripted([call("handoff_to_agent", {"agent_name": "two", "message": "your turn"}), "Handed over."])
    second = Scripted(["All done."])
    agents = [agent_of(first, plugin, name="one"), agent_of(second, plugin, name="two")]
    result = Swarm(agents)("Do it")
    assert result.status.value == "completed"
    assert first.faults + second.faults == []
    assert len(second.requests) == 1


def test_agent_as_a_tool_starts_fresh_each_time():
    inner_model = Scripted(["Inner one.", "Inner two."])
    inner = agent_of(inner_model, name="inner", description="Answers.")
    model = Scripted([call("inner", {"input": "first"}), call("inner", {"input": "second"}), "Done."])
    agent_of(model, tools=[inner])("Ask twice")
    assert [len(request["messages"]) for request in inner_model.requests] == [1, 1]


@pytest.mark.parametrize("first", [True, False])
def test_what_another_plugin_injects_reaches_the_model(first: bool):
    injector = ContextInjector(lambda context: "<now>noon</now>")
    plugins = [injector, ContextManagerPlugin("auto")] if first else [ContextManagerPlugin("auto"), injector]
    model = Scripted(reading, window=6_000)
    agent = agent_of(model, *plugins)
    for turn in range(6):
        agent(f"Turn {turn}")
    assert "<now>noon</now>" in text_of(model.requests[-2]["messages"][-1:])
    assert "<now>" not in text_of(agent.messages)
    assert model.faults == []


def test_direct_tool_calls_and_redaction_are_taken_in():
    model = Scripted(["One.", "Two."])
    agent = agent_of(model)
    agent("My password is 12345")
    agent.messages[0]["content"] = [{"text": "[redacted]"}]
    agent.tool.read(path="a.py", lines=2)
    agent("Go on")
    assert "12345" not in json.dumps(model.requests[-1]["messages"])
    assert "a.py: line 1" in json.dumps(model.requests[-1]["messages"])
    assert faults(model.requests[-1]["messages"]) == []


def test_signed_reasoning_and_cache_points_pass_unchanged():
    """Signed reasoning and cache points come through as they are."""
    signed = {"reasoningContent": {"reasoningText": {"text": "thinking", "signature": "sig"}}}
    redacted = {"reasoningContent": {"redactedContent": b"\x00\x01"}}
    messages = [
        {"role": "user", "content": [{"text": "Hello"}, {"cachePoint": {"type": "default"}}]},
        {"role": "assistant", "content": [signed, redacted, {"text": "Hi"}]},
    ]
    model = Scripted()
    agent_of(model, messages=messages, tools=TOOLS)("Go on")
    assert sent(model.requests[0]["messages"][:2]) == sent(messages[:2])


def test_cache_marks_are_cache_points_of_the_request_only():
    """What the previous request ended with is marked again, so that the provider reads there what it wrote."""
    name = "us.anthropic.claude-opus-5-5-20260922-v1:0"
    for model_id, marks in ((name, [[0], [0, 2], [2, 4]]), ("gpt-6.2-sol", [[], [], []])):
        model = Scripted(["One.", "Two.", "Three."], name=model_id)
        agent = agent_of(model, ContextManagerPlugin("auto", cache_marks="auto"))
        for said in ("Hello", "Go on", "And?"):
            agent(said)
        points = [
            [
                at
                for at, message in enumerate(request["messages"])
                if {"cachePoint": {"type": "default"}} in message["content"]
            ]
            for request in model.requests
        ]
        assert points == marks
        assert "cachePoint" not in json.dumps(agent.messages)
        assert model.faults == []


def test_numbers_that_json_does_not_have_end_no_turn():
    @tool
    def table() -> dict[str, Any]:
        """A table."""
        return {"status": "success", "content": [{"json": {"mean": float("nan"), "most": float("inf"), "rows": 3}}]}

    model = Scripted([call("table", {}), "Done."])
    result = agent_of(model, tools=[table])("Go")
    assert result.stop_reason == "end_turn"
    found = model.requests[-1]["messages"][2]["content"][0]["toolResult"]["content"][0]["json"]
    assert found == {"mean": "nan", "most": "inf", "rows": 3}


@pytest.mark.parametrize(
    ("usage", "told"),
    [
        ({"inputTokens": 99, "totalTokens": 1_007, "cacheReadInputTokens": 901}, (99, 901, 0)),
        ({"inputTokens": 1_000, "totalTokens": 1_007, "cacheReadInputTokens": 900}, (100, 900, 0)),
        ({"inputTokens": 1_000, "totalTokens": 1_007, "cacheWriteInputTokens": 5}, (995, 0, 5)),
        ({"inputTokens": 1_000, "totalTokens": 1_007, "cacheReadInputTokens": 9_000}, (1_000, 0, 0)),
    ],
)
def test_cache_reads_and_writes_are_reported_apart(usage, told):
    """Models of this framework count cached tokens within their input, or apart from it: the total says which."""
    assert counted_in(usage | {"outputTokens": 7}) == (*told, 7)


def test_a_model_that_counts_nothing_reports_nothing():
    assert counted_in({}) is counted_in(None) is counted_in({"latency": 3}) is None
