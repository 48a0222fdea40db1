"""The command `backscroll mcp`: its options, and the server over the standard input and output of a process."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from backscroll.stores.options import StorageOptions
from backscroll.stores.sqlite import SqliteStore
from backscroll.stores.wrappers import layered
from tests.cli.commands import invoke
from tests.integrations.mcp.asking import stored, user
from tests.integrations.mcp.logs import said, write
from tests.present import present

SOURCE = Path(__file__).resolve().parents[3] / "src"


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["missing.db"], "does not exist"),
        (["agent.db", "--import", "emacs"], "'emacs' is not a client; choose from claude-code, codex"),
        (["agent.db", "--project", "x", "--all"], "exclude each other"),
        (["agent.db", "--folder", "/missing"], "/missing: no such folder"),
        (["agent.db", "--import", "codex", "--redact-pattern", ""], "an empty expression takes out nothing"),
        (["agent.db", "--page-tokens", "10"], "10 is not in the range x>=1000"),
    ],
)
def test_what_cannot_be_served_is_said_in_one_line(tmp_path, arguments, what):
    found = invoke("mcp", str(tmp_path / arguments[0]), *arguments[1:])
    assert found.exit_code == 2
    assert what in found.stderr
    assert found.stdout == ""


def test_an_import_without_the_key_of_the_store_is_refused(tmp_path):
    """It would store plain text, which no server with the key could read."""
    place = tmp_path / "agent.db"
    sealed = present(layered(SqliteStore(place), StorageOptions(encryption_key=bytes(32))))
    stored(sealed, "secret", user("words"))
    sealed.close()
    found = invoke("mcp", str(place), "--import", "codex")
    assert found.exit_code == 2
    assert "is encrypted" in found.stderr
    assert "BACKSCROLL_ENCRYPTION_KEY" in found.stderr


def asked(arguments, folder, calls, environment=None):
    """Answers of a process to calls, and what it printed to standard error."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), **(environment or {})}
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "backscroll.cli.main", "mcp", *arguments], env=environment, cwd=folder
    )

    async def run(errors):
        async with Client(stdio_client(parameters, errlog=errors)) as client:
            found: list[Any] = [await client.call_tool(tool, given) for tool, given in calls]
            return [(each.content[0].text, each.is_error) for each in found]

    with open(folder / "errors", "w", encoding="utf-8") as errors:
        answers = asyncio.run(run(errors))
    return answers, (folder / "errors").read_text(encoding="utf-8")


@pytest.mark.long
def test_a_process_answers_over_standard_input_and_output(tmp_path):
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    write(home / ".claude/projects/p/old.jsonl", said("user", "needle of the project", project=str(project)))
    write(home / ".claude/projects/p/away.jsonl", said("user", "needle elsewhere", project="/elsewhere"))
    now = said("user", "needle of the running session", project=str(project), time="2026-05-01T00:00:00Z")
    write(home / ".claude/projects/p/now.jsonl", now)
    stored(SqliteStore(tmp_path / "agent.db"), "agent", user("needle of an agent"))
    calls = [("search", {"query": "needle"}), ("sessions", {}), ("read", {"session": "nobody"})]
    environment = {"HOME": str(home)}
    answers, errors = asked([str(tmp_path / "agent.db"), "--import", "claude-code"], project, calls, environment)
    (found, _), (listed, _), (missing, failed) = answers
    assert "needle of the project" in found
    assert "needle of an agent" in found
    assert "elsewhere" not in found + listed
    assert "running" not in found
    assert "'claude-code/now'" in listed
    assert failed
    assert "there is no session 'nobody'" in missing
    assert errors == ""
    assert sorted(path.name for path in home.rglob("*.jsonl")) == ["away.jsonl", "now.jsonl", "old.jsonl"]


@pytest.mark.long
def test_a_process_shows_all_projects_on_demand(tmp_path):
    write(tmp_path / "logs" / "a.jsonl", said("user", "needle elsewhere", project="/elsewhere"))
    arguments = [str(tmp_path / "new.db"), "--folder", str(tmp_path / "logs"), "--all", "--include-current"]
    answers, _ = asked(arguments, tmp_path, [("search", {"query": "needle"})])
    assert "needle elsewhere" in answers[0][0]
