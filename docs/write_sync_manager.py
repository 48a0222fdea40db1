"""Writes `manager/sync_manager.py`, the manager without an event loop, from `manager/async_manager.py`.

    python docs/write_sync_manager.py            writes it
    python docs/write_sync_manager.py --check    writes nothing; exit code 1 if it is stale

Both managers run the same operations and differ only in how they wait, so a table of words is enough. What differs in
more than words lies below them: in `manager/base.py`, `manager/driver.py` and `manager/background.py`.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

MANAGER = Path(__file__).resolve().parents[1] / "src" / "backscroll" / "manager"
SOURCE, WRITTEN = MANAGER / "async_manager.py", MANAGER / "sync_manager.py"
OPENING = """\
\"""`ContextManager`, for callers without an event loop. Generated: `docs/write_sync_manager.py` writes this file.

Change `async_manager.py` and run the program again.
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
    "Task": "Thread",
    "run_async": "run_sync",
    "aclose": "close",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
}


def synchronous(source: str) -> str:
    """The file as it should be. Raises SystemExit where an entry of the table has no use any more."""
    body = source.split("\n", 1)[1]
    if unused := [old for old in TABLE if not re.search(rf"(?<!\w){re.escape(old)}", body)]:
        raise SystemExit(f"{SOURCE.name} no longer contains {unused}: change `TABLE` in docs/{Path(__file__).name}")
    pattern = "|".join(map(re.escape, TABLE))  # one pass, so that no replacement is replaced again
    return OPENING + re.sub(rf"(?<!\w)(?:{pattern})", lambda found: TABLE[found[0]], body)


def formatted(code: str) -> str:
    """The code as the formatter leaves it: lines without `await` are shorter, and some need no break."""
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(WRITTEN), "-"]
    return subprocess.run(command, input=code, capture_output=True, check=True, encoding="utf-8").stdout  # noqa: S603 - our own formatter


def main() -> int:
    """Writes, or checks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the file is stale")
    check: bool = parser.parse_args().check
    code = formatted(synchronous(SOURCE.read_text(encoding="utf-8")))
    if not check:
        WRITTEN.write_text(code, encoding="utf-8")
    elif WRITTEN.read_text(encoding="utf-8") != code:
        print(f"{WRITTEN.name} is stale; run: python docs/{Path(__file__).name}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
