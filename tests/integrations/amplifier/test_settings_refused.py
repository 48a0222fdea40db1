"""Configurations that cannot work: names that nobody knows, values out of range, and contradictions."""

import re
import traceback
from types import SimpleNamespace
from typing import Any

import pytest

from backscroll import ConfigurationError
from backscroll.integrations.amplifier.hooks import OPTION_IGNORED
from backscroll.integrations.amplifier.settings import Config, read_settings
from backscroll.integrations.settings import read
from tests.integrations.amplifier.harness import awaited, mounted


@pytest.mark.parametrize(
    ("name", "near"),
    [("max_token", "max_tokens"), ("protected_results", "protected_tool_results"), ("persistance", "persistence")],
)
@awaited
async def test_unknown_setting_is_refused_with_the_nearest_name(name, near):
    with pytest.warns(RuntimeWarning, match=f"option '{name}' is ignored: unknown option; did you mean '{near}'?"):
        async with mounted({name: 5}) as ours:
            (told,) = ours.payloads(OPTION_IGNORED)
    assert (told["option"], told["reason"]) == (name, f"unknown option; did you mean '{near}'?")


@awaited
async def test_unknown_setting_without_a_near_name_is_refused(tmp_path):
    """A name that is near to none and one inside of persistence are reported too."""
    config = {"colour": "red", "persistence": {"storage_path": str(tmp_path), "storage": 1}}
    with pytest.warns(RuntimeWarning, match="is ignored"):
        async with mounted(config) as ours:
            told = [(payload["option"], payload["reason"]) for payload in ours.payloads(OPTION_IGNORED)]
    assert told == [
        ("colour", "unknown option"),
        ("persistence.storage", "unknown option; did you mean 'storage_path'?"),
    ]


WRONG: dict[str, list[Any]] = {
    "contract": ["3.0", 2.1],
    "max_tokens": [0, -1, 2.5, "200k", True],
    "windows": [5, {"m-1": 0}, {"m-1": "200k"}, {"m-1": 2.5}, {"": 5}],
    "compact_at": [0, -1, 2.5, "10k", True],
    "compact_to": [0, -1, 2.5, "10k", True],
    "summary_instructions": ["", 5, "x" * 16_385],
    "compact_threshold": [0, 1.5, "0.9", True],
    "compaction_threshold": [-0.1, 92],
    "mode": ["cheap", 1],
    "target_usage": [0, 2, "half"],
    "protected_recent": [-0.1, 30],
    "working_set": [-0.1, 25, "much"],
    "protected_tool_results": [-1, 2.0, "five"],
    "max_messages": [7, 2.5],
    "compaction_strategy": ["summarise", "", 1],
    "summarizer": ["yes", 1, "scripted"],
    "summary_provider": ["", 5, ["scripted"]],
    "summary_model": ["", 5],
    "summary_context_tokens": [1_999, -1, 2_000.5, "32k", True],
    "summary_reuse_prefix": ["yes", 1],
    "summary_wait_seconds": [-1, "long", True, float("nan"), float("inf")],
    "truncate_chars": [10, "many"],
    "truncate_boundary": [5],
    "preserve_system": ["yes", 1],
    "persistence": ["disk", 1, {"enabled": "yes"}, {"storage_path": 5}],
    "storage_path": ["", 5],
    "transcript_path": ["", ["a"]],
    "store": ["", 5],
    "blob_store": ["", 5],
    "blob_threshold_bytes": [-1, 2.5, "64k"],
    "encryption_key_env": ["", 5, "NO_SUCH_VARIABLE"],
    "memory_files": ["AGENTS.md", [5], [""]],
    "recall_tool": ["no", 0, 1],
    "compact_tool": ["no", 0, 1],
    "budget_formula": ["simple"],
    "output_reserve_fraction": [1.5, -1, "all"],
    "margin_tokens": [-1, 0.5],
    "overhead_tokens": [-1, "none"],
    "clear_at_least_tokens": [-1, 0.5],
    "plan_ahead": ["no", 0, 1],
    "cache_pricing": [5, {"cache_read": 0.1}, {"read": "cheap"}, {"read": -1}],
    "tokenizer": ["o300k", 5],
    "model": ["", 5],
    "compaction_notice_enabled": ["no"],
    "compaction_notice_token_reserve": [-1, "some"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
@awaited
async def test_a_value_that_cannot_work_is_refused_by_its_name(name, value):
    with pytest.raises(ConfigurationError, match=name):
        async with mounted({name: value}):
            pass


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"max_tokens": "200k"}, "`max_tokens` must be a valid integer, not '200k' (input tokens of a request"),
        ({"max_messages": 7}, "`max_messages` must be greater than or equal to 8, not 7 (maximum messages per request"),
        ({"compaction_strategy": "summarise"}, "must be one of auto, summarize, deduplicate, shorten, "),
        ({"recall_tool": "no"}, "`recall_tool` must be a valid boolean or 'always', not 'no'"),
        ({"memory_files": ["A.md", 5]}, "`memory_files.1` must be a valid string, not 5"),
        ({"persistence": {"enabled": "yes"}}, "`persistence.enabled` must be a valid boolean, not 'yes'"),
        ({"cache_pricing": {"raed": 0.1}}, "unknown key `cache_pricing.raed`; did you mean 'read'?"),
        ({"max_tokens": 0, "summary_wait_seconds": -1}, "(input tokens of a request"),
        (
            {"max_tokens": 0, "summary_wait_seconds": -1},
            "; `summary_wait_seconds` must be greater than or equal to 0, not -1",
        ),
    ],
)
def test_an_error_has_value_range_and_meaning(config, words):
    with pytest.raises(ConfigurationError, match=re.escape(words)):
        read_settings(config)


SECRET = "c2VjcmV0IHRoYXQgbm9ib2R5IG1heSByZWFkIGhlcmU="


@pytest.mark.parametrize(
    "config",
    [
        {"encryption_key": SECRET},
        {"encryption_key_env": SECRET},
        {"encryption_key_env": SECRET, "max_tokens": 0},
        {"store": [f"postgresql://user:{SECRET}@host/db"]},
        {"store": f"postgresql://user:{SECRET}@host/db", "max_tokens": 0},
        {"blob_store": {"key": SECRET}},
        {"summary_provider": SimpleNamespace(api_key=SECRET)},
        {"persistence": [SECRET]},
        {"persistence": f"postgresql://user:{SECRET}@host/db"},
        {"recall_tool": f"postgresql://user:{SECRET * 3}@host/db"},
    ],
)
def test_no_error_quotes_a_secret(config):
    with pytest.raises(ConfigurationError) as caught:
        read_settings(config)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None, "pydantic's own error holds all that was given"


def test_a_model_of_settings_refuses_unknown_keys_by_itself():
    with pytest.raises(ConfigurationError, match=r"unknown key `max_token`; did you mean 'max_tokens'\?"):
        read(Config, {"max_token": 5})


def test_every_option_that_can_be_wrong_is_in_the_table():
    anything = {"compaction_notice_verbosity", "compaction_notice_min_level"}
    assert set(WRONG) | anything == set(Config.model_fields)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"encryption_key": "A" * 43 + "="}, "must not be in a configuration.*encryption_key_env"),
        ({"compact_threshold": 0.8, "compaction_threshold": 0.9}, "are the same option"),
        ({"compact_threshold": 0.5, "target_usage": 0.6}, "`target_usage` .* must be below `compact_threshold`"),
        ({"persistence": {"enabled": True}, "recall_tool": False}, "`persistence` needs a place"),
    ],
)
@awaited
async def test_options_that_contradict_each_other_are_refused(config, words):
    with pytest.raises(ConfigurationError, match=words):
        async with mounted(config):
            pass
