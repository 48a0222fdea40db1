"""The command line as a user meets it: exit codes, pipes, folders, bad files. Figures are tested elsewhere."""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import backscroll.cli
from backscroll.cli.commands import MODULES
from backscroll.cli.group import app, parse_budget
from backscroll.cli.main import main
from backscroll.cli.screen import clean, line
from backscroll.compaction.strategies import STRATEGIES
from tests.cli.commands import as_lines, conversation, invoke

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.jsonl"
    path.write_text(as_lines(conversation()))
    return path


@pytest.fixture
def large(tmp_path: Path) -> Path:
    path = tmp_path / "large.jsonl"
    path.write_text(as_lines(conversation(30, 300)))
    return path


# the group


def test_each_command_is_found_in_the_module_that_defines_it() -> None:
    """A start imports no other. Other modules may need an extra that is not installed."""
    folder = Path(backscroll.cli.__path__[0])
    for source in folder.rglob("*.py"):
        if ".command(" in source.read_text():
            import_module(".".join(["backscroll.cli", *source.relative_to(folder).with_suffix("").parts]))
    defined = {name: command.callback.__module__ for name, command in app.commands.items() if command.callback}
    assert {name: f"backscroll.cli.{module}" for name, module in MODULES.items()} == defined


def test_start_imports_only_the_command_that_runs() -> None:
    program = "import sys; from backscroll.cli.main import main; main(['sessions', 'no.db']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {f"backscroll.cli.{module}" for module in MODULES.values()} & set(done.stdout.split())
    assert loaded == {"backscroll.cli.stores.commands"}


# replay


def test_a_replay_prints_a_row_and_the_totals(large: Path) -> None:
    done = invoke("replay", large, "--budget", "4k")
    assert done.exit_code == 0, done.output
    assert "large.jsonl" in done.stdout
    assert "total of 1" in done.stdout
    assert "Mtok-eq" in done.stdout
    assert done.stderr == ""


def test_a_replay_as_json_has_every_figure(large: Path) -> None:
    done = invoke("replay", large, "--budget", "4000", "--json")
    found = json.loads(done.stdout)
    (outcome,) = found["outcomes"]
    assert (outcome["messages"], outcome["requests"], outcome["budget"]) == (63, 31, 4000)
    assert outcome["compactions"] >= 1
    assert outcome["invalid"] == outcome["over_budget"] == outcome["refused"] == 0
    assert 0 < outcome["prefix_kept"] < 1
    assert outcome["cost"] > 0
    assert outcome["cost_whole"] > 0
    assert found["totals"]["tokens_sent"] == outcome["tokens_sent"]
    assert "cost" in found["units"]


def test_a_share_is_a_share_of_each_transcript(small: Path, large: Path) -> None:
    found = json.loads(invoke("replay", small, large, "--budget", "50%", "--json").stdout)
    assert [one["budget"] for one in found["outcomes"]] == [one["raw_tokens"] // 2 for one in found["outcomes"]]


@pytest.mark.parametrize("names", ["auto", *STRATEGIES, ",".join(STRATEGIES)])
def test_strategies_are_chosen_by_name(large: Path, names: str) -> None:
    done = invoke("replay", large, "--budget", "4k", "--strategy", names, "--json")
    assert done.exit_code in (0, 3), done.output
    assert json.loads(done.stdout)["totals"]["invalid"] == 0


def test_several_strategies_are_replayed_side_by_side(small: Path, large: Path) -> None:
    done = invoke("replay", small, large, "--budget", "2k", "--strategy", "auto", "--strategy", "excerpt, truncate")
    assert done.exit_code == 0, done.output
    rows = [[cell.strip() for cell in row.split("│")] for row in done.stdout.splitlines() if row.startswith("│")]
    whole, ranking = rows[:6], rows[6:]
    assert [row[1:3] for row in whole] == [
        ["small.jsonl", "auto"],
        ["", "excerpt,truncate"],
        ["large.jsonl", "auto"],
        ["", "excerpt,truncate"],
        ["total of 2", "auto"],
        ["", "excerpt,truncate"],
    ]
    assert sorted(row[1] for row in ranking) == ["auto", "excerpt,truncate"]
    assert "most far recall, then most recall, then the cheapest" in done.stdout


def test_several_strategies_as_json(small: Path, large: Path) -> None:
    options = ("--budget", "2k", "--json", "--strategy", "truncate", "--strategy", "auto")
    found = json.loads(invoke("replay", small, large, *options).stdout)
    assert [(Path(one["name"]).name, one["strategy"]) for one in found["outcomes"]] == [
        ("small.jsonl", "truncate"),
        ("small.jsonl", "auto"),
        ("large.jsonl", "truncate"),
        ("large.jsonl", "auto"),
    ]
    sums = {one["strategy"]: one for one in found["totals"]}
    assert sums.keys() == {"auto", "truncate"}
    assert sums["auto"]["cost"] == pytest.approx(found["outcomes"][1]["cost"] + found["outcomes"][3]["cost"])
    assert sums["truncate"]["messages"] == 9 + 63
    alone = json.loads(invoke("replay", large, "--budget", "2k", "--json").stdout)
    both = dict(found["outcomes"][3])
    for figures in (both, alone["outcomes"][0]):
        del figures["cpu_seconds"]
    assert alone["outcomes"] == [both]
    assert alone["outcomes"][0]["strategy"] == "auto"


def test_the_worst_strategy_decides_the_exit_code(tmp_path: Path) -> None:
    path = tmp_path / "floor.json"
    path.write_text(json.dumps([{"role": "system", "content": "word " * 500}, *conversation()[1:]]))
    done = invoke("replay", path, "--budget", "100", "--strategy", "excerpt", "--strategy", "truncate")
    assert done.exit_code == 3
    assert f"refused: {path}, excerpt: request 1: " in done.stdout
    assert f"refused: {path}, truncate: request 1: " in done.stdout


def test_the_help_names_every_strategy() -> None:
    shown = " ".join(invoke("replay", "--help").stdout.split())
    assert f"Strategies, separated by commas: auto, {', '.join(STRATEGIES)}. Repeat the option" in shown


def test_standard_input_is_read(small: Path) -> None:
    done = invoke("replay", "-", "--json", given=small.read_bytes())
    assert [one["name"] for one in json.loads(done.stdout)["outcomes"]] == ["standard input"]


def test_refused_requests_have_their_own_exit_code(tmp_path: Path) -> None:
    path = tmp_path / "floor.json"
    path.write_text(json.dumps([{"role": "system", "content": "word " * 500}, *conversation()[1:]]))
    done = invoke("replay", path, "--budget", "100")
    assert done.exit_code == 3
    assert "refused: " in done.stdout


# folders and bad files


def test_a_folder_is_walked_and_what_is_no_transcript_is_listed(tmp_path: Path, small: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "one.traj").write_text(json.dumps({"history": conversation()}))
    (tmp_path / "package.json").write_text('{"name": "x"}')
    (tmp_path / "notes.md").write_text("no")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "two.jsonl").write_text(small.read_text())
    done = invoke("replay", tmp_path, "--json")
    assert done.exit_code == 0
    names = [Path(one["name"]).name for one in json.loads(done.stdout)["outcomes"]]
    assert names == ["small.jsonl", "one.traj"]
    assert done.stderr.count("\n") == 1
    assert "package.json: no conversation" in done.stderr
    assert len(json.loads(done.stdout)["skipped_files"]) == 1


def test_a_folder_without_transcripts_is_bad_input(tmp_path: Path) -> None:
    done = invoke("replay", tmp_path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "no file in this folder holds a transcript" in done.stderr


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "is empty"),
        ('{"role": "user"}\n{"ro', "line 2, column 2: the last line is torn"),
        ("{}", "no conversation"),
    ],
)
def test_a_named_bad_file_ends_it_in_one_line(tmp_path: Path, small: Path, text: str, expected: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(text)
    done = invoke("replay", small, path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"backscroll: {path}: ")
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_missing_file_is_bad_input(tmp_path: Path) -> None:
    done = invoke("replay", tmp_path / "missing.jsonl")
    assert done.exit_code == 2
    assert "No such file" in done.stderr


def test_a_message_that_cannot_be_kept_is_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text(
        '[{"role": "user", "content": ' + "[" * 300 + "]" * 300 + '}, {"role": "assistant", "content": "x"}]'
    )
    done = invoke("replay", path)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"backscroll: {path}: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--budget", "none"], "is not a budget"),
        (["--budget", "0"], "is not a budget"),
        (["--budget", "120%"], "is not a budget"),
        (["--budget", "-5"], "is not a budget"),
        (["--strategy", "magic"], f"is not a strategy; choose from auto, {', '.join(STRATEGIES)}"),
        (["--strategy", "auto,excerpt"], "'auto' (all strategies) alone"),
        (["--strategy", "excerpt,excerpt"], "name each strategy once"),
        (
            ["--strategy", "excerpt, truncate", "--strategy", "clear", "--strategy", "excerpt,truncate"],
            "'excerpt,truncate' is given twice",
        ),
        (["--strategy", "excerpt", "--strategy", "magic"], "'magic' is not a strategy"),
        (["--unknown"], "No such option"),
    ],
)
def test_bad_options_say_what_is_allowed(small: Path, arguments: list[str], expected: str) -> None:
    done = invoke("replay", small, *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert expected in done.stderr


def test_budgets() -> None:
    written = ["32000", "32k", "1.5m", "32_000", "50%", "100%", "12.5%", "0.5k"]
    assert [parse_budget(None, None, text) for text in written] == [
        32000,
        32000,
        1_500_000,
        32000,
        0.5,
        1.0,
        0.125,
        500,
    ]


# view


def test_a_view_shows_the_request_of_a_step(small: Path) -> None:
    done = invoke("view", small, "--at", "2")
    assert done.exit_code == 0, done.output
    assert "[1] system" in done.stdout
    assert "-> look c0" in done.stdout
    assert "<- c0" in done.stdout
    assert "result 0" in done.stdout
    assert "result 1" not in done.stdout
    assert "request before assistant message 2: 4 of 4 messages" in done.stdout


def test_a_view_as_json_is_the_request(small: Path) -> None:
    found = json.loads(invoke("view", small, "--at", "2", "--json", "--explain").stdout)
    assert found["messages"] == conversation()[:4]
    assert [item["seq"] for item in found["explain"]] == [0, 1, 2, 3]
    assert 0 < found["tokens"] <= found["budget"] == 32000


def test_a_view_explains_what_became_of_each_message(large: Path) -> None:
    done = invoke("view", large, "--at", "31", "--budget", "4k", "--explain")
    assert done.exit_code == 0, done.output
    for header in ("seq", "role", "state", "reason", "tokens", "ref"):
        assert header in done.stdout
    assert "[ref:2]" in done.stdout
    assert "whole" in done.stdout


@pytest.mark.parametrize(
    ("messages", "at", "expected"),
    [
        (conversation(), "5", "there are only 4 assistant messages"),
        ([{"role": "assistant", "content": "Hello."}], "1", "there is no message before it"),
    ],
)
def test_a_step_that_is_not_there_is_bad_input(tmp_path: Path, messages: list[Any], at: str, expected: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(as_lines(messages))
    done = invoke("view", path, "--at", at)
    assert done.exit_code == 2
    assert expected in done.stderr


def test_a_view_is_made_by_one_chain(large: Path) -> None:
    options = ("view", large, "--at", "31", "--budget", "4k", "--explain", "--json")
    done = invoke(*options, "--strategy", "excerpt", "--strategy", "truncate")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "a view uses one chain, not 2; pass the option once" in done.stderr
    done = invoke(*options, "--strategy", "truncate")
    assert done.exit_code == 0, done.output
    assert {item["state"] for item in json.loads(done.stdout)["explain"]} == {"whole", "left out"}


def test_one_of_several_conversations_must_be_chosen(tmp_path: Path) -> None:
    path = tmp_path / "two.json"
    path.write_text(json.dumps([{"messages": conversation(1)}, {"messages": conversation(2)}]))
    assert "choose one with --transcript K" in invoke("view", path, "--at", "1").stderr
    assert "it holds only 2" in invoke("view", path, "--at", "1", "--transcript", "3").stderr
    done = invoke("view", path, "--at", "3", "--transcript", "2")
    assert done.exit_code == 0
    assert "result 1" in done.stdout


def test_a_refused_view_says_why(tmp_path: Path) -> None:
    path = tmp_path / "floor.jsonl"
    path.write_text(as_lines([{"role": "system", "content": "word " * 500}, *conversation()[1:]]))
    done = invoke("view", path, "--at", "1", "--budget", "100")
    assert done.exit_code == 3
    assert "request refused" in done.stderr


# what reaches the terminal


def test_control_characters_never_reach_the_terminal(tmp_path: Path) -> None:
    nasty = "a\x1b]0;title\x07b\x1b[2J\x9b31m\r\u202ec\x00\ud83d"
    path = tmp_path / "nasty.jsonl"
    path.write_text(as_lines([{"role": "user", "content": nasty}, {"role": "assistant", "content": f"x{nasty}"}]))
    done = invoke("view", path, "--at", "1")
    assert done.exit_code == 0, done.output
    assert not set(done.stdout) & set("\x1b\x07\x9b\x00\r\u202e")
    assert r"\x1b]0;title\x07" in done.stdout
    assert "\ufffd" in done.stdout  # a view heals half characters
    assert clean("\ud83d") == r"\ud83d"
    assert clean("line\r\nline\ttab é 漢 👩‍👩‍👧") == "line\nline\ttab é 漢 👩‍👩‍👧"
    assert line("two\nlines") == "two\\nlines"


def run(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, *(str(argument) for argument in arguments)]
    return subprocess.run(command, env=environment, capture_output=True, timeout=300, check=False, **options)


def test_a_reader_that_goes_away_ends_the_output_quietly(large: Path) -> None:
    program = f"{sys.executable} -m backscroll.cli.main view {large} --at 31 --budget 100k; echo $? >&2"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        ["sh", "-c", f"({program}) | head -n 1"], env=environment, capture_output=True, timeout=60, check=False
    )
    assert done.stdout.startswith(b"[1] system")
    assert done.stderr == b"0\n"


def test_an_encoding_that_lacks_a_character_gets_its_escape(tmp_path: Path) -> None:
    path = tmp_path / "wide.jsonl"
    path.write_text(as_lines([{"role": "user", "content": "漢"}, {"role": "assistant", "content": "x"}]))
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "backscroll.cli.main", "view", str(path), "--at", "1"]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert rb"\u6f22" in done.stdout


# the entry point


def test_the_entry_point_returns_exit_codes(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(small), "--budget", "32k"]) == 0
    assert main(["replay", str(small), "--budget", "?"]) == 2
    assert main(["replay", "no-such-file"]) == 2
    assert main(["view", str(small), "--at", "99"]) == 2
    assert main(["--help"]) == 0
    capsys.readouterr()
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("backscroll, version ")


def test_without_the_extra_one_line_says_what_to_install() -> None:
    # -S leaves out installed packages, so click and rich are really missing
    done = run("-S", "-c", "import sys; from backscroll.cli.main import main; sys.exit(main(['replay', 'x']))")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().strip().endswith("run: pip install 'backscroll[cli]'")
    assert done.stderr.count(b"\n") == 1
