"""Running the programs of `programs.py`, and what the environment asks for."""

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
FAULTS = int(os.environ.get("BACKSCROLL_FAULTS", "0"))
"""How many faults of a kind to try; 0 for as many as a short run has time for."""
TORN = range(1, 301) if FAULTS else (*range(1, 9), *range(14, 301, 13))
"""How many of its last bytes a file loses."""
KINDS = ("sqlite", "jsonl")
"""Of stores that keep sessions in files, by the schemes of their addresses."""


def address_of(kind: str, folder: Any, name: str = "a.db", more: str = "") -> str:
    return f"{kind}:///{folder / name}{more}"


def start(program: str, *arguments: Any) -> Any:
    line = [sys.executable, "-W", "error", "-m", "tests.stores.programs", program, *map(str, arguments)]
    return subprocess.Popen(
        line, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run(program: str, *arguments: Any) -> list[Any]:
    """What it told, line by line."""
    process = start(program, *arguments)
    out, err = process.communicate("\n", timeout=60 + FAULTS)
    assert (process.returncode, err) == (0, "")
    return [json.loads(line) for line in out.splitlines()]


def at_once(action: Callable[[Any], object], names: Sequence[Any]) -> Any:
    """Does it for all names in the same moment, each in a thread of its own; what was raised."""
    gate, errors = threading.Barrier(len(names)), []

    def one(name: Any) -> None:
        gate.wait()
        try:
            action(name)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=one, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def other(path: Any) -> sqlite3.Connection:
    """Another program's connection."""
    return sqlite3.connect(path, isolation_level=None, timeout=0.1)


@contextlib.contextmanager
def blocked(path: Any) -> Any:
    """Another program writes, so that nobody else can."""
    with contextlib.closing(other(path)) as connection:
        connection.execute("begin immediate")
        yield
        connection.execute("rollback")
