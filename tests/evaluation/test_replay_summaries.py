"""Replays with a model that writes summaries: asked over real sockets by the official clients, and paid for."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from backscroll.compaction.options import CachePricing
from backscroll.compaction.summarization import SummaryResponse
from backscroll.evaluation.run import replay
from backscroll.evaluation.summarizers import OUTPUT, Asked
from backscroll.evaluation.transcript import Transcript
from tests.cli.commands import as_lines, conversation, invoke
from tests.integrations.model_server import chat, message, serving
from tests.real import RECORDINGS, needs_recordings

pytest.importorskip("openai")
pytest.importorskip("anthropic")

KEYS = ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
WRITTEN = "<summary>All logs were read, and none told of a crash.</summary>"


@pytest.fixture
def recorded(tmp_path, monkeypatch) -> Path:
    """A recording of some 13,000 tokens, in a world with a key and no other setting of a client."""
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    path = tmp_path / "talk.jsonl"
    path.write_text(as_lines(conversation(40, 300)))
    return path


def outcome_of(found) -> dict[str, Any]:
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)["outcomes"][0]


def asking(server, kind="openai"):
    return ["--summarizer", kind, "--summary-model", "small", "--base-url", server.url + "/v1" * (kind == "openai")]


@pytest.mark.parametrize(("kind", "answer"), [("openai", chat(WRITTEN)), ("anthropic", message(WRITTEN))])
def test_replay_with_a_model_counts_its_tokens_in_the_cost(recorded, kind, answer):
    """A model writes the summaries of a replay and its tokens are in the cost."""
    plain = outcome_of(invoke("replay", recorded, "--budget", "4k", "--json"))
    with serving((200, {}, answer)) as server:
        found = outcome_of(invoke("replay", recorded, "--budget", "4k", *asking(server, kind), "--json"))
    assert plain["summary_calls"] == plain["summaries"] == plain["summary_cost"] == 0
    assert found["summary_calls"] == len(server.requests) == found["summaries"] > 1
    assert found["summary_input_tokens"] == 1_200 * found["summaries"]
    assert found["summary_output_tokens"] == 40 * found["summaries"]
    assert found["summary_cost"] == pytest.approx((1_200 + OUTPUT * 40) * found["summaries"] / 1e6)
    views = CachePricing().cost(found["tokens_sent"], found["tokens_kept"])
    assert found["cost"] == pytest.approx(views + found["summary_cost"])
    assert found["tokens_sent"] != plain["tokens_sent"]  # a summary stands in the place of the digest's lines
    assert (found["invalid"], found["over_budget"], found["summaries_failed"]) == (0, 0, 0)


def test_counting_model_writes_summaries_by_default(recorded):
    """The model of the counts writes the summaries where no other is named."""
    with serving((200, {}, chat(WRITTEN))) as server:
        options = ["--summarizer", "openai", "--model", "gpt-5", "--base-url", f"{server.url}/v1"]
        outcome_of(invoke("replay", recorded, "--budget", "4k", *options, "--json"))
    assert {body["model"] for _, body in server.requests} == {"gpt-5"}


def test_the_summarizers_own_price_and_window_count(recorded):
    with serving((200, {}, chat(WRITTEN))) as server:
        again = ["replay", recorded, "--budget", "4k", "--json", *asking(server)]
        full, cheap = outcome_of(invoke(*again)), outcome_of(invoke(*again, "--summary-price", "0.25"))
        narrow = outcome_of(invoke(*again, "--summary-context-tokens", "2000"))
    assert cheap["summary_cost"] == pytest.approx(full["summary_cost"] / 4)
    assert narrow["summary_calls"] >= full["summary_calls"]
    assert max(len(body["messages"][1]["content"]) for _, body in server.requests) > 2_000


def test_table_has_extra_columns_only_with_a_summarizer(recorded):
    """The table has columns for them only where someone was asked."""
    with serving((200, {}, chat(WRITTEN))) as server:
        with_them = invoke("replay", recorded, "--budget", "4k", *asking(server))
    without = invoke("replay", recorded, "--budget", "4k")
    assert (with_them.exit_code, without.exit_code) == (0, 0)
    assert "summaries: input at 1, output at 5" in with_them.output
    assert "summary" in with_them.output
    assert "summary" not in without.output


def test_only_strategies_with_summaries_call_the_model(recorded):
    """Of several strategies only those that say of what left ask."""
    with serving((200, {}, chat(WRITTEN))) as server:
        chains = ["--strategy", "auto", "--strategy", "truncate"]
        done = invoke("replay", recorded, "--budget", "4k", *asking(server), *chains, "--json")
    calls = {outcome["strategy"]: outcome["summary_calls"] for outcome in json.loads(done.stdout)["outcomes"]}
    assert calls == {"auto": len(server.requests), "truncate": 0}
    assert len(server.requests) > 1


# -- failures --


def test_occasional_summary_failures_are_shown_with_the_figures(recorded):
    """Summaries that fail now and then are reported next to the figures."""
    broken = 400, {}, {"error": {"message": "maximum context length is 4096 tokens"}}
    with serving(broken, (200, {}, chat(WRITTEN))) as server:
        again = ["replay", recorded, "--budget", "4k", *asking(server)]
        done = invoke(*again)
    assert done.exit_code == 0
    assert "1 without a summary: " in done.output
    assert "maximum context length is 4096 tokens" in done.output


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((404, {}, {"error": {"message": "The model `small` does not exist", "code": "model_not_found"}}), "not exist"),
        ((401, {}, {"error": {"message": "Incorrect API key provided"}}), "Incorrect API key"),
        ((200, {}, chat("I'm sorry, but I can't help with that.")), "refusal"),
    ],
)
def test_replay_without_any_summary_fails_with_the_reason(recorded, answer, words):
    """A replay without a single summary ends with an error that says why."""
    with serving(answer) as server:
        done = invoke("replay", recorded, "--budget", "4k", *asking(server), "--json")
    assert done.exit_code == 2
    assert "backscroll: every summary failed: " in done.stderr
    assert words in done.stderr
    found = json.loads(done.stdout)["outcomes"][0]
    assert (found["summaries"], found["invalid"], found["over_budget"]) == (0, 0, 0)
    assert found["summaries_failed"] == len(server.requests) >= 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--summarizer", "openai"], "--summarizer requires a model"),
        (["--summarizer", "llama", "--model", "x"], "'llama' is not one of 'openai', 'anthropic'"),
        (["--base-url", "http://localhost:1"], "--base-url requires --summarizer"),
        (["--summary-price", "0.1"], "--summary-price requires --summarizer"),
        (["--summarizer", "openai", "--model", "x", "--base-url", "localhost:1"], "'localhost:1' is not a URL"),
        (
            ["--summarizer", "openai", "--model", "x", "--strategy", "truncate"],
            "uses summaries; pass auto, digest or importance",
        ),
        (
            ["--summarizer", "openai", "--model", "x", "--summary-context-tokens", "10"],
            "10 is not in the range x>=2000",
        ),
    ],
)
def test_impossible_options_are_refused_before_the_replay(recorded, options, words):
    """Options that cannot be are refused before anything is replayed."""
    done = invoke("replay", recorded, *options)
    assert done.exit_code == 2
    assert words in " ".join(done.stderr.split())
    assert done.stdout == ""


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_missing_key_is_reported_with_the_remedy(recorded, monkeypatch, kind):
    monkeypatch.delenv(f"{kind.upper()}_API_KEY")
    keyless = invoke("replay", recorded, "--summarizer", kind, "--model", "x")
    assert keyless.exit_code == 2
    assert f"{kind.upper()}_API_KEY" in " ".join(keyless.stderr.split())


# -- the same each time --


async def told(request):
    """A model that counts what it was asked."""
    return SummaryResponse("All went well so far.", "counting", len(request.prompt), 10)


def test_two_replays_with_a_model_give_the_same_figures():
    """Two replays give the same figures although a model is asked."""
    transcript = Transcript("talk", "openai", conversation(40, 300))
    once, again = (replay(transcript, budget=4_000, tokenizer=len, summaries=Asked(told)) for _ in range(2))
    assert once.summaries > 0
    for name in set(type(once).__slots__) - {"cpu_seconds"}:
        assert getattr(once, name) == getattr(again, name), name


@pytest.mark.long
def test_the_installed_command_asks_as_well(recorded):
    with serving((200, {}, chat(WRITTEN))) as server:
        command = [sys.executable, "-m", "backscroll.cli.main", "replay", str(recorded), "--budget", "4k", "--json"]
        done = subprocess.run(
            [*command, *asking(server)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**os.environ, "OPENAI_API_KEY": "k"},
        )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["totals"]["summary_calls"] == len(server.requests) > 1


@needs_recordings
def test_a_recorded_session_is_replayed_with_summaries(recorded):
    file = RECORDINGS / "native" / "claude-code-compacted.jsonl"
    with serving((200, {}, chat(WRITTEN))) as server:
        found = outcome_of(invoke("replay", file, "--budget", "12k", *asking(server), "--json"))
    assert found["summaries"] == len(server.requests) > 0
    assert (found["invalid"], found["over_budget"], found["refused"]) == (0, 0, 0)
