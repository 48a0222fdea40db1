"""Hooks of the hosts with our context: texts before each request, messages after tools, names, and the log."""

import pytest

from tests.integrations.amplifier.hosts.checking import assert_sound, assert_unmoved
from tests.integrations.amplifier.hosts.journeys.hooks import ROUNDS, TEXTS
from tests.integrations.amplifier.hosts.running import each_kind, needs_hosts, report

pytestmark = needs_hosts
LOOPS = pytest.mark.parametrize("loop", ["loop-basic", "loop-streaming"])


@pytest.mark.long
@each_kind
@LOOPS
def test_prefix_hooks_wrap_the_system_prompt_once(loop, kind):
    """Three hooks put their text into the system prompt: it stands there once in each request, and nowhere else."""
    life = report("hooks.before_each_request", kind)[f"{loop} prefix"]
    assert life["requests"] == len(life["prompts"]) == ROUNDS + 1
    assert [[prompt.count(text) for text in TEXTS] for prompt in life["prompts"]] == [[1, 1, 1]] * (ROUNDS + 1)
    assert len(set(life["prompts"])) == 1
    assert life["tails"] == []
    assert_sound([life])
    assert_unmoved([life])


@each_kind
@LOOPS
def test_tail_hooks_add_nothing_to_the_history(loop, kind):
    """hooks-status-context and hooks-routing speak behind each request; none of it is kept, or moves a request."""
    life = report("hooks.before_each_request", kind)[f"{loop} tail"]
    assert len(life["tails"]) == ROUNDS + 1
    for tail in life["tails"]:
        assert "\n".join(tail).count("hooks-status-context") == 1
        assert "\n".join(tail).count("Active routing matrix") == 1
    assert len(set(life["prompts"])) == 1
    assert life["users"] == ["Go."]
    assert_sound([life])
    assert_unmoved([life])


@each_kind
@LOOPS
def test_tool_hook_that_injects_for_good_stays_valid(loop, kind):
    """The kernel adds a hook's message between a call and its result; each request is valid, and all are kept."""
    life = report("hooks.after_each_tool", kind)[loop]
    assert life["reminders"] == 16
    assert life["compacted_before"]
    assert_sound([life])


@each_kind
def test_naming_hook_reads_the_history_and_asks_aside(kind):
    """hooks-session-naming finds our history and names the session; its own request to the model changes nothing."""
    found = report("hooks.named", kind)
    assert found["metadata"]["name"] == "A name"
    assert_sound(found["lives"])


@each_kind
def test_logged_once_is_each_compaction_and_prompt(kind):
    """A log of all kernel events and all contributed ones has one line for each compaction and one for the prompt."""
    found = report("hooks.logged", kind)
    assert found["compactions"] > 0
    assert found["lines"]["context:compaction"] == found["compactions"]
    assert found["lines"]["context:include"] == 1
    ours = [name for name in found["twice"] if name.startswith("context:")]
    assert ours == ["context:post_compact", "context:pre_compact"]  # which the contract has modules contribute


@each_kind
def test_logged_compaction_has_the_figures_that_hosts_read(kind):
    """The event has the keys of each reader, as whole numbers; the prompt's event has only the start of it."""
    event = report("hooks.logged", kind)["compaction"]
    counts = ("before_tokens", "after_tokens", "before_messages", "after_messages", "messages_removed")
    more = ("messages_truncated", "user_messages_stubbed", "strategy_level", "budget", "target_tokens")
    assert all(type(event[name]) is int for name in (*counts, *more))
    assert (event["tokens_before"], event["tokens_after"]) == (event["before_tokens"], event["after_tokens"])
    included = report("hooks.logged", kind)["included"][0]
    assert {"source", "path"} <= set(included)
    assert len(included["content"]) <= 200
