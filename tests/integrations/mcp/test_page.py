"""What docs/guides/mcp.md says is what the command and the tools take."""

import json
import re
import shlex
import tomllib

from backscroll.cli.mcp.command import mcp_command
from backscroll.integrations.mcp.tools import DEFINITIONS
from tests.project.pages import ROOT, blocks

PAGE = ROOT / "docs/guides/mcp.md"


def accepts(arguments):
    """Whether the command takes these arguments, whose first is its name."""
    assert arguments[0] == "mcp"
    with mcp_command.make_context("mcp", list(arguments[1:])) as context:
        return context.params["clients"]


def test_each_line_of_configuration_is_taken_by_the_command():
    shells = [code for _, code in blocks(PAGE, "bash")]
    words = shlex.split(next(code for code in shells if code.startswith("claude")))
    assert words[:4] == ["claude", "mcp", "add", "backscroll"]
    assert words[4:6] == ["--", "backscroll"]
    assert accepts(words[6:]) == ["claude-code"]
    ((_, toml),) = blocks(PAGE, "toml")
    codex = tomllib.loads(toml)["mcp_servers"]["backscroll"]
    ((_, cursor),) = blocks(PAGE, "json")
    others = json.loads(cursor)["mcpServers"]["backscroll"]
    assert {codex["command"], others["command"]} == {"backscroll"}
    assert accepts(codex["args"]) == ["codex"]
    assert accepts(others["args"]) == ["claude-code", "codex"]


def rows(heading):
    section = PAGE.read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return [line.split(" | ") for line in section.splitlines() if line.startswith("| `")]


def test_the_page_names_every_tool_and_argument():
    listed = {row[0].strip("|` "): re.findall(r"`([a-z]+)`", row[1]) for row in rows("Tools")}
    assert listed == {name: list(schema["properties"]) for name, (_, schema) in DEFINITIONS.items()}


def test_the_page_names_every_option():
    listed = {name for row in rows("Options") for name in re.findall(r"`(--[a-z-]+)", row[0])}
    taken = {name for each in mcp_command.params for name in [*each.opts, *each.secondary_opts] if name[:2] == "--"}
    assert listed == taken
