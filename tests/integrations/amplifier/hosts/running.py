"""Where the hosts are, and how a journey is run: in a process, with folders of its own. The hosts are only read."""

import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from tests.long_run import usually

ROOT = Path(__file__).resolve().parents[4]
HOSTS = Path(os.environ.get("BACKSCROLL_HOSTS") or ROOT.parent / "shared" / "hosts")
needs_hosts = pytest.mark.skipif(
    not HOSTS.is_dir(), reason=f"no Amplifier hosts at {HOSTS}; point BACKSCROLL_HOSTS at a folder of them"
)

KINDS = ("memory", "store", "storage_path", "transcript_path")
"""The ways to keep a session, by the option of the configuration; `memory` is the default configuration."""
KEPT = {
    "foundation.long": KINDS,
    "foundation.loops": KINDS,
    "foundation.spawn": KINDS,
    "commands.talk": KINDS,
    "commands.pursued": KINDS,
    "commands.interrupted": KINDS,
    "commands.rewound": KINDS,
    "children.family": KINDS,
    "hooks": KINDS,
    "calls": KINDS,
}
"""Journeys, or files of them, in several ways of keeping; others: in memory."""
_AT_ONCE = (KINDS[:2], KINDS[2:])
"""Kinds that run one after the other in one process: the second ones only for the long run."""
each_kind = pytest.mark.parametrize("kind", usually([KINDS[1], KINDS[0], *KINDS[2:]], 1))
TOGETHER = ("hooks", "calls", "work")
"""Files whose journeys are short and run in one process."""

SECONDS = 180
DEATH = 9
"""How a process ends that dies in the middle of a turn."""

_IMPORTED = ("amplifier-foundation", "amplifier-app-cli")  # by name; modules come from the folders that a bundle names
_MADE = ROOT / "build" / "hosts"
_RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID")
"""One for all processes of a test run, where there are several: then they share reports."""


def report(journey: str, kind: str = "memory") -> Any:
    """What the journey `module.function` below `journeys` reports. It runs once for all tests."""
    module = journey.partition(".")[0]
    what = module if module in TOGETHER else journey
    kinds = next(kinds for kinds in _AT_ONCE if kind in kinds) if what in KEPT else ("memory",)
    found = _reports(what, kinds)[f"{journey} {kind}"]
    if "failed" in found:
        pytest.fail(f"{journey} ({kind}) failed\n{found['failed']}", pytrace=False)
    return found


@cache
def _reports(what: str, kinds: tuple[str, ...]) -> dict[str, Any]:
    if _RUN is None:
        return _run_once(what, kinds)
    name = f"{what}-{kinds[0]}"
    kept = _MADE / f"{_RUN}-{name}.json"
    _MADE.mkdir(parents=True, exist_ok=True)
    with FileLock(_MADE / f"{name}.lock"):
        if not kept.exists():
            for old in _MADE.glob(f"*-{name}.json"):
                old.unlink()
            kept.write_text(json.dumps(_run_once(what, kinds)), encoding="utf-8")
        found: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
    return found


def _run_once(what: str, kinds: tuple[str, ...]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="hosts-") as folder:
        return run(what, Path(folder), kinds)


def run(what: str, folder: Path, kinds: tuple[str, ...], dies: bool = False) -> dict[str, Any]:
    """Runs a journey, or all of a file, in this folder; answers reports by `<journey> <kind>`. What `dies` has none."""
    environment = {
        **os.environ,
        "BACKSCROLL_HOSTS": str(HOSTS),
        "PYTHONPATH": os.pathsep.join([str(ROOT), *(str(HOSTS / host) for host in _IMPORTED)]),
        "PYTHONPYCACHEPREFIX": str(_MADE / "bytecode"),  # never among the hosts' sources
        "PYTHONDONTWRITEBYTECODE": "",
    }
    line = [sys.executable, "-m", "tests.integrations.amplifier.hosts.inside", what, ",".join(kinds), str(folder)]
    done = subprocess.run(
        line,
        check=False,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        start_new_session=True,  # so that the command line finds no terminal of the tests' own
    )
    written = folder / "report.json"
    if (done.returncode, written.exists()) != ((DEATH, False) if dies else (0, True)):
        ended = f"{what} ended with {done.returncode}\n{done.stdout[-4_000:]}\n{done.stderr[-8_000:]}"
        pytest.fail(ended, pytrace=False)
    if dies:
        return {}
    found: dict[str, Any] = json.loads(written.read_text(encoding="utf-8"))
    written.unlink()
    return found
