"""The clients: how each is installed, and the commands that begin, resume and compact a conversation."""

import json
import os
import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.clients.page import lines_for

HERE = Path(__file__).resolve().parent
INSTALLED = HERE.parents[1] / "build/clients/node_modules/.bin"
PACKAGES: dict[str, str] = json.loads((HERE / "package.json").read_text(encoding="utf-8"))["dependencies"]
"""The version of each package."""
_SECONDS = 900
"""For one command: a run of 60 steps takes one to three minutes on two busy cores. Longer is a client that hangs."""
_NO_NETWORK = "http://127.0.0.1:9"
"""Nothing listens here: what goes to other machines ends at once."""


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
    """All arguments of the client's own compaction. Empty: the client has none without a terminal."""
    has_subagents: bool = True
    compacts: str = ""
    """What makes the client compact where no command does: variables, as `NAME=VALUE`."""
    variables: tuple[tuple[str, str], ...] = ()
    """No telemetry, no updates, and a key."""
    files: tuple[tuple[str, str], ...] = ()
    """Of the home."""


_CODEX = ("exec", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check")
CLIENTS = (
    CommandLine(
        "Claude Code", "@anthropic-ai/claude-code", "claude",
        run=("--permission-mode", "acceptEdits", "--allowedTools", "Bash,Edit,Read,Grep,Agent,Task", "-p"),
        resume=("--permission-mode", "acceptEdits", "--allowedTools", "Bash,Edit,Read,Grep,Agent,Task", "--continue",
                "-p"),
        compact=("--continue", "-p", "/compact"),
        variables=(("ANTHROPIC_API_KEY", "sk-ant-fake"), ("DISABLE_AUTOUPDATER", "1"), ("DISABLE_TELEMETRY", "1"),
                   ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")),
    ),
    CommandLine(
        "Codex", "@openai/codex", "codex", run=_CODEX, resume=(*_CODEX, "resume", "--last"),
        variables=(("OPENAI_API_KEY", "sk-fake"),),
    ),
    CommandLine(
        "OpenCode", "opencode-ai", "opencode", run=("run", "-m", "openai/gpt-5"),
        resume=("run", "-m", "openai/gpt-5", "--continue"),
        variables=(("OPENAI_API_KEY", "sk-fake"), ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
                   ("OPENCODE_DISABLE_MODELS_FETCH", "1"), ("OPENCODE_PERMISSION", '{"*": "allow"}')),
    ),
    CommandLine(
        "Qwen Code", "@qwen-code/qwen-code", "qwen", run=("--yolo", "-p"), resume=("--yolo", "--continue", "-p"),
        compact=("--continue", "-p", "/compress"),
        variables=(("OPENAI_API_KEY", "sk-fake"), ("OPENAI_MODEL", "gpt-5")),
    ),
    CommandLine(
        "pi", "@mariozechner/pi-coding-agent", "pi", run=("-p",), resume=("--continue", "-p"), has_subagents=False,
        variables=(("PI_SKIP_VERSION_CHECK", "1"), ("PI_OFFLINE", "1"), ("PI_TELEMETRY", "0")),
    ),
    CommandLine(
        "Copilot CLI", "@github/copilot", "copilot", run=("--allow-all-tools", "-p"),
        resume=("--allow-all-tools", "--continue", "-p"),
        variables=(("COPILOT_AUTO_UPDATE", "false"),),
    ),
)  # fmt: skip  # a client a paragraph


class Installed:
    """A client with a home of its own, pointed at a proxy as the page says.

    Args:
        client: The client.
        home: Its home; made.
        repository: Where it works.
        address: Of the proxy.
    """

    def __init__(self, client: CommandLine, home: Path, repository: Path, address: str) -> None:
        self.client, self._repository = client, repository
        lines = lines_for(client.name, address)
        for place, text in [*client.files, *lines.files.items()]:
            (home / place).parent.mkdir(parents=True, exist_ok=True)
            (home / place).write_text(text, encoding="utf-8")
        home.mkdir(exist_ok=True)
        self._environment = {
            "PATH": os.environ["PATH"], "HOME": str(home), "TERM": "dumb", "LANG": "C.UTF-8", "CI": "1",
            "HTTPS_PROXY": _NO_NETWORK, "https_proxy": _NO_NETWORK, "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost", **dict(client.variables), **lines.variables,
        }  # fmt: skip  # one thought
        self.printed: list[str] = []

    def command(self, *arguments: str) -> str:
        """Run the client and return what it prints.

        Raises:
            AssertionError: It failed.
        """
        program = str(INSTALLED / self.client.program)
        with subprocess.Popen(
            ["nice", program, *arguments], cwd=self._repository, env=self._environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        ) as process:  # fmt: skip  # one thought
            try:
                printed, _ = process.communicate(timeout=_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                printed, _ = process.communicate()
                raise AssertionError(f"{self.client.name} hangs: {printed[-2_000:]}") from None
        self.printed.append(printed)
        assert process.returncode == 0, f"{self.client.name} {arguments}: {printed[-2_000:]}"
        return printed
