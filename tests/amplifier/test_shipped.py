"""What sessions suffer under the context modules of today: each failure once, in the kernel, with its measure."""

import sys
from pathlib import Path

import pytest
from amplifier_core import HookRegistry, events

from backscroll.replay.validity import problems
from tests.amplifier import shipped
from tests.amplifier.scenarios import (
    CALLS_IN_BLOCKS,
    CHAT,
    DENSE,
    DEVELOPER,
    HUGE,
    NO_CONTENT,
    ORPHAN,
    PICTURES,
    REMINDER,
    TOGETHER,
    TORN,
    remind,
    resume,
    session,
    shown,
    worked,
)
from tests.amplifier.scripts import reading
from tests.amplifier.shipped import Example, Persistent, Simple
from tests.amplifier.suites import BEHAVIOR, CHECKS, behave, validated

NAMES = ("simple", "persistent", "example")


def simple() -> Simple:
    return Simple({}, HookRegistry())


# Amplifier's own checks see nothing of what follows


@pytest.mark.parametrize("name", NAMES)
def test_the_validator_is_content_with_each(name, tmp_path):
    package = tmp_path / f"amplifier_module_context_like_{name}"
    package.mkdir()
    package.joinpath("__init__.py").write_text(f"from tests.amplifier.shipped import mount_{name} as mount\n")
    passed = validated(str(package), {"transcript_path": str(tmp_path / "transcript.jsonl")})
    del sys.modules[package.name]
    assert tuple(passed) == CHECKS
    assert passed["protocol_compliance"] == "Context implements ContextManager interface"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("test", BEHAVIOR)
def test_the_suite_of_behavior_is_content_with_each(name, test, tmp_path):
    behave(getattr(shipped, f"mount_{name}"), test, {"transcript_path": str(tmp_path / "transcript.jsonl")})


# context-simple


def test_simple_compacts_at_nearly_every_request_once_it_has_begun_and_tells_no_one_before():
    run = worked("simple")
    assert run.compactions > 0.7 * len(run.requests)
    assert run.count(events.CONTEXT_PRE_COMPACT) == run.count(events.CONTEXT_POST_COMPACT) == 0


def test_simple_moves_the_beginning_of_most_requests_so_that_no_prompt_cache_holds():
    assert worked("simple").extending < 0.4


def test_simple_sends_its_own_keys_to_the_provider():
    assert worked("simple").extras == {"_truncated", "_stubbed"}


def test_simple_alters_the_first_user_message_of_a_long_session():
    early = shown(simple(), CHAT[:80], budget=6_000)
    assert len(early) < 80
    assert early[0] == CHAT[0]
    assert shown(simple(), CHAT, budget=6_000)[0]["content"] != CHAT[0]["content"]


def test_simple_sends_a_huge_new_result_whole_and_the_refused_request_five_times_more():
    run = session("simple", HUGE, window=24_000)
    log = max(len(str(message["content"])) for message in run.given)
    assert log > 300_000
    assert run.overflows == [1, 2, 3, 4, 5, 6]
    assert {sent.tokens for sent in run.requests[1:]} == {run.requests[1].tokens}
    assert run.requests[1].tokens > 3 * run.requests[1].limit
    assert "ContextLengthError" in str(run.errors[0])


def test_simple_takes_four_characters_for_a_token_and_so_overflows_on_dense_text():
    run = session("simple", DENSE, window=26_000)
    assert run.overflows[0] == 6
    assert run.compactions == 0


def test_simple_counts_pictures_by_their_bytes_and_compacts_a_nearly_empty_request():
    run = session("simple", PICTURES)
    assert run.compactions > 3
    assert max(sent.tokens for sent in run.requests) < 0.2 * run.requests[0].limit


def test_simple_splits_calls_that_stand_only_in_the_content_from_their_results():
    view = shown(simple(), CALLS_IN_BLOCKS, budget=2_000)
    assert any("without that call before it" in line for line in problems(view, CALLS_IN_BLOCKS))


def test_simple_lets_content_of_none_through_and_every_turn_fails_on_it():
    run = resume("simple", NO_CONTENT)
    assert run.requests == []
    assert ["ValidationError" in str(error) for error in run.errors] == [True, True]


def test_simple_leaves_what_a_hook_injects_at_a_tool_between_the_call_and_its_result():
    run = session("simple", reading(files=2, lines=10), hooks=[(events.TOOL_PRE, remind)])
    assert "has no result before" in run.problems[0]


def test_simple_drops_developer_messages():
    assert DEVELOPER[0] not in shown(simple(), DEVELOPER, budget=2_000)


def test_simple_never_recovers_from_a_call_that_a_crash_left_without_its_result():
    run = resume("simple", ORPHAN)
    assert ["InvalidRequestError" in str(error) for error in run.errors] == [True, True]


def test_simple_counts_all_messages_again_for_each_that_comes_and_for_each_that_goes():
    def estimates(messages: int) -> int:
        context = simple()
        shown(context, [{"role": "assistant", "content": "a few words"} for _ in range(messages)], budget=500)
        return context.estimates

    assert estimates(400) > 3.5 * estimates(200) > 12 * estimates(100)


# context-persistent


def persistent(path: Path) -> Persistent:
    return Persistent({"transcript_path": str(path)}, HookRegistry())


def test_persistent_reads_its_whole_file_for_every_request(tmp_path):
    context = persistent(tmp_path / "transcript.jsonl")
    shown(context, [{"role": "user", "content": "go"}], budget=2_000)
    shown(context, [], budget=2_000)
    assert context.reads == 3


def test_persistent_loses_the_message_after_a_torn_line(tmp_path):
    path = tmp_path / "transcript.jsonl"
    path.write_text(TORN)
    shown(persistent(path), [{"role": "user", "content": "Are you there?"}], budget=2_000)
    assert persistent(path).messages == [{"role": "user", "content": "go"}]


def test_persistent_brings_ephemeral_messages_back(tmp_path):
    path = tmp_path / "transcript.jsonl"
    shown(persistent(path), [REMINDER], budget=2_000)
    assert persistent(path).messages == [REMINDER]


# The example of the contract


def test_the_example_loses_the_first_user_message():
    run = worked("example")
    assert run.requests[0].first_user
    assert any("the first user message, history[0], is not in the view" in line for line in run.problems)


def test_the_example_cuts_between_the_results_of_calls_that_were_made_together():
    view = shown(Example({}, HookRegistry()), TOGETHER, budget=600)
    assert any("without that call before it" in line for line in problems(view, TOGETHER))


# What all of them share


@pytest.mark.parametrize("name", NAMES)
def test_none_fits_text_that_is_denser_than_it_guesses(name, tmp_path):
    assert session(name, DENSE, config={"transcript_path": str(tmp_path / "transcript.jsonl")}).overflows
