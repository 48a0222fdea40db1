"""Writes the manager without an event loop: `manager/sync_manager.py` from `manager/async_manager.py`, and likewise
`sync_reading.py`.

    python docs/write_sync_manager.py            writes it
    python docs/write_sync_manager.py --check    writes nothing; exit code 1 if one is stale

Both managers run the same operations and differ only in how they wait, so a table of words is enough. What differs in
more than words lies below them: in `manager/base.py`, `manager/driver.py` and `manager/background.py`.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

MANAGER = Path(__file__).resolve().parents[1] / "src" / "backscroll" / "manager"
FILES = {
    "manager": "`ContextManager`, for callers without an event loop.",
    "reading": "What `ContextManager` reads of a session.",
}
"""The second half of the name of each file, and what it says first."""
OPENING = """\
\"""{says} Generated: `docs/write_sync_manager.py` writes this file.

Change `{source}` and run the program again.
\"""
"""
TABLE = {
    "concurrent tasks and threads": "concurrent threads",
    "`ContextManager` has the same methods for callers without an event loop.": (
        "`AsyncContextManager` has the same methods for asyncio. Async callables (`on_event`, a system prompt factory, "
        "a\n    summarizer) run in an event loop of their own."
    ),
    "async with": "with",
    "async def ": "def ",
    "await ": "",
    "Awaitable, ": "",
    "Awaitable[str]": "str",
    "AsyncContextManager": "ContextManager",
    "AsyncReading": "Reading",
    "async_reading": "sync_reading",
    "Task": "Thread",
    "run_async": "run_sync",
    "aclose": "close",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
}


def source_of(name: str) -> Path:
    """The file for asyncio."""
    return MANAGER / f"async_{name}.py"


def check_table() -> None:
    """Raises SystemExit where an entry of the table has no use any more."""
    bodies = "".join(source_of(name).read_text(encoding="utf-8").split("\n", 1)[1] for name in FILES)
    if unused := [old for old in TABLE if not re.search(rf"(?<!\w){re.escape(old)}", bodies)]:
        raise SystemExit(f"the managers no longer contain {unused}: change `TABLE` in docs/{Path(__file__).name}")


def synchronous(name: str) -> str:
    """The file as it should be."""
    body = source_of(name).read_text(encoding="utf-8").split("\n", 1)[1]
    pattern = "|".join(map(re.escape, TABLE))  # one pass, so that no replacement is replaced again
    code = re.sub(rf"(?<!\w)(?:{pattern})", lambda found: TABLE[found[0]], body)
    return OPENING.format(says=FILES[name], source=source_of(name).name) + code


def formatted(code: str, path: Path) -> str:
    """The code as the linter sorts its imports and the formatter leaves it: lines without `await` are shorter."""
    for step in (["check", "--select", "I", "--fix", "--quiet"], ["format"]):
        command = [sys.executable, "-m", "ruff", *step, "--stdin-filename", str(path), "-"]
        code = subprocess.run(command, input=code, capture_output=True, check=True, encoding="utf-8").stdout  # noqa: S603 - our own tools
    return code


def main() -> int:
    """Writes, or checks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is stale")
    check: bool = parser.parse_args().check
    check_table()
    stale = []
    for name in FILES:
        written = MANAGER / f"sync_{name}.py"
        code = formatted(synchronous(name), written)
        if not check:
            written.write_text(code, encoding="utf-8")
        elif not written.exists() or written.read_text(encoding="utf-8") != code:
            stale.append(written.name)
    if stale:
        print(f"{' and '.join(stale)} stale; run: python docs/{Path(__file__).name}", file=sys.stderr)
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main())
