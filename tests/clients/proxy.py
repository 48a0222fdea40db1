"""`backscroll serve` as a process of its own, which can be killed and begun again at the same address."""

import os
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import NamedTuple

_DID = slice(9, 23)
"""The columns of a line that say what was done with a request."""


class Outcome(NamedTuple):
    """What the proxy printed of a request."""

    did: str
    model: str
    notes: str


class Proxy:
    """The process.

    Args:
        provider: The address of all providers.
        folder: Where its store and its log are.
        budget: Input tokens of a request.
    """

    def __init__(self, provider: str, folder: Path, budget: int) -> None:
        self.store, self._log = folder / "agent.db", folder / "proxy.log"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        upstreams = ["--anthropic-upstream", provider, "--openai-upstream", provider]
        self._command = [sys.executable, "-m", "backscroll.cli.main", "serve", "--store", str(self.store)]
        self._command += ["--port", str(port), "--budget", str(budget), *upstreams]
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """Start it, and wait until it listens."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdout=log, stderr=log, env={**os.environ, "COLUMNS": "500", "PYTHONUNBUFFERED": "1"}
            )
        for _ in range(1_200):
            if self._process.poll() is not None:
                raise RuntimeError(f"the proxy ended: {self._log.read_text()}")
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", int(self.url.rpartition(":")[2]))) == 0:
                    return
            threading.Event().wait(0.05)
        raise RuntimeError("the proxy does not listen")

    def kill(self) -> None:
        """Kill it, as `kill -9` does."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def outcomes(self) -> list[Outcome]:
        """What it printed of each request, over all its lives."""
        found: list[Outcome] = []
        for line in self._log.read_text(encoding="utf-8").splitlines():
            if re.match(r"\d\d:\d\d:\d\d ", line):
                found.append(Outcome(line[_DID].strip(), line.split()[-1], ""))
            elif found and line.startswith("         "):
                found[-1] = found[-1]._replace(notes=f"{found[-1].notes} {line.strip()}".strip())
        return found
