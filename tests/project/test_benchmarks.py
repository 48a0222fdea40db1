"""The benchmark beside peers measures what it says, with the peers that need no package of their own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    place = tmp_path_factory.mktemp("bench")
    asked = ["--only", "ours,contract,ours-full", "--lengths", "60", "--repeat", "2", "--steps", "30"]
    sizes = ["--tokens", "12000", "--budget", "6000", "--budgets", "8000", "--place", str(place)]
    command = [sys.executable, "-W", "error", str(BENCHMARKS / "side_by_side.py"), *asked, *sizes]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads((place / "results.json").read_text("utf-8"))["rows"], done.stdout


def rows(run, measure, peer):
    return [row for row in run[0] if (row["measure"], row["peer"]) == (measure, peer)]


@pytest.mark.long
def test_everybody_has_as_many_turns(run):
    for peer in ("ours", "contract"):
        assert [(row["length"], row["repeat"], row["steps"]) for row in rows(run, "steps", peer)] == [
            (60, 0, 30),
            (60, 1, 30),
        ]


def table_of(name, tmp_path, *arguments):
    """The table of a benchmark about one made-up chat, as its cells."""
    folder = tmp_path / "tau"
    folder.mkdir()
    turns = [{"role": ("user", "assistant")[n % 2], "content": f"We say {n}. " * 9} for n in range(40)]
    (folder / "norm.jsonl").write_text(json.dumps({"messages": turns}), "utf-8")
    asked = ["--sessions", "chat", "--transcripts", str(tmp_path), *arguments]
    command = [sys.executable, "-W", "error", str(BENCHMARKS / name), *asked]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()[2:]]


@pytest.mark.long
def test_memory_is_compared_with_the_text(tmp_path):
    rows = table_of("memory.py", tmp_path, "--lengths", "400,1200", "--budget", "1000")
    assert [row[:3] for row in rows] == [["chat", "401", "0.0 MB"], ["chat", "1,201", "0.1 MB"]]
    assert all(float(row[4]) > 0 for row in rows)
    assert rows[0][5] == "-"
    assert float(rows[1][5]) > 0


@pytest.mark.long
def test_our_steps_have_a_floor_to_compare_with(tmp_path):
    sizes = ["--budgets", "1000", "--repeat", "1", "--length", "40", "--steps", "30"]
    rows = table_of("step_floor.py", tmp_path, *sizes)
    assert [row[:3] for row in rows] == [["chat", "1,000", "memory"], ["chat", "1,000", "sqlite"]]
    for row in rows:
        assert all(float(cell.split()[0]) > 0 for cell in row[4:7])


@pytest.mark.long
def test_the_server_of_mcp_is_measured_over_each_store():
    asked = ["--sessions", "6", "--messages", "500"]
    command = [sys.executable, "-W", "error", str(BENCHMARKS / "mcp_server.py"), *asked]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    assert [row[0] for row in rows] == ["sqlite", "encrypted", "jsonl"]
    for row in rows:
        assert row[1] == "6"
        assert float(row[2]) > 1, "read at first"
        assert float(row[4]) == 0, "read again"
        assert all(float(cell) > 0 for cell in row[6:10])


@pytest.mark.long
def test_huge_additions_have_a_floor_to_compare_with():
    asked = ["--kinds", "log", "--stores", "sqlite", "--scale", "0.02", "--repeat", "1"]
    command = [sys.executable, "-W", "error", str(BENCHMARKS / "stalls.py"), *asked]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()[2:]]
    assert [row[1:3] for row in rows] == [["32,000", "sqlite"]]
    for row in rows:
        assert all(float(cell.split()[0]) > 0 for cell in row[3:])


def adapters_measured(*arguments):
    """The table of the adapters' benchmark at small sizes, as its cells."""
    asked = ["--lengths", "60,240", "--budget", "4000", "--steps", "6", "--repeat", "1", *arguments]
    command = [sys.executable, "-W", "error", str(BENCHMARKS / "frameworks.py"), *asked]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()]


@pytest.mark.long
def test_each_adapter_is_measured_at_both_lengths():
    head, _, *rows = adapters_measured()
    assert head[:4] == ["adapter", "a step, 60", "a step, 240", "ratio"]
    assert len(rows) >= 7
    for name, *cells in rows:
        measured = [float(cell.split()[0]) for cell in cells if cell != "-"]
        assert all(figure > 0 for figure in measured)
        assert len(measured) == (8 if name.startswith(("LiteLLM", "clients")) else 10)


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="reads the CPU of a process from /proc")
def test_proxy_is_measured_until_the_first_byte():
    asked = ["--sizes", "30000", "--steps", "10", "--repeat", "1"]
    command = [sys.executable, "-W", "error", str(BENCHMARKS / "proxy.py"), *asked]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    [[size, *cells]] = [line.strip("| ").split(" | ") for line in done.stdout.splitlines()[2:]]
    assert size == "30,000"
    assert all(float(cell.split()[0]) > 0 for cell in cells)


@pytest.mark.long
def test_what_is_kept_is_come_back_to(run):
    assert [row["steps"] for row in rows(run, "append", "ours-full")] == [40, 40]  # in turns of 20
    assert all(0 < row["shown"] <= 60 for row in rows(run, "resume", "ours-full"))


@pytest.mark.long
def test_invalid_view_or_lost_task_is_counted(run):
    """A view that could not be sent or lost its task is counted."""
    [ours], [contract] = rows(run, "cost", "ours"), rows(run, "cost", "contract")
    assert ours["requests"] == contract["requests"] > 10
    assert (ours["over"], ours["broken"], ours["lost"], ours["refused"]) == (0, 0, 0, 0)
    assert contract["lost"] > 0


@pytest.mark.long
def test_tables_show_which_peers_were_measured_and_how(run):
    text = run[1]
    assert "| Backscroll | everything, memory |" in text
    assert "| Amplifier, contract's example | amplifier-core 2" in text
    assert "LangChain" not in text
