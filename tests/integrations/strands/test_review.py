"""The fifteen points of the review of the facade's pull request, each with the test that it asked for."""

import copy
import inspect
import pickle
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
from strands import Agent
from strands.agent.conversation_manager import SlidingWindowConversationManager

import backscroll.integrations.strands as adapter
from backscroll.integrations.settings import rows
from backscroll.integrations.strands import (
    DEFAULT_PROMPT,
    ContextCompression,
    ContextManagerPlugin,
    ContextOffloader,
    estimate_input_tokens,
)
from backscroll.integrations.strands.registration import attached_to, conversation_of
from backscroll.integrations.strands.settings import Compression, Config, read_config
from backscroll.notices import BackscrollWarning
from tests.integrations.strands.agents import agent_of, refusals_expected, text_of
from tests.integrations.strands.scripted import Scripted, call, tokens_of
from tests.present import present

pytestmark = pytest.mark.frameworks

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/integrations/strands.md").read_text(encoding="utf-8")


def history(*messages: tuple[str, Any]) -> list[Any]:
    return [
        {"role": role, "content": content if isinstance(content, list) else [{"text": content}]}
        for role, content in messages
    ]


def use(id: str) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": id, "name": "read", "input": {"path": f"{id}.py"}}}


def result(id: str, text: str) -> dict[str, Any]:
    return {"toolResult": {"toolUseId": id, "content": [{"text": text}]}}


def pinned_result(*begun: tuple[str, Any]) -> list[Any]:
    """What a compacted request shows where the last of these messages is pinned."""
    long = history(*[(("user", "assistant")[n % 2], f"message {n} " * 100) for n in range(30)])
    model, plugin = Scripted(window=4_000), ContextManagerPlugin("auto")
    agent = agent_of(model, plugin, messages=[*history(*begun, ("assistant", "I see.")), *long])
    plugin.pin(agent, len(begun) - 1)
    with refusals_expected():
        agent("Go on")
    assert model.faults == []
    shown: list[Any] = model.requests[-1]["messages"]
    assert len(shown) < 20
    return shown


def test_1_partner_of_a_pair_is_found_by_id():
    """The partner of a pair is found by id never by position."""
    calls = ("assistant", [use("early"), use("other")])
    answers = ("user", [result("other", "quick")]), ("user", [result("early", "the answer")])
    shown = pinned_result(("user", "Start"), calls, *answers)
    at = next(at for at, message in enumerate(shown) if "toolUse" in message["content"][0])
    assert [block["toolUse"]["toolUseId"] for block in shown[at]["content"]] == ["early", "other"]
    results = [block for message in shown[at + 1 : at + 3] for block in message["content"] if "toolResult" in block]
    assert result("early", "the answer") in results


@pytest.mark.filterwarnings("ignore:message .* cannot be sent as it is:RuntimeWarning")
def test_1_result_that_comes_late_is_pinned_as_text():
    between = ("user", "a word in between"), ("assistant", "hm")
    late = ("user", [result("early", "the answer")])
    shown = pinned_result(("user", "Start"), ("assistant", [use("early")]), *between, late)
    (text,) = [block["text"] for message in shown for block in message["content"] if "the answer" in str(block)]
    assert text.startswith("Later result of read (early)")


def test_2_documented_defaults_are_the_codes_defaults():
    written = re.findall(r"^\| `((?:strategy|compression|offloader)[\w.]*)` \| (?:`(.*?)`)? ?\|", PAGE, re.MULTILINE)
    assert written == [(row.name, "" if row.default is None else repr(row.default)) for row in rows(Config)]
    assert read_config("auto").compression == Compression()


def test_3_and_4_units_are_protected_and_cut_as_wholes():
    steps = [[call("read", {"path": f"{n}-{k}.py"}) for k in range(3)] for n in range(10)]
    for protect in range(1, 8):
        model = Scripted([*steps, "Done."], told=9_000)
        agent_of(model, ContextManagerPlugin({"compression": {"protect_first": protect, "protect_last": protect}}))(
            "Read"
        )
        assert model.faults == []


def test_5_an_instance_or_its_settings_are_taken_alike():
    composed = agent_of(
        Scripted(), ContextManagerPlugin({"compression": {"method": "summarize", "summary_ratio": 0.5}})
    )
    instance = agent_of(Scripted(), ContextCompression("summarize", summary_ratio=0.5))
    assert attached_to(composed).parts.compression == attached_to(instance).parts.compression


def test_6_of_two_managers_the_warning_says_which_wins():
    with pytest.warns(BackscrollWarning, match="Backscroll manages this agent's context and replaces the .* given"):
        agent_of(Scripted(), conversation_manager=SlidingWindowConversationManager(window_size=6))


def test_7_protect_first_and_last_are_independent():
    """First and last are independent and have one vocabulary."""
    for method in ("truncate", "summarize"):
        compression = {"method": method, "protect_first": 3, "protect_last": 7}
        found = present(read_config({"compression": compression}).compression)
        assert (found.protect_first, found.protect_last) == (3, 7)
    assert [row.name for row in rows(Config) if "protect" in row.name] == [
        "compression.protect_first", "compression.protect_last"]  # fmt: skip


def test_8_only_exported_names_are_documented():
    named = set(re.findall(r"from backscroll\.adapters\.strands import ([\w, ]+)", PAGE))
    assert {name.strip() for names in named for name in names.split(",")} <= set(adapter.__all__)
    assert set(re.findall(r"backscroll\.adapters\.strands\.(\w+)`", PAGE)) <= set(adapter.__all__)


def test_9_one_estimator_takes_the_system_prompt_and_the_tools():
    messages, specs = (
        history(("user", "Hello there")),
        [{"name": "read", "description": "Reads. " * 50, "inputSchema": {}}],
    )
    whole = estimate_input_tokens(messages, "Be brief. " * 40, specs)
    real = tokens_of({"messages": messages, "system": "Be brief. " * 40, "tools": specs})
    assert 0.95 * real <= whole <= 1.05 * real
    assert whole == estimate_input_tokens(
        messages, [{"text": "Be brief. " * 40}, {"cachePoint": {"type": "default"}}], specs
    )
    assert whole.upper >= whole
    assert whole.counted
    assert not estimate_input_tokens(messages, model="some-new-model").counted


def test_10_imports_stand_at_the_top():
    for path in sorted((ROOT / "src/backscroll/integrations/strands").glob("*.py")):
        inside = re.findall(r"^ +(?:from \S+ )?import .*", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert [line.strip() for line in inside if "_Agent" not in line] == [], path.name


def test_11_the_storage_names_its_scope():
    assert [row.name for row in rows(Config) if "storage" in row.name] == ["offloader.tool_result_storage"]


def test_12_users_plugin_is_recognised_by_type_not_name():
    class Mine(ContextOffloader):
        name = "something else"

    agent = agent_of(Scripted(), ContextManagerPlugin("auto"), Mine(threshold=77))
    assert present(attached_to(agent).parts.offloading).preview.threshold_tokens == 77


def test_13_names_say_what_they_do():
    public = [name for name, _ in inspect.getmembers(ContextManagerPlugin, callable) if not name.startswith("_")]
    assert sorted(public) == ["conversation", "init_agent", "pin", "unpin", "usage"]


def test_14_summary_prompt_is_documented_and_replaceable():
    """The summarys prompt is documented and can be replaced."""
    assert "DEFAULT_PROMPT" in PAGE
    assert "bullet points" in DEFAULT_PROMPT
    other = Scripted(summary="- only this")
    settings = {"method": "summarize", "system_prompt": "In one line.", "model": other}
    model = Scripted(lambda request, n: "a thought about it. " * 80, window=8_000)
    agent = agent_of(model, ContextManagerPlugin({"compression": settings}))
    for turn in range(25):
        agent(f"Turn {turn}")
    assert {request["system"] for request in other.summaries} == {"In one line."}
    told = text_of(model.requests[-1]["messages"])
    handover = told[told.index("<summary>\n") :]  # behind a line that only separates roles
    assert "- only this" in handover[: handover.index("</summary>")]


def test_15_protecting_includes_the_pair():
    model = Scripted([call("read", {"path": "a.py"}), "Done."])
    plugin = ContextManagerPlugin("auto")
    agent = agent_of(model, plugin)
    agent("Read")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plugin.pin(agent, 1)
    history_of = present(conversation_of(agent))._session.history
    assert history_of.entry(1).group is history_of.entry(2).group
    assert isinstance(agent, Agent)


def test_an_estimate_can_be_copied_and_knows_what_it_is():
    found = estimate_input_tokens(history(("user", "Hello")))
    again = pickle.loads(pickle.dumps(copy.deepcopy(found)))
    assert (again, again.upper, again.counted) == (found, found.upper, found.counted)
