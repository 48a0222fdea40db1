"""`backscroll demo`: an agent is killed in the middle of its session, which then goes on, over this source tree.

`tests/stores/test_sessions.py` kills a session in the usual run.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from backscroll.cli.demo.agent import opened
from backscroll.cli.demo.crash import DemoFailure, Place, Reported, kill_midway, resume
from backscroll.evaluation.readers import read
from tests.cli.commands import invoke, on_a_terminal

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What `make demo` prints, and where it wrote."""
    folder = tmp_path_factory.mktemp("demo")
    line = [sys.executable, str(ROOT / "examples" / "demo.py"), str(folder)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout, folder


@pytest.fixture(scope="module")
def recorded(demo: tuple[str, Path]) -> Path:
    return demo[1] / "session.jsonl"


def place_in(folder: Path, root: Path) -> Place:
    return Place(root, folder / "session.db", folder / "session.jsonl")


@pytest.mark.long
def test_demo_killed_midway_resumes_with_the_same_view(demo: tuple[str, Path]) -> None:
    printed, folder = demo
    told = int(re.findall(r"SIGKILL, after (?:it had reported )?(\d+)", printed)[-1])
    assert re.search(rf"^3 resume +All {told} messages are there\. .* same, byte for byte:$", printed, re.MULTILINE)
    number = int(re.findall(r"to the end: (\d+)\s+messages", printed)[0])
    assert told < number
    rows = json.loads(invoke("sessions", folder / "session.db", "--json").stdout)["sessions"]
    assert [(row["session"], row["messages"]) for row in rows] == [("demo", number)]
    assert invoke("verify", folder / "session.db").exit_code == 0


@pytest.mark.long
def test_demo_explains_each_step_within_80_columns(demo: tuple[str, Path]) -> None:
    printed, folder = demo
    steps = ["run", "kill", "resume", "turn", "finish", "verify", "replay"]
    assert re.findall(r"^\d (\w+)", printed, re.MULTILINE) == steps
    assert [line for line in printed.replace(str(folder), "build/demo").splitlines() if len(line) > 80] == []


@pytest.mark.long
def test_demo_killed_in_a_turn_sends_what_a_provider_takes(demo: tuple[str, Path]) -> None:
    printed = " ".join(demo[0].split())
    assert re.search(r"an answer and its results: \d calls? (is|are) open \(\w+", printed)
    assert "refuses the history as it is (\"An assistant message with 'tool_calls' must be followed by" in printed


@pytest.mark.long
def test_demo_names_commands_that_work(demo: tuple[str, Path]) -> None:
    printed, folder = demo
    tries = re.findall(r"^  (?:\S+ -m )?backscroll (.+)$", printed, re.MULTILINE)
    assert [line.split()[0] for line in tries] == ["sessions", "show", "search", "inspect", "replay"]
    for line in tries:
        name, *arguments = line.replace('"longest function"', "longest").split()
        more = ["--export", str(folder / "page.html")] if name == "inspect" else []
        done = invoke(name, *arguments, *more)
        assert done.exit_code == 0, done.output


@pytest.mark.long
def test_recorded_session_is_long_and_names_no_local_path(recorded: Path) -> None:
    """The recorded session is long and names no place of this machine."""
    text = recorded.read_text(encoding="utf-8")
    (transcript,) = read(recorded)
    assert len(transcript.messages) >= 150
    assert sum(message["role"] == "user" for message in transcript.messages) >= 10
    assert any(len(message.get("tool_calls", ())) > 1 for message in transcript.messages)
    assert "error: cannot read" in text
    assert "exit code 1" in text
    for place in (str(ROOT), sys.prefix + os.sep):
        assert place not in text


@pytest.mark.long
def test_the_recorded_session_compacts_often_and_stays_valid(recorded: Path) -> None:
    done = invoke("replay", recorded, "--budget", "16k", "--json")
    assert done.exit_code == 0, done.output
    sums = json.loads(done.stdout)["totals"]
    assert 100_000 <= sums["raw_tokens"] <= 150_000
    assert sums["compactions"] >= 5
    assert sums["invalid"] == sums["over_budget"] == sums["refused"] == 0


@pytest.mark.long
def test_demo_as_json_has_the_figures_of_each_step(tmp_path: Path) -> None:
    """Over the package, in a folder whose name an address would have to quote; a second run replaces the first."""
    folder = tmp_path / "50% #1"
    for _ in range(2):
        done = invoke("demo", folder, "--json")
        assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["killed"]["by"] == "SIGKILL"
    assert found["killed"]["messages"] == found["resumed"]["messages"] >= 140
    assert re.fullmatch("[0-9a-f]{64}", found["resumed"]["view_sha256"])
    assert found["resumed"]["view_tokens"] <= 16_000
    assert found["problems"] == []
    assert found["replay"]["invalid"] == found["replay"]["over_budget"] == 0
    assert Path(found["tree"]) == ROOT / "src" / "backscroll"
    assert {path.name for path in folder.iterdir()} >= {"session.db", "session.jsonl", "backscroll-demo.txt"}


@pytest.mark.long
def test_demo_without_a_folder_makes_one_that_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    shown = on_a_terminal("demo")
    assert [line for line in shown.splitlines() if len(re.sub(r"\x1b\[\d*m", "", line)) > 80 and "/" not in line] == []
    (folder,) = tmp_path.glob("backscroll-demo-*")
    assert (folder / "session.jsonl").exists()


def test_demo_leaves_a_folder_with_other_files_alone(tmp_path: Path) -> None:
    (tmp_path / "session.db").write_text("mine")
    done = invoke("demo", tmp_path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"backscroll: FOLDER {tmp_path}: this folder holds other files; pass a new one, or none\n"
    assert [path.name for path in tmp_path.iterdir()] == ["session.db"]


def test_demo_of_a_tree_without_python_says_so(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("nothing here\n" * 100)
    done = invoke("demo", tmp_path / "new", "--root", tmp_path)
    assert done.exit_code == 2
    assert f"--root {tmp_path}: no Python file of more than 400 bytes in this tree" in done.stderr
    assert not (tmp_path / "new").exists()


def test_demo_reports_lost_messages_and_another_view(tmp_path: Path) -> None:
    place = place_in(tmp_path, tmp_path)
    with opened(place.database) as context:
        context.append({"role": "user", "content": "Hello"})
    with pytest.raises(DemoFailure, match="2 of 3 messages are lost"):
        resume(place, Reported(3, "", "SIGKILL"))
    with pytest.raises(DemoFailure, match=r"the next view is not the one of 1234\.\.\."):
        resume(place, Reported(1, "1234", "SIGKILL"))
    assert resume(place, Reported(0, "", "SIGKILL")) is None, "one more was stored than reported"


def test_demo_reports_an_agent_that_was_not_killed(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "notes.md").write_text("nothing here")
    with pytest.raises(DemoFailure, match=r"the agent ended by itself after \d+ messages, with exit code 0"):
        kill_midway(place_in(tmp_path, tree), 1_000)
