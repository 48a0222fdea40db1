"""The clients: how each is installed, and the commands that begin, resume and compact a conversation."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tests.clients.page import lines_for
from tests.clients.proxy import Proxy

HERE = Path(__file__).resolve().parent
INSTALLED = HERE.parents[1] / "build/clients/node_modules/.bin"
PACKAGES: dict[str, str] = json.loads((HERE / "package.json").read_text(encoding="utf-8"))["dependencies"]
"""The version of each package."""
_SECONDS = 900
"""For one command: a run of 60 steps takes one to three minutes on two busy cores. Longer is a client that hangs."""
_NO_NETWORK = "http://127.0.0.1:9"
"""Nothing listens here: what goes to other machines ends at once."""
_MCP = ("-m", "backscroll.cli.main", "mcp")


def _own() -> dict[str, str]:
    """What a program of this project needs of the environment."""
    return {"PYTHONPATH": os.environ.get("PYTHONPATH", ""), "PATH": os.environ["PATH"]}


class CommandLine(NamedTuple):
    """A client."""

    name: str
    """As the page writes it."""
    package: str
    program: str
    run: tuple[str, ...]
    """Arguments before the prompt."""
    resume: tuple[str, ...]
    compact: tuple[str, ...] = ()
    """All arguments of the command for the client's own compaction. Empty: it has none without a terminal."""
    settings: tuple[tuple[str, str], ...] = ()
    """Files of the home from then on, by which a client without such a command compacts at 25,000 tokens."""
    flags: tuple[str, ...] = ()
    """Arguments of the same effect."""
    variables: tuple[tuple[str, str], ...] = ()
    """No telemetry, no updates, and a key."""
    files: tuple[tuple[str, str], ...] = ()
    """Of the home."""
    loads_tools: bool = False
    """Whether it loads tools of a server of tools on demand."""
    is_offline: bool = True
    """Whether other machines are kept from it; a client that takes a proxy for this machine too cannot do without."""


_CLAUDE = ("--mcp-config", "~/mcp.json", "--strict-mcp-config", "--permission-mode", "acceptEdits", "--allowedTools",
           "Bash,Edit,Read,Grep,Agent,Task,ToolSearch,mcp__backscroll__search")  # fmt: skip  # one thought
_CODEX = ("exec", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check")
_OPENCODE = ("run", "-m", "openai/gpt-5")
_PI = ("--model", "backscroll/gpt-5", "-p")
_LIMITS = {"context": 33_000, "input": 33_000, "output": 8_000}
_SMALL = {
    "provider": {"openai": {"models": {"gpt-5": {"limit": _LIMITS}}}},
    "compaction": {"auto": True, "reserved": 8_000},
}
_SOON = {"compaction": {"enabled": True, "reserveTokens": 375_000, "keepRecentTokens": 5_000}}
_QUIET = {"privacy": {"usageStatisticsEnabled": False}, "general": {"disableAutoUpdate": True}}
CLIENTS = (
    CommandLine(
        "Claude Code", "@anthropic-ai/claude-code", "claude", run=(*_CLAUDE, "-p"),
        resume=(*_CLAUDE, "--continue", "-p"), compact=(*_CLAUDE, "--continue", "-p", "/compact"),
        loads_tools=True,
        variables=(("ANTHROPIC_API_KEY", "sk-ant-fake"), ("DISABLE_AUTOUPDATER", "1"), ("DISABLE_TELEMETRY", "1"),
                   ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"), ("IS_SANDBOX", "1")),
    ),
    CommandLine(
        "Codex", "@openai/codex", "codex", run=_CODEX, resume=(*_CODEX, "resume", "--last"),
        flags=("-c", "model_auto_compact_token_limit=25000"), variables=(("OPENAI_API_KEY", "sk-fake"),),
    ),
    CommandLine(
        "OpenCode", "opencode-ai", "opencode", run=_OPENCODE, resume=(*_OPENCODE, "--continue"),
        settings=((".config/opencode/opencode.json", json.dumps(_SMALL)),),
        variables=(("OPENAI_API_KEY", "sk-fake"), ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
                   ("OPENCODE_DISABLE_MODELS_FETCH", "1"), ("OPENCODE_PERMISSION", '{"*": "allow"}')),
    ),
    CommandLine(
        "Qwen Code", "@qwen-code/qwen-code", "qwen", run=("--yolo", "-p"), resume=("--yolo", "--continue", "-p"),
        compact=("--continue", "-p", "/compress"), variables=(("OPENAI_API_KEY", "sk-fake"),),
        files=((".qwen/settings.json", json.dumps(_QUIET)),), is_offline=False,
    ),
    CommandLine(
        "pi", "@mariozechner/pi-coding-agent", "pi", run=_PI, resume=("--continue", *_PI),
        settings=((".pi/agent/settings.json", json.dumps(_SOON)),),
        variables=(("OPENAI_API_KEY", "sk-fake"), ("PI_SKIP_VERSION_CHECK", "1"), ("PI_OFFLINE", "1")),
    ),
    CommandLine(
        "Copilot CLI", "@github/copilot", "copilot", run=("--allow-all-tools", "-p"),
        resume=("--allow-all-tools", "--continue", "-p"), compact=("--continue", "-p", "/compact"),
        variables=(("COPILOT_AUTO_UPDATE", "false"), ("OPENAI_API_KEY", "sk-fake")),
    ),
)  # fmt: skip  # a client a paragraph


class Installed:
    """A client with a home of its own, pointed at a proxy as the page says.

    Args:
        client: The client.
        home: Its home; made.
        repository: Where it works.
        proxy: The proxy.
    """

    def __init__(self, client: CommandLine, home: Path, repository: Path, proxy: Proxy) -> None:
        self.client, self._home, self._repository = client, home, repository
        lines = lines_for(client.name, proxy.url)
        home.mkdir(exist_ok=True)
        servers = {"backscroll": {"command": sys.executable, "args": [*_MCP, str(proxy.store)], "env": _own()}}
        (home / "mcp.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
        self._write([*client.files, *lines.files.items()])
        self._environment = {
            "PATH": os.environ["PATH"], "HOME": str(home), "TERM": "dumb", "LANG": "C.UTF-8", "CI": "1",
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost", **dict(client.variables), **lines.variables,
        }  # fmt: skip  # one thought
        if client.is_offline:
            self._environment |= {"HTTPS_PROXY": _NO_NETWORK, "https_proxy": _NO_NETWORK}

    def _write(self, files: Iterable[tuple[str, str]]) -> None:
        for place, text in files:
            (self._home / place).parent.mkdir(parents=True, exist_ok=True)
            (self._home / place).write_text(text, encoding="utf-8")

    def compact(self, prompt: str) -> None:
        """Let the client compact by itself: at a command, or in the middle of another prompt."""
        if self.client.compact:
            self.command(*self.client.compact)
        self._write(self.client.settings)
        self.command(*self.client.flags, *self.client.resume, prompt)

    def command(self, *arguments: str) -> str:
        """Run the client and return what it prints.

        Raises:
            AssertionError: It failed.
        """
        program = str(INSTALLED / self.client.program)
        given = [each.replace("~", str(self._home)) if each.startswith("~/") else each for each in arguments]
        with subprocess.Popen(
            ["nice", program, *given], cwd=self._repository, env=self._environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        ) as process:  # fmt: skip  # one thought
            try:
                printed, _ = process.communicate(timeout=_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                printed, _ = process.communicate()
                raise AssertionError(f"{self.client.name} hangs: {printed[-2_000:]}") from None
        assert process.returncode == 0, f"{self.client.name} {arguments}: {printed[-2_000:]}"
        return printed
