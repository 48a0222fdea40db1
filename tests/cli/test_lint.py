"""`backscroll lint` as a user meets it: what it reads and prints, options, exit codes. Rules are tested elsewhere."""

import json
import re
from pathlib import Path

import pytest

from backscroll import ContextManager
from backscroll.cli.lint import NAMES
from tests.cli.commands import as_lines, conversation, invoke, on_a_terminal
from tests.evaluation.lint.agents import anthropic, chat
from tests.evaluation.lint.faults import KEY

LONG = "".join(f"line {number} of a file\n" for number in range(400))


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    path = tmp_path / "clean.jsonl"
    path.write_text(as_lines(conversation()))
    return path


@pytest.fixture
def sent(tmp_path: Path) -> Path:
    """Requests with a secret, and tools that change in every step."""
    bodies = anthropic()
    for at, body in enumerate(bodies):
        body["tools"][0]["description"] += "!" * at
        for message in body["messages"]:
            message["content"] = [block for block in message["content"] if block["type"] != "thinking"]
    bodies[-1]["messages"][0]["content"][0]["text"] += f" The key is {KEY}."
    path = tmp_path / "sent.jsonl"
    path.write_text(as_lines(bodies))
    return path


@pytest.fixture
def repeating(tmp_path: Path) -> Path:
    """A transcript in which every result is the same twice."""
    messages = conversation(16)
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            message["content"] = f"file {at // 4}\n{LONG}"
    path = tmp_path / "repeating.jsonl"
    path.write_text(as_lines(messages))
    return path


def test_lint_of_a_clean_transcript_finds_nothing(clean: Path) -> None:
    done = invoke("lint", clean)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "nothing found in 1 conversation\n", "")


def test_lint_prints_places_costs_advice_and_a_sum(sent: Path) -> None:
    done = invoke("lint", sent)
    assert done.exit_code == 1, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == "error: secrets  1 finding"
    assert lines[1] == f"  {sent}: request 8, messages[0]"
    assert "a GitHub token (ghp_…, 40 characters)" in done.stdout
    assert "warning: tools-changed  1 finding" in lines
    assert f"  {sent}: request 2, tools and 6 more" in lines
    assert re.search(r"tokens a request, [\d,]+ in all; cost [\d,]+ input tokens, \$0\.\d\d", done.stdout)
    assert re.fullmatch(r"1 error, 1 warning in 1 conversation; cost [\d,]+ input tokens, \$0\.\d\d", lines[-1])
    assert KEY not in done.output


def test_lint_as_json_has_every_field(sent: Path) -> None:
    found = json.loads(invoke("lint", sent, "--json", "--price", "10").stdout)
    assert found["counts"] == {"error": 1, "warning": 1, "note": 0}
    assert found["conversations"] == 1
    secret, tools = found["findings"]
    assert (secret["rule"], secret["severity"], secret["request"], secret["tokens"]) == ("secrets", "error", 8, 0)
    assert (tools["place"], tools["request"], tools["count"], tools["name"]) == ("tools", 2, 7, str(sent))
    assert 0 < tools["tokens"] < tools["sent"]
    assert tools["dollars"] == pytest.approx(tools["cost"] * 10 / 1_000_000, abs=1e-4)
    assert set(found["units"]) <= set(tools)
    assert KEY not in json.dumps(found)


@pytest.mark.parametrize(("fail_on", "code"), [("error", 0), ("warning", 1), ("note", 1), ("never", 0)])
def test_lint_fails_on_what_is_severe_enough(sent: Path, fail_on: str, code: int) -> None:
    assert invoke("lint", sent, "--ignore", "secrets", "--fail-on", fail_on).exit_code == code


def test_lint_checks_the_chosen_rules_alone(sent: Path) -> None:
    rules = {
        each["rule"]
        for each in json.loads(invoke("lint", sent, "--rule", "secrets,lookback", "--json").stdout)["findings"]
    }
    assert rules == {"secrets"}
    left = json.loads(invoke("lint", sent, "--ignore", "secrets", "--json").stdout)["findings"]
    assert {each["rule"] for each in left} == {"tools-changed"}


@pytest.mark.parametrize("option", ["--rule", "--ignore"])
def test_lint_refuses_an_unknown_rule(clean: Path, option: str) -> None:
    done = invoke("lint", clean, option, "secrets,nonsense")
    assert done.exit_code == 2
    assert "'nonsense' is not a rule" in done.stderr
    assert NAMES[0] in done.stderr


def test_lint_prints_some_findings_of_a_rule_and_sums_the_rest(repeating: Path) -> None:
    done = invoke("lint", repeating, "--limit", "2")
    assert done.exit_code == 0
    assert "note: repeated-read  7 findings" in done.stdout
    assert done.stdout.count("returned the same") == 2
    assert re.search(r"and 5 more; cost [\d,]+ input tokens\n", done.stdout)


def test_lint_reads_the_requests_of_a_store(tmp_path: Path) -> None:
    for address, place in (("sqlite", "a.db"), ("jsonl", "a")):
        for session in ("one", "two"):
            with ContextManager(session=session, store=f"{address}:///{tmp_path / place}", tokenizer=len) as context:
                context.append(*conversation(4))
                context.get_messages_for_request()
                context.append({"role": "user", "content": f"The key of {session} is {KEY}."})
                context.get_messages_for_request()
        both = json.loads(invoke("lint", tmp_path / place, "--json").stdout)
        assert [(each["name"], each["request"]) for each in both["findings"]] == [("one", 2), ("two", 2)]
        one = json.loads(invoke("lint", tmp_path / place, "--json", "--session", "two").stdout)
        assert [each["name"] for each in one["findings"]] == ["two"]


def test_lint_of_a_session_without_requests_reads_its_history(tmp_path: Path) -> None:
    with ContextManager(session="s", store=f"sqlite:///{tmp_path / 'a.db'}") as context:
        context.append({"role": "user", "content": f"The key is {KEY}."})
    (found,) = json.loads(invoke("lint", tmp_path / "a.db", "--json").stdout)["findings"]
    assert (found["request"], found["place"]) == (None, "messages[0]")


def test_lint_refuses_what_it_cannot_read(clean: Path, tmp_path: Path) -> None:
    (tmp_path / "words.json").write_text('["a", "b"]')
    torn = json.dumps(chat()[0])[:-9]
    (tmp_path / "torn.jsonl").write_text(torn)
    (tmp_path / "odd.json").write_text('{"model": "m", "messages": [{"content": "x"}]}')
    for name, error in (
        ("words.json", "found a text"),
        ("torn.jsonl", "torn"),
        ("odd.json", "with a role"),
        ("no", "no"),
    ):
        done = invoke("lint", tmp_path / name)
        assert (done.exit_code, done.stdout) == (2, ""), done.output
        assert error in done.stderr
        assert done.stderr.count("\n") == 1
    assert invoke("lint", clean, "--session", "s").exit_code == 2


def test_lint_of_a_folder_skips_other_files(clean: Path, sent: Path, tmp_path: Path) -> None:
    (tmp_path / "words.json").write_text('["a", "b"]')
    done = invoke("lint", tmp_path, "--json")
    assert "skipped: " in done.stderr
    found = json.loads(done.stdout)
    assert (found["conversations"], len(found["skipped_files"])) == (2, 1)


def test_lint_reads_standard_input(sent: Path) -> None:
    assert "standard input: request 8" in invoke("lint", "-", given=sent.read_bytes()).stdout


def test_lint_on_a_terminal_wraps_between_words(repeating: Path) -> None:
    shown = re.sub(r"\x1b\[[\d;]*m", "", on_a_terminal("lint", repeating))
    assert max(len(line.rstrip()) for line in shown.splitlines() if "/" not in line) <= 80
    assert "the strategy `deduplicate` replaces" in shown
