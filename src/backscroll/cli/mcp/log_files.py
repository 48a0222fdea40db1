"""Find the logs of Claude Code and Codex on this machine. They are only ever read."""

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

CLIENTS = ("claude-code", "codex")
_ROLLOUT = re.compile(r"rollout-.*?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
_SUBAGENTS = "subagents"
_LONGEST = 255  # bytes of a session's name


class LogFile(NamedTuple):
    """A log as it is now."""

    client: str
    path: str
    size: int
    mtime: int
    """Nanoseconds since 1970."""

    @property
    def session(self) -> str:
        """The name of the session to which it is imported. A sub-agent's begins with that of its parent."""
        return _session_of(self.client, self.path)


@lru_cache(maxsize=100_000)
def _session_of(client: str, place: str) -> str:
    path = Path(place)
    if client == "codex":
        found = _ROLLOUT.fullmatch(path.stem)
        return _named(f"codex/{found[1] if found else path.stem}", place)
    below = f"{path.parent.parent.name}/" if path.parent.name == _SUBAGENTS else ""
    return _named(f"claude-code/{below}{path.stem}", place)


def homes(clients: Sequence[str], environment: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return each client with the folder of its logs."""
    home = environment.get("HOME") or os.path.expanduser("~")
    folders = {
        "claude-code": os.path.join(environment.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude"), "projects"),
        "codex": os.path.join(environment.get("CODEX_HOME") or os.path.join(home, ".codex"), "sessions"),
    }
    return [(client, folders[client]) for client in clients]


def log_files(places: Sequence[tuple[str, str]]) -> list[LogFile]:
    """Return all logs below these folders, the newest first. A client that is empty is known by the file's name.

    Of logs with one name, such as copies in a backup, the largest is returned: they are one session, and in turns each
    would undo what the other added.
    """
    found: dict[str, LogFile] = {}
    for file in (file for client, folder in places for file in _below(client, folder)):
        other = found.setdefault(file.session, file)
        if (file.size, file.mtime, file.path) > (other.size, other.mtime, other.path):
            found[file.session] = file
    return sorted(found.values(), key=lambda file: (-file.mtime, file.path))


def _below(client: str, folder: str) -> Iterator[LogFile]:
    for where, _, names in os.walk(folder):
        for name in names:
            if not name.endswith(".jsonl"):
                continue
            path = os.path.join(where, name)
            try:
                status = os.stat(path)
            except OSError:
                continue  # it was deleted meanwhile, or its link leads nowhere
            if not stat.S_ISREG(status.st_mode):
                continue  # to read a pipe would wait without an end
            kind = client or ("codex" if name.startswith("rollout-") else "claude-code")
            yield LogFile(kind, path, status.st_size, status.st_mtime_ns)


def _named(name: str, path: str) -> str:
    """Return a name that a store accepts."""
    try:
        fits = len(name.encode()) <= _LONGEST and name.isprintable()
    except UnicodeEncodeError:
        fits = False
    return name if fits else f"{name.partition('/')[0]}/{sha256(os.fsencode(path)).hexdigest()[:32]}"
