"""`backscroll tune` as a user meets it: tables, JSON, the file it writes, and folders that it cannot judge."""

import json
import random
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from backscroll import ContextManager
from backscroll.cli.tune import tune_command
from backscroll.cli.tune_table import settings_of, tables
from backscroll.evaluation.compare.pricing import TARIFFS
from backscroll.evaluation.tune.candidates import GRID, Candidate
from backscroll.evaluation.tune.judging import GOALS
from backscroll.evaluation.tune.tuning import tune
from backscroll.manager.options_file import read_options
from tests.cli.commands import as_lines, invoke
from tests.evaluation.tune.made_up import Replays, cheaper_by, conversations, task
from tests.evaluation.tune.work import long_results, only_words
from tests.real import RECORDINGS, needs_recordings

QUICK = ("--jobs", "1", "--budget", "6k", "--trials", "1")


def shown(*arguments):
    done = invoke(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A folder whose tools print so much that previews on arrival are cheaper everywhere."""
    folder = tmp_path_factory.mktemp("work")
    for at in range(12):
        (folder / f"{at:02}.jsonl").write_text(as_lines(long_results(random.Random(at), rounds=8)))
    return folder


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """A folder without tools, in which the defaults keep all that was needed."""
    folder = tmp_path_factory.mktemp("words")
    for at in range(12):
        (folder / f"{at:02}.jsonl").write_text(as_lines(only_words(random.Random(at), rounds=20)))
    return folder


def test_tune_writes_what_wins_and_a_manager_accepts_it(work, tmp_path):
    path = tmp_path / "tuned.toml"
    done = invoke("tune", work, *QUICK, "--output", path)
    assert done.exit_code == 0, done.output
    assert "on 6 conversations that did not choose it" in done.stdout
    assert 'context = ContextManager(\n    mode="lean",\n)' in done.stdout
    assert f"wrote {path}" in done.stderr
    assert read_options(path) == {"mode": "lean"}
    ContextManager(**read_options(path)).close()
    assert path.read_text().startswith("# backscroll tune: use the best candidate (6,000 tokens, for cost): cost -")
    again = shown(
        "compare", work / "00.jsonl", "--jobs", "1", "--budget", "6k", "--strategies", "auto,lean", "--options", path
    )
    auto, lean, tuned = (one["cost"] for one in again["sums"])
    assert tuned == lean < auto


def test_tune_json_has_all_figures_and_repeats(work):
    found = shown("tune", work, *QUICK)
    assert shown("tune", work, *QUICK) == found
    assert (found["keep_defaults"], found["options"]) == (False, {"mode": "lean"})
    assert found["chosen"]["options"] == found["held_out"]["options"] == {"mode": "lean"}
    assert found["chosen"] in found["trials"]
    assert (found["seed"], found["budget"], found["most_trials"], found["margin"]) == (0, 6_000, 1, 0.05)
    assert set(found["versions"]) == {"backscroll", "python", "tokenizer"}
    halves = found["conversations"]
    every = [name for half in halves.values() for names in half for name in names]
    assert sorted(every) == sorted(str(path) for path in work.iterdir())
    assert (len(halves["training"]), len(halves["held_out"])) == (6, 6)
    for trial in (*found["trials"], found["held_out"]):
        evidence = trial["evidence"]
        assert set(evidence["changes"]) == {"cost", "kept", "balanced"}
        for change in evidence["changes"].values():
            assert change["low"] <= change["mean"] <= change["high"]
        assert 0 < evidence["options"]["recall"] <= evidence["options"]["reachable"] <= 1
        assert evidence["options"]["cost"] / evidence["defaults"]["cost"] - 1 == pytest.approx(
            evidence["changes"]["cost"]["mean"]
        )
    assert {"cost", "recall", "reachable", "kept"} <= set(found["units"])
    assert (found["left_out"], found["silent"], found["defaults_not_sendable"]) == ([], 0, [])


def test_tune_nothing_wins_so_nothing_is_written(words, tmp_path):
    path = tmp_path / "tuned.json"
    done = invoke(
        "tune", words, "--jobs", "1", "--budget", "2k", "--trials", "1", "--for", "retention", "--output", path
    )
    assert done.exit_code == 0, done.output
    assert "keep the defaults (2,000 tokens, for retention): no options improved on them by 0.25%" in done.stdout
    assert "ContextManager" not in done.stdout
    assert not path.exists()


def test_tune_prices_other_than_the_defaults_are_written():
    lean = Candidate((("mode", "lean"),))
    assert settings_of(lean, task()) == {"mode": "lean"}
    found = settings_of(lean, replace(task(), tariff=TARIFFS["openai"]))
    assert found == {"mode": "lean", "cache_pricing": {"read": 0.1, "write": 1.0, "ttl_seconds": 300.0}}


def printed(tuned, given, width):
    console = Console(file=(shown := StringIO()), width=width)
    for item in tables(tuned, given, every=True):
        console.print(item)
    return shown.getvalue()


@pytest.mark.parametrize("goal", list(GOALS))
def test_tune_tables_fit_and_hold_both_halves(goal):
    given = task(goal, margin=0.5, trials=6)
    replays = Replays(cheaper_by({"mode lean": 0.2, "target_usage 0.25": 0.1}, {"mode lean": -0.1}))
    tuned: Any = tune(conversations(20), given, replays)
    for width in (60, 80, 200):
        text = printed(tuned, given, width)
        assert max(map(len, text.splitlines())) <= width
        assert "\u2026" not in text
        for found in (tuned.chosen.evidence, tuned.judged.evidence):
            assert f"{100 * found.cost.low:+.1f} to {100 * found.cost.high:+.1f}%" in text
            assert f"{100 * found.kept.mean:+.1f}%" in text
        assert (text.count("44.0%"), text.count("55.0%")) == (4, 4)  # far recall, on both sides of both halves
        assert ("cost less kept" in text) == (goal == "balanced")
        assert "The search ended after 6 trials" in " ".join(text.split())


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--for", "speed"), "'speed' is not one of"),
        (("--output", "tuned.yaml"), "must end in .toml or .json"),
        (("--output", "nowhere/tuned.toml"), "is in no folder that exists"),
        (("--margin", "0"), "is not a budget"),
        (("--budget", "100k"), "0 are larger than the budget and need a fact of their past"),
    ],
)
def test_tune_options_that_cannot_be_are_refused(work, arguments, why):
    done = invoke("tune", work, *QUICK, *arguments)
    assert done.exit_code == 2
    assert why in " ".join(done.stderr.split())


def test_tune_too_few_conversations_are_an_error(tmp_path):
    for at in range(11):
        (tmp_path / f"{at}.jsonl").write_text(as_lines(only_words(random.Random(at), rounds=2)))
    done = invoke("tune", tmp_path, *QUICK)
    assert done.exit_code == 2
    assert "found 11 conversations, but at least 12 are needed" in done.stderr


def test_tune_page_lists_the_grid_and_every_option():
    page = (Path(__file__).parents[3] / "docs/evaluate/tune.md").read_text()
    assert re.findall(r"^\| `([\w.]+)` \|", page, re.MULTILINE) == list(GRID)
    options = {option for param in tune_command.params for option in param.opts if option.startswith("--")}
    assert set(re.findall(r"^\| `(--\w+)` \|", page, re.MULTILINE)) == options


@pytest.mark.long
@needs_recordings
def test_tune_real_sessions_are_judged():
    """A small search over recorded sessions of one kind of agent: figures that are sound, whatever it concludes."""
    found = shown("tune", RECORDINGS / "opencode-2" / "norm.jsonl", "--budget", "16k", "--trials", "6", "--jobs", "1")
    assert len(found["trials"]) == 6
    assert [len(half) for half in found["conversations"].values()] == [7, 7]
    assert all(trial["evidence"]["over_budget"] >= 6 for trial in found["trials"])
    assert all("sent" not in fault for trial in found["trials"] for fault in trial["faults"])
