"""The table of known models, and the names by which a row is found."""

import pytest

from backscroll.tokens.known_models import (
    KNOWN_MODELS,
    binds_reasoning,
    canonical,
    compacts_natively,
    find_model,
    media_limits,
    vendor_of,
)
from backscroll.tokens.model_profiles import UNKNOWN, family_of, refuses_prefill
from backscroll.tokens.windows import window_of
from tests.present import present

NAMES = {
    "claude-opus-5-5": "claude-opus-5-5",
    "us.anthropic.claude-opus-5-5-20260922-v1:0": "claude-opus-5-5",
    "arn:aws:bedrock:us-east-1:1234:inference-profile/eu.anthropic.claude-haiku-4-5-20251001-v1:0": "claude-haiku-4-5",
    "anthropic/claude-sonnet-5.5": "claude-sonnet-5-5",
    "anthropic:claude-fable-5-2": "claude-fable-5-2",
    "claude-opus-4-8@20260301": "claude-opus-4-8",
    "claude-sonnet-4-20250514": "claude-sonnet-4",
    "openai/gpt-6.2-sol": "gpt-6.2-sol",
    "gpt-6.2-sol-2026-11-17": "gpt-6.2-sol",
    "OpenRouter/OpenAI/GPT-5.4-Mini": "gpt-5.4-mini",
    "models/gemini-2.5-pro": "gemini-2.5-pro",
    "vertex_ai/gemini-2.5-flash-lite": "gemini-2.5-flash",
    "x-ai/grok-4.20": "grok-4.20",
    "amazon.nova-2-lite-v1:0": "nova-2-lite",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": "llama-4-scout",
    "us.meta.llama4-maverick-17b-instruct-v1:0": "llama-4-maverick",
    "qwen/qwen3.8-max": "qwen3.8-max",
    "gpt-5.1-codex": "gpt-5",
}


@pytest.mark.parametrize(("name", "row"), NAMES.items())
def test_known_model_under_a_name_of_a_host_is_found(name, row):
    found = find_model(name)
    assert found is not None
    assert found.id == row


@pytest.mark.parametrize("name", [None, "", "my-model", "gpt-5.4-nano", "gpt", "claude", "octopus-5", "mistral-large"])
def test_unknown_name_finds_no_row(name):
    assert find_model(name) is None


@pytest.mark.parametrize("name", ["claude-opus-5-7", "gpt-5.1-codex", "gemini-2.5-flash-lite", "grok-4.7-fast"])
def test_name_that_only_begins_like_a_row_has_no_price(name):
    """Its window is a good guess, its price none."""
    found = find_model(name)
    assert found is not None
    assert found.prices is None


def test_dated_name_has_the_price_of_its_row():
    assert (
        present(find_model("claude-opus-5-5-20260922")).prices
        == present(find_model("claude-opus-5-5")).prices
        is not None
    )


BINDING = [
    "claude-fable-5-1",
    "claude-mythos-5-1",
    "claude-fable-5-2",
    "claude-mythos-5-2",
    "us.anthropic.claude-opus-5-5-20260922-v1:0",
    "claude-sonnet-5-5",
    "anthropic/claude-haiku-5.5",
    "gpt-6.2-sol",
    "openai/gpt-6.2-astra-2026-11-17",
    "gpt-6.2-nova",
    "gpt-6.3-sol",
    "gpt-7",
]
FREE = [
    "claude-opus-5",
    "claude-sonnet-5",
    "claude-fable-5",
    "claude-mythos-5-20260801",
    "claude-opus-4-8",
    "claude-3-5-sonnet-20241022",
    "claude-3-opus-20240229",
    "gpt-6.1-sol",
    "gpt-6-luna",
    "gpt-5.4-nano",
    "gpt-4o",
    "gpt-4-turbo",
    "o3-mini",
    "gpt-35-turbo",
    "gpt-oss-120b",
    "models/gemini-3.9-pro",
    "deepseek-reasoner",
    "mistral-large-2411",
    "grok-5",
    "qwen3-coder",
    "ollama/llama3.2",
]


@pytest.mark.parametrize("name", BINDING)
def test_model_that_binds_its_reasoning_is_known(name):
    assert binds_reasoning(name) is True


@pytest.mark.parametrize("name", FREE)
def test_model_that_does_not_bind_is_known(name):
    assert binds_reasoning(name) is False


@pytest.mark.parametrize("name", [None, "", "my-model", "claude", "claude-opus-5-7", "claude-fable-6", "kimi-k3"])
def test_model_that_no_row_describes_may_bind(name):
    """A later version than the table's may bind or not: the caller decides by what the provider returns."""
    assert binds_reasoning(name) is None


@pytest.mark.parametrize(
    "name",
    [
        "claude-opus-4-6",
        "claude-opus-5-5-20260922",
        "claude-sonnet-4-6",
        "anthropic/claude-haiku-5.5",
        "claude-fable-5-1",
        "claude-opus-4-8@20260301",
        "gpt-6.2-sol",
        "gpt-4o-mini",
    ],
)
def test_model_that_its_provider_compacts_is_known(name):
    assert compacts_natively(name) is True


@pytest.mark.parametrize(
    "name",
    [
        "claude-opus-4-5",
        "claude-sonnet-4-5-20250929",
        "claude-haiku-4-5",
        "claude-3-opus-20240229",
        "us.anthropic.claude-opus-5-5-20260922-v1:0",
        "bedrock/claude-fable-5-2",
        "arn:aws:bedrock:us-east-1:1234:inference-profile/eu.anthropic.claude-sonnet-5-v1:0",
        "gemini-2.5-pro",
        "models/gemini-9-ultra",
        "grok-4.7",
    ],
)
def test_model_that_no_provider_compacts_is_known(name):
    """Older Claude models, Claude on Amazon Bedrock, and other vendors."""
    assert compacts_natively(name) is False


@pytest.mark.parametrize("name", [None, "", "my-model", "claude-opus-6", "claude-fable-5-2", "gpt-5.4-nano", "kimi-k3"])
def test_model_that_no_source_describes_may_compact(name):
    assert compacts_natively(name) is None


@pytest.mark.parametrize(
    ("name", "vendor"),
    [
        ("us.anthropic.claude-7", "anthropic"),
        ("openai/o3-mini", "openai"),
        ("chatgpt-4o-latest", "openai"),
        ("gpt-oss-120b", None),
        ("gemini-9", "google"),
        ("nova-pro", "amazon"),
        ("kimi-k3", None),
        (None, None),
    ],
)
def test_vendor_is_read_from_the_name(name, vendor):
    assert vendor_of(name) == vendor


def test_rows_are_unique_and_sensible():
    assert len(KNOWN_MODELS) >= 60
    assert len({canonical(row.id) for row in KNOWN_MODELS}) == len(KNOWN_MODELS)
    for row in KNOWN_MODELS:
        assert find_model(row.id) is row, row.id
        assert 0 < (row.max_output or 1) <= row.window, row.id
        assert 0 < (row.max_input or 1) <= row.window, row.id
        assert row.prices is None or all(price is None or price > 0 for price in row.prices), row.id


def test_media_limits_follow_vendor_window_and_cloud():
    assert present(media_limits("claude-opus-5-5")).images == 600
    assert present(media_limits("claude-haiku-4-5")).images == 100
    assert present(media_limits("claude-opus-5-5")).image_bytes == 10_000_000
    assert present(media_limits("us.anthropic.claude-opus-5-5-20260922-v1:0")).image_bytes == 5_000_000
    assert present(media_limits("claude-opus-4-8@20260301")).image_bytes == 5_000_000
    assert present(media_limits("gpt-6.2-sol")).images == 1_500
    assert present(media_limits("gemini-2.5-pro")).request_bytes == 20_000_000
    assert media_limits("grok-4.7") is None
    assert media_limits("my-model") is None


@pytest.mark.parametrize("part", ["a", "a-", "claude-", "anthropic.", "1", "gpt-"])
def test_name_of_a_million_characters_is_an_unknown_model(part):
    """And is read at once: a search that grows with the square of the name would take minutes."""
    name = part * (1_000_000 // len(part))
    assert (find_model(name), vendor_of(name), window_of(name, {})) == (None, None, None)
    assert (binds_reasoning(name), compacts_natively(name), media_limits(name)) == (None, None, None)
    assert canonical(name) == ""
    assert family_of(name) is UNKNOWN
    assert refuses_prefill(name) is False


def test_names_of_up_to_200_characters_are_read():
    assert find_model("openai/" + "x/" * 93 + "gpt-5.4") == find_model("gpt-5.4") is not None
    assert find_model("openai/" + "x/" * 94 + "gpt-5.4") is None
