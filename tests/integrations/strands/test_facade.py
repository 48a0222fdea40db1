"""The facade: what is on, what is refused, what gives way to what."""

import warnings
from typing import Any

import pytest
from strands import Agent
from strands.agent.conversation_manager import (
    NullConversationManager,
    SlidingWindowConversationManager,
    SummarizingConversationManager,
)
from strands.vended_plugins.context_offloader import ContextOffloader as StrandsOffloader
from strands.vended_plugins.context_offloader import InMemoryStorage

from backscroll.compaction.modes import LEAN, STANDARD
from backscroll.errors import ConfigurationError
from backscroll.integrations.settings import rows
from backscroll.integrations.strands import ContextCompression, ContextManagerPlugin, ContextOffloader, pin_message
from backscroll.integrations.strands.registration import attached_to, conversation_of
from backscroll.integrations.strands.settings import Compression, Config, Offloading, core_options, read_config
from backscroll.notices import BackscrollWarning
from tests.integrations.strands.agents import TOOLS, agent_of
from tests.integrations.strands.scripted import Scripted, call, sent
from tests.present import present


def test_with_a_strategy_everything_is_on_and_keys_override():
    assert read_config("auto") == read_config({"strategy": "auto"})
    assert read_config("auto").compression == Compression()
    assert read_config("auto").offloading == Offloading() == read_config({"offloader": True}).offloading
    assert read_config({"strategy": "auto", "offloader": False}).offloading is None
    assert read_config({"strategy": "auto", "compression": False}).compression is None
    found = read_config({"strategy": "auto", "compression": {"window_size": 60}})
    compression = present(found.compression)
    assert (compression.window_size, compression.protect_last) == (60, 10)
    assert found.offloading is not None


def test_without_a_strategy_only_what_is_given_is_on():
    assert read_config({}).compression is None
    assert read_config({}).offloading is None
    found = read_config({"compression": "summarize"})
    compression = present(found.compression)
    assert (compression.method, compression.max_messages, found.offloading) == ("summarize", None, None)
    assert present(read_config({"compression": True}).compression).method == "truncate"
    assert read_config({"offloader": True}).compression is None


def test_the_defaults_are_those_of_the_table():
    told = {row.name: row.default for row in rows(Config)}
    made = read_config({"compression": True}).compression
    assert made == Compression()
    for name in Compression.model_fields:
        assert getattr(made, name) == told[f"compression.{name}"]
    assert (
        present(read_config({"compression": "summarize"}).compression).summary_ratio
        == told["compression.summary_ratio"]
    )
    assert made.threshold == told["compression.proactive.threshold"] == 0.7
    previews = present(read_config({"offloader": True}).offloading).preview
    assert (previews.threshold_tokens, previews.preview_tokens, previews.when) == (2_500, 1_500, "seen")


@pytest.mark.parametrize(
    ("config", "wants"),
    [
        ("autt", "`strategy` must be 'auto' or 'agentic', not 'autt'"),
        (7, "`config` must be"),
        ({"compresion": True}, "did you mean 'compression'"),
        ({"compression": {"windowsize": 40}}, "did you mean 'window_size'"),
        (
            {"compression": {"window_size": 4}},
            "`compression.window_size` must be greater than or equal to 8, not 4 .*messages",
        ),
        ({"compression": {"window_size": 20, "protect_last": 19}}, "cannot hold `protect_first`"),
        ({"compression": {"summary_ratio": 0.3}}, "belongs to the method 'summarize'"),
        ({"compression": {"method": "summarize", "window_size": 40}}, "belongs to the method 'truncate'"),
        (
            {"compression": {"method": "summarize", "summary_ratio": 0.9}},
            "less than or equal to 0.8, not 0.9 .*share .* 0.1 to 0.8",
        ),
        ({"compression": {"proactive": {"treshold": 0.5}}}, "did you mean 'threshold'"),
        ({"compression": {"proactive": 0.7}}, "`compression.proactive` must be a valid boolean or a mapping"),
        ({"compression": {"proactive": {"threshold": 0}}}, "greater than 0, not 0 .*share .* above 0, at most 1"),
        (
            {"compression": 3},
            "must be a valid boolean or 'truncate' or 'summarize' or a mapping of its settings, not 3",
        ),
        ({"compression": "drop"}, "'truncate' or 'summarize'"),
        ({"compression": {"method": 1}}, "`compression.method` must be 'truncate' or 'summarize', not 1"),
        ({"compression": {"system_prompt": ""}}, "`compression.system_prompt` must have at least 1 character"),
        ({"compression": {"model": object()}}, "must be a Strands model with .*not a value of the type object"),
        ({"compression": {"protect_first": True, "windowsize": 9}}, "valid integer, not True.*; unknown key `compr"),
        ({"colour": 1}, "unknown key `colour`; known are 'strategy', 'compression', 'offloader'"),
        ({"offloader": {"threshold": 100, "preview_tokens": 100}}, "must be below"),
        ({"offloader": {"when": "later"}}, "'seen' or 'arrival'"),
        ({"offloader": {"tool_result_storage": "here"}}, "a Strands storage"),
    ],
)
def test_what_can_never_work_is_refused_by_name(config: Any, wants: str):
    with pytest.raises(ConfigurationError, match=wants):
        ContextManagerPlugin(config)


def test_none_is_the_default_and_turns_a_part_off():
    """As before: of a setting None is its default, of a part it means that there is none."""
    given = {"window_size": None, "proactive": {"threshold": None}, "model": None}
    found = present(read_config({"compression": given}).compression)
    assert (found.window_size, found.threshold, found.model) == (40, 0.7, None)
    assert read_config({"strategy": "auto", "compression": None}).compression is None
    assert read_config({"strategy": None, "offloader": True}).compression is None
    with pytest.raises(ConfigurationError, match=r"unknown key `compression\.proactive\.treshold`"):
        read_config({"compression": {"proactive": {"treshold": None}}})


def test_no_error_quotes_a_client_or_a_mapping():
    """Their text may hold a key."""
    config: Any
    for config in ({"compression": {"model": {"api_key": "hush"}}}, [{"encryption_key": "hush"}]):
        with pytest.raises(ConfigurationError) as caught:
            ContextManagerPlugin(config)
        assert "hush" not in str(caught.value)
        assert caught.value.__context__ is None


def test_options_outside_the_configuration_are_checked():
    with pytest.raises(ConfigurationError, match="did you mean 'store'"):
        ContextManagerPlugin("auto", stor="sqlite:///agent.db")
    with pytest.raises(ConfigurationError, match="did you mean 'window_size'"):
        ContextCompression(windw_size=30)


@pytest.mark.parametrize(
    ("given", "sizes"), [({"threshold": 1_000}, (1_000, 600)), ({"preview_tokens": 6_000}, (10_000, 6_000))]
)
def test_of_two_sizes_the_other_follows(given: dict[str, int], sizes: tuple[int, int]):
    previews = present(read_config({"offloader": given}).offloading).preview
    assert (previews.threshold_tokens, previews.preview_tokens) == sizes


def test_the_default_sliding_window_gives_way_with_one_notice():
    with pytest.warns(BackscrollWarning, match="replaces the default SlidingWindowConversationManager") as told:
        agent = agent_of(Scripted(), context_manager=None)
    assert len(told) == 1
    assert isinstance(agent.conversation_manager, NullConversationManager)


@pytest.mark.parametrize(
    "manager", [SlidingWindowConversationManager(window_size=4, per_turn=True), SummarizingConversationManager()]
)
def test_of_two_managers_ours_wins_and_says_so(manager: Any):
    with pytest.warns(BackscrollWarning, match=f"replaces the {type(manager).__name__} given") as told:
        agent = agent_of(Scripted(), conversation_manager=manager)
    assert len(told) == 1
    for turn in range(6):
        agent(f"Turn {turn}")
    assert len(agent.messages) == 12


def test_without_another_manager_nothing_is_said():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agent_of(Scripted())


def test_strands_own_context_manager_with_ours_is_refused():
    with pytest.raises(ConfigurationError, match="pass context_manager=False"):
        agent_of(Scripted(), context_manager="auto")


@pytest.mark.parametrize("plugin", [ContextManagerPlugin("auto"), ContextCompression(), ContextOffloader()])
def test_a_model_that_keeps_the_conversation_itself_is_refused(plugin: Any):
    with pytest.raises(ConfigurationError, match="keeps the conversation on its server"):
        Agent(model=Scripted(stateful=True), plugins=[plugin], callback_handler=None)


@pytest.mark.parametrize("first", [True, False])
def test_users_part_replaces_the_composed_one_by_type(first: bool):
    """A part of the users own goes before the composed one by type."""
    own = ContextOffloader(threshold=100, preview_tokens=50)
    plugins = [own, ContextManagerPlugin("auto")] if first else [ContextManagerPlugin("auto"), own]
    agent = agent_of(Scripted(), *plugins)
    assert present(attached_to(agent).parts.offloading).preview.threshold_tokens == 100
    assert attached_to(agent).parts.compression == Compression()

    class Mine(ContextCompression):
        name = "my own name for it"

    agent = agent_of(Scripted(), ContextManagerPlugin("auto"), Mine("summarize"))
    assert present(attached_to(agent).parts.compression).method == "summarize"


def test_strands_own_offloader_replaces_the_composed_one():
    """Strands' own offloader takes the place of the composed one."""
    agent = agent_of(Scripted(), ContextManagerPlugin("auto"), StrandsOffloader(InMemoryStorage()))
    assert present(conversation_of(agent))._session.config.compaction.tool_result_preview is None
    assert "retrieve_offloaded_content" in agent.tool_names


def test_parts_are_plugins_of_their_own():
    compressed = agent_of(Scripted(), ContextCompression(window_size=30))
    assert present(conversation_of(compressed))._session.config.compaction.max_messages == 30
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = agent_of(Scripted(), ContextOffloader(), context_manager=None)
    assert isinstance(kept.conversation_manager, SlidingWindowConversationManager), "the offloader is no manager"


def test_the_tools_are_there_once():
    agent = agent_of(Scripted(), tools=[*TOOLS, pin_message])
    assert {"retrieve_offloaded_content", "pin_message"} <= set(agent.tool_names)
    assert "summarize_context" not in agent.tool_names
    agentic = agent_of(Scripted(), ContextManagerPlugin("agentic"))
    assert {"summarize_context", "truncate_context", "pin_context", "pin_message"} <= set(agentic.tool_names)


def test_a_part_alone_of_another_agent_is_not_there():
    agent = agent_of(Scripted(), ContextManagerPlugin("auto"))
    with pytest.raises(ConfigurationError, match="no Backscroll plugin"):
        ContextManagerPlugin("auto").usage(Agent(model=Scripted(), callback_handler=None))
    assert ContextManagerPlugin("auto").usage(agent).messages == 0


@pytest.mark.parametrize("method", ["truncate", "summarize"])
def test_mode_handover_brings_its_own_strategies(method):
    options = core_options(Compression(method=method), Offloading(), "standard")
    assert tuple(options["strategies"]) == STANDARD.strategies
    assert options["protect"].working_set == STANDARD.protect.working_set


def test_mode_lean_sets_what_the_settings_leave_open():
    lean = core_options(Compression(), Offloading(), "lean")
    assert lean["target_usage"] == LEAN.target_usage < core_options(Compression(), Offloading())["target_usage"]
    assert lean["protect"].working_set == LEAN.protect.working_set
    assert lean["protect"].last == Compression().protect_last
    assert LEAN.tool_result_preview is not None
    assert lean["tool_result_preview"].preview_tokens == LEAN.tool_result_preview.preview_tokens
    given = core_options(Compression(), Offloading(threshold=900, preview_tokens=300), "lean")["tool_result_preview"]
    assert (given.threshold_tokens, given.preview_tokens, given.when) == (900, 300, "seen")


@pytest.mark.parametrize(
    ("compression", "threshold", "target"),
    [
        (True, 0.7, 0.5),
        ({"proactive": {"threshold": 0.9}}, 0.9, 0.5),
        ({"proactive": {"threshold": 0.3}}, 0.3, 0.225),
        ({"proactive": False}, 1.0, 0.5),
        ({"method": "summarize"}, 0.7, 0.49),
        ({"method": "summarize", "summary_ratio": 0.8}, 0.7, 0.14),
        ({"method": "summarize", "summary_ratio": 0.1, "proactive": False}, 1.0, 0.9),
    ],
)
def test_threshold_and_target_follow_from_the_settings(compression: Any, threshold: float, target: float):
    options = core_options(read_config({"compression": compression}).compression, None)
    assert options["compact_threshold"] == threshold
    assert options["target_usage"] == pytest.approx(target)


def first_compacted(**options: Any) -> int:
    """The number of the first request that does not begin with all messages of the request before it."""
    files = [call("read", {"path": f"{number}.py", "lines": 200}) for number in range(20)]
    model = Scripted([*files, "Done."], window=16_000)
    agent_of(model, ContextManagerPlugin("auto", **options))("Read the files.")
    requests = [sent(request["messages"]) for request in model.requests]
    return next(
        number for number in range(1, 21) if requests[number][: len(requests[number - 1])] != requests[number - 1]
    )


def test_plan_ahead_is_an_option():
    """A jump past the threshold waits for the request after it; without plans ahead it is compacted at once."""
    assert first_compacted() == first_compacted(plan_ahead=False) + 1
