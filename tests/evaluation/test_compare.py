"""`backscroll compare` as a user meets it: tables, advice, prices, folders, failures. Recall is tested elsewhere."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from backscroll.cli import compare_table as table
from backscroll.cli.compare import exit_code
from backscroll.compaction.modes import LEAN, STANDARD
from backscroll.compaction.options import CachePricing
from backscroll.errors import ConfigurationError
from backscroll.evaluation.compare import process_pool as pools
from backscroll.evaluation.compare.aggregate import advice, sums
from backscroll.evaluation.compare.jobs import Job, Row, Source, failed, run
from backscroll.evaluation.compare.pricing import TARIFFS, Tariff, tariff
from tests.cli.commands import app, as_lines, conversation
from tests.evaluation.comparing import compare, shown

BUDGET = "1500"


@pytest.fixture
def talk(tmp_path):
    path = tmp_path / "talk.jsonl"
    path.write_text(as_lines(work()))
    return path


def work(rounds=12):
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look at src/app/first.py and all others."}]
    for at in range(rounds):
        function = {"name": "look", "arguments": json.dumps({"path": f"src/app/part_{at}.py"})}
        call = {"id": f"c{at}", "type": "function", "function": function}
        said = f"After part_{at - 1}.py I look at handler_{at // 2}."
        messages.append({"role": "assistant", "content": said, "tool_calls": [call]})
        text = f"def handler_{at}(): return lookup_{at + 1}()\nsrc/app/part_{at + 1}.py comes next\n" + "word " * 200
        messages.append({"role": "tool", "tool_call_id": f"c{at}", "content": text})
    return [*messages, {"role": "assistant", "content": "handler_1 and handler_7 are wrong in src/app/part_3.py."}]


# Figures


def test_every_strategy_at_every_budget_and_what_is_recommended(talk):
    found = shown(talk, "--budget", "1500,3k", "--strategies", "auto,truncate,clear,deduplicate+truncate")
    assert len(found["rows"]) == len(found["sums"]) == 8
    assert {(row["strategy"], row["budget"]) for row in found["rows"]} == {
        (name, budget) for name in ("auto", "truncate", "clear", "deduplicate+truncate") for budget in (1500, 3000)
    }
    for row in found["rows"]:
        assert row["failure"] == ""
        assert 0 < row["peak_tokens"] <= row["budget"]
        assert row["peak_tokens"] <= row["tokens_sent"]
        assert row["recall"] <= row["reachable"]
        assert row["milliseconds"] > 0
        assert (row["refused"], row["invalid"], row["over_budget"]) == (0, 0, 0)
    assert set(found["units"]) <= set(found["rows"][0])
    assert [one["budget"] for one in found["recommendations"]] == [1500, 3000]
    assert all(one["strategy"] and one["why"].startswith(one["strategy"]) for one in found["recommendations"])


def test_compare_drop_is_no_name_of_a_strategy(talk):
    """`truncate` is the one name of the strategy that leaves the oldest turns out."""
    done = CliRunner().invoke(app, ["compare", str(talk), "--strategies", "drop"])
    assert done.exit_code == 2
    assert "'drop' is not a strategy" in done.stderr


def test_it_agrees_with_replay(talk):
    (row,) = shown(talk, "--budget", BUDGET, "--strategies", "auto")["rows"]
    done = CliRunner().invoke(app, ["replay", str(talk), "--budget", BUDGET, "--json"])
    (outcome,) = json.loads(done.stdout)["outcomes"]
    sums = ("requests", "tokens_sent", "prefix_kept", "compactions", "peak_tokens", "cost", "cost_whole")
    for name in (*sums, "facts", "recall", "reachable", "far_facts", "far_recall", "far_reachable"):
        assert row[name] == pytest.approx(outcome[name]), name


def test_the_table_is_followed_by_a_recommendation(talk):
    done = compare(talk, "--budget", BUDGET, "--strategies", "auto,clear")
    assert done.exit_code == 0, done.output
    assert re.search(r"^recommended at 1,500 tokens: (auto|clear), the cheapest of \d", done.stdout, re.MULTILINE)


def test_compare_lean_competes_and_each_mode_says_what_it_buys(talk):
    found = shown(talk, "--budget", BUDGET, "--strategies", "auto,lean")
    auto, lean = found["rows"]
    assert (auto["strategy"], lean["strategy"]) == ("auto", "lean")
    assert lean["tokens_sent"] < auto["tokens_sent"]
    assert found["modes"]["lean"] == LEAN.buys
    printed = " ".join(compare(talk, "--budget", BUDGET, "--strategies", "auto,lean").stdout.split())
    assert f"auto: mode 'standard' {STANDARD.buys}" in printed
    assert f"lean: mode 'lean' {LEAN.buys}" in printed


def test_replay_mode_names_its_outcome_and_differs(talk):
    done = CliRunner().invoke(app, ["replay", str(talk), "--budget", BUDGET, "--mode", "lean", "--json"])
    (row,) = json.loads(done.stdout)["outcomes"]
    (lean,) = shown(talk, "--budget", BUDGET, "--strategies", "lean")["rows"]
    assert row["strategy"] == "lean"
    assert row["tokens_sent"] == lean["tokens_sent"]


def as_printed(rows, width):
    """The tables of a comparison and its notes, in so many columns."""
    console = Console(file=(printed := StringIO()), width=width)
    prices = TARIFFS["anthropic"]
    for item in (*table.each(rows, width), *table.tables(sums(rows), prices, width), *table.notes(rows)):
        console.print(item)
    return printed.getvalue()


@pytest.mark.parametrize("width", [60, 100, 200])
def test_the_tables_show_all_figures_at_any_width(talk, width):
    job = a_job(talk, "auto", int(BUDGET))
    rows = [run(job), run(replace(job, label="clear", strategies=("clear",)))]
    text = as_printed(rows, width)
    assert all(f"{one.tokens_sent:,}" in text for one in sums(rows))
    assert "\u2026" not in text
    assert max(map(len, text.splitlines())) <= width


def test_a_share_of_each_transcript_is_a_budget(talk):
    half, whole = (shown(talk, "--budget", share, "--strategies", "auto")["rows"][0] for share in ("50%", "100%"))
    assert (half["budget"], whole["budget"]) == (0.5, 1.0)
    assert half["budget_tokens"] == whole["budget_tokens"] // 2


# Recommendation


def judged(strategy, cost, recall, reachable, **more):
    row = run(Job(Source("nowhere", 0, "t", 1, 2), strategy, None, 100, TARIFFS["anthropic"]))
    (one,) = sums([row])
    fine = {"failed": 0, "transcripts": 1, "cost": cost, "cost_whole": 9.0, "recall": recall, "reachable": reachable}
    return replace(one, **{**fine, **more})


def test_the_cheapest_that_keeps_nearly_the_most_is_recommended():
    found = [judged("dear", 3, 0.80, 0.90), judged("cheap", 2, 0.79, 0.88), judged("cheapest", 1, 0.40, 0.90)]
    (one,) = advice(found)
    assert one.strategy == "cheap"
    assert "recall 79.0%, reachable 88.0%; it costs 2.000 Mtok-eq, sending everything 9.000" in one.why
    assert "not dear (recall 80.0%, reachable 90.0%, 3.000), cheapest (recall 40.0%" in one.why
    assert advice(found, keep=0.5)[0].strategy == "cheapest"
    assert advice(found, keep=1.0)[0].strategy == "dear"


@pytest.mark.parametrize("fault", ["failed", "refused", "invalid", "over_budget"])
def test_what_could_not_be_sent_is_never_recommended(fault):
    found = [judged("dear", 3, 0.8, 0.9), judged("cheap", 1, 0.9, 0.9, **{fault: 2})]
    (one,) = advice(found)
    assert one.strategy == "dear"
    assert f"cheap (2 {fault.replace('over_', 'over the ')})" in one.why
    assert advice(found[1:])[0].strategy is None


def test_where_nothing_had_to_be_left_out_cost_decides():
    (one,) = advice([judged("a", 2, None, None), judged("b", 1, None, None)])
    assert one.strategy == "b"
    assert "only cost decides" in one.why


# Prices


def test_prices_change_the_cost_and_reach_the_manager(talk, tmp_path):
    path = tmp_path / "prices.toml"
    path.write_text("read = 0.5\nwrite = 2\noutput = 3.0\n")
    given = tariff(str(path))
    assert given == Tariff(str(path), CachePricing(0.5, 2, 300.0), 3.0)
    found = shown(talk, "--budget", "100k", "--strategies", "truncate", "--prices", path)["sums"][0]
    plain = shown(talk, "--budget", "100k", "--strategies", "truncate")["sums"][0]
    assert found["cost"] == found["cost_whole"] > plain["cost"] == plain["cost_whole"]
    assert found["output_cost"] / plain["output_cost"] == pytest.approx(3 / 5)
    assert given.input.cost(1_000_000, 400_000) == pytest.approx(0.5 * 0.4 + 2 * 0.6)


def test_known_prices():
    assert TARIFFS["anthropic"].input == CachePricing() == CachePricing(0.1, 1.25, 300.0)
    assert (TARIFFS["openai"].input.write, TARIFFS["openai"].output) == (1.0, 8.0)
    assert TARIFFS["openai"].input.cost(100, 0) == 100 / 1e6


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"read": 0.1}', None),
        (
            '{"cache_raed": 0.1}',
            "'cache_raed' is not a price; use read, write, ttl_seconds, output",
        ),
        ("read = 2", "`read` must be"),
        ('output = "much"', "`output` must be a price of at least 0, not 'much'"),
        ("{[", "not valid TOML or JSON"),
        ("read", "not valid TOML or JSON"),
    ],
)
def test_prices_file_with_anything_else_is_refused(tmp_path, text, why):
    path = tmp_path / "prices"
    path.write_text(text)
    if why is None:
        assert tariff(str(path)).input == CachePricing()
    else:
        with pytest.raises(ConfigurationError, match=re.escape(why)):
            tariff(str(path))


# Files and options


def test_folder_is_searched_and_unreadable_files_reported(tmp_path):
    deep = tmp_path / "projects" / "-home-me"
    deep.mkdir(parents=True)
    session = {"type": "user", "sessionId": "s", "uuid": "u", "parentUuid": None, "timestamp": "2026-01-01T00:00:00Z"}
    answer = {**session, "type": "assistant", "uuid": "v", "parentUuid": "u"}
    lines: list[dict[str, Any]] = [
        {**session, "message": {"role": "user", "content": "Hello"}},
        {**answer, "message": {"role": "assistant", "content": [{"type": "text", "text": "Hi."}]}},
    ]
    (deep / "session.jsonl").write_text(as_lines(lines))
    codex = [
        {"timestamp": "t", "type": "session_meta", "payload": {"id": "x"}},
        {"timestamp": "t", "type": "response_item", "payload": {"type": "message", "role": "user",
         "content": [{"type": "input_text", "text": "Hello"}]}},
        {"timestamp": "t", "type": "response_item", "payload": {"type": "message", "role": "assistant",
         "content": [{"type": "output_text", "text": "Hi."}]}},
    ]  # fmt: skip
    (tmp_path / "rollout.jsonl").write_text(as_lines(codex))
    (tmp_path / "package.json").write_text('{"name": "none"}')
    (tmp_path / "alone.jsonl").write_text(as_lines([{"role": "user", "content": "Nobody answers."}]))
    (tmp_path / "notes.txt").write_text("not looked at")
    done = compare(tmp_path, "--strategies", "auto", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert sorted(Path(row["name"]).name for row in found["rows"]) == ["rollout.jsonl", "session.jsonl"]
    assert ["package.json" in reason for reason in found["left_out"]] == [True]
    assert "left out: " in done.stderr
    assert "1 conversations without an assistant message" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--budget", "0"), "is not a budget"),
        (("--strategies", "auto,nonsense"), "'nonsense' is not a strategy"),
        (("--strategies", "excerpt+truncate,excerpt + truncate"), "is given twice"),
        (("--prices", "nowhere.toml"), "not the name of known prices"),
        (("--keep", "120%"), "is not a budget"),
        (("--options", "nowhere.toml"), "nowhere.toml: cannot read the options"),
    ],
)
def test_options_that_cannot_be_are_refused(talk, arguments, why):
    done = compare(talk, *arguments)
    assert done.exit_code == 2
    assert why in " ".join(done.stderr.split())


def test_nothing_to_replay_is_an_error(tmp_path):
    (tmp_path / "package.json").write_text("{}")
    done = compare(tmp_path)
    assert done.exit_code == 2
    assert "found no transcript with a request" in done.stderr
    assert compare(tmp_path / "gone").exit_code == 2


def test_hostile_content_does_not_steer_the_terminal(tmp_path):
    nasty = "\x1b]0;title\x07\x1b[2J\u202e"
    path = tmp_path / f"a{nasty.replace('/', '')}[red].jsonl"
    broken = tmp_path / f"b{nasty}.jsonl"
    messages = [{"role": "user", "content": nasty * 900}, {"role": "assistant", "content": nasty}]
    messages[:0] = [{"role": "system", "content": nasty * 900}]  # does not fit: refused
    path.write_text(as_lines(messages))
    broken.write_text(nasty)
    done = compare(tmp_path, "--budget", "100", "--strategies", "auto", "--each")
    assert done.exit_code == 3, done.output
    assert "refused: " in done.stdout
    assert not set(done.output) & set("\x1b\x07\u202e\r")


# Failures


def a_job(path, strategy="auto", budget=2_000):
    return Job(Source(str(path), 0, path.name, 13, 26), strategy, None, budget, TARIFFS["anthropic"])


def test_failure_stands_in_its_row_and_others_go_on(talk):
    rows = [run(a_job(talk)), failed(a_job(talk, "clear"), "ZeroDivisionError: \x1bdivision")]
    text = as_printed(rows, 100)
    assert "failed: " in text
    assert r"ZeroDivisionError: \x1bdivision" in text
    assert exit_code(sums(rows)) == 2
    assert [one.strategy for one in advice(sums(rows))] == ["auto"]


def test_missing_file_or_impossible_message_is_a_row(tmp_path, talk):
    assert "cannot be read" in run(a_job(tmp_path / "gone.jsonl")).failure
    assert "tokens is too small" in run(a_job(talk, budget=0)).failure


def dies(job: Job) -> Row:
    if job.label == "bad":
        os.kill(os.getpid(), signal.SIGKILL)
    return failed(job, f"done by {os.getpid() != job.budget}")


def test_a_process_that_is_killed_takes_no_other_job_with_it(talk):
    jobs = [a_job(talk, "bad" if at == 1 else f"job {at}", os.getpid()) for at in range(4)]
    rows = dict(pools.rows(jobs, 2, dies))
    assert [rows[at].failure for at in range(4)] == [
        "done by True",
        "its process died twice: check for lack of memory",
        "done by True",
        "done by True",
    ]


@pytest.mark.long
def test_processes_give_the_same_figures(tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.jsonl").write_text(as_lines(conversation(8, 300)))
    line = [sys.executable, "-m", "backscroll.cli.main", "compare", str(tmp_path), "--budget", "2k", "--json"]
    done = subprocess.run([*line, "--jobs", "2"], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    alone = shown(tmp_path, "--budget", "2k")
    for one, other in zip(json.loads(done.stdout)["rows"], alone["rows"], strict=True):
        assert {**one, "milliseconds": 0} == {**other, "milliseconds": 0}


def in_group(group):
    """How many processes of a group run; a finished one that nobody asked after is none."""
    states = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, member, *_ = path.read_text().rpartition(")")[2].split()
            states += [state] if int(member) == group else []
    return sum(state != "Z" for state in states)


def until(condition):
    for _ in range(600):
        if condition():
            return True
        time.sleep(0.1)
    return False


@contextlib.contextmanager
def in_front(line):
    """A program as a terminal starts it, in a group of its own; none of the group is left behind. It heeds Ctrl-C also
    where the tests run in the background of a shell, which ignores that for whatever it starts there.
    """
    heed = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", heed, *line], **pipes, start_new_session=True) as begun:
        try:
            yield begun
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(begun.pid, signal.SIGKILL)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system does not list its processes in /proc")
def test_ctrl_c_ends_all_processes_in_one_line(tmp_path):
    (tmp_path / "long.jsonl").write_text(as_lines(conversation(3_000, 300)))
    line = [sys.executable, "-m", "backscroll.cli.main", "compare", str(tmp_path), "--budget", "2k", "--jobs", "2"]
    with in_front(line) as begun:
        assert until(lambda: in_group(begun.pid) >= 4)  # itself, two that replay, and what looks after them
        os.killpg(begun.pid, signal.SIGINT)  # as a terminal does
        said, told = begun.communicate(timeout=60)
        assert (begun.returncode, said, told) == (130, "", "backscroll: interrupted\n")
        assert until(lambda: not in_group(begun.pid))
