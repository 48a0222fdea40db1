"""What the agent of the demo can do: list, read and search the files below a folder, and run Python on them."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

_SKIPPED = {"venv", "build", "dist", "node_modules", "__pycache__"}
_READABLE = {".py", ".md", ".toml", ".txt", ".cfg", ".yml", ".yaml", ".json", ".sh", ""}
_MAX_RESULT = 12_000  # characters; tools of real agents cut their output near there


@dataclass(frozen=True)
class Tools:
    """Tools that read below `root` and write nothing."""

    root: Path

    def files(self, suffix: str = "") -> list[str]:
        """Return the readable files below the root, as relative paths in order."""
        return [name for name in self._files if name.endswith(suffix)]

    @cached_property
    def _files(self) -> list[str]:
        found = []
        for where, folders, names in os.walk(self.root):
            folders[:] = sorted(name for name in folders if name not in _SKIPPED and not name.startswith("."))
            for name in names:
                path = Path(where, name)
                if path.suffix in _READABLE and not name.startswith("."):
                    found.append(path.relative_to(self.root).as_posix())
        return sorted(found)

    def text(self, path: str) -> str:
        """Return the text of a file."""
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    def list_files(self, path: str) -> str:
        """List the files below a folder, with their sizes in bytes."""
        below = "" if path == "." else path.rstrip("/") + "/"
        found = [name for name in self.files() if name.startswith(below)]
        if not found:
            return f"error: no such folder: {path}"
        return "\n".join(f"{(self.root / name).stat().st_size:>8}  {name}" for name in found)

    def read_file(self, path: str) -> str:
        """Return a file with line numbers."""
        try:
            lines = self.text(path).splitlines()
        except OSError as error:
            return f"error: cannot read {path}: {error.strerror}"
        return "\n".join(f"{number:>5}  {line}" for number, line in enumerate(lines, 1))

    def grep(self, pattern: str, path: str = ".", context: int = 0) -> str:
        """Return the lines that match, with lines around them, as `file:number: line`."""
        names = [name for name in self.files() if path in (".", name) or name.startswith(path.rstrip("/") + "/")]
        wanted = re.compile(pattern, re.MULTILINE)
        word = re.fullmatch(r"\\b(\w+)\\b", pattern)  # looked for first, which is much faster
        found: list[str] = []
        for name in names:
            text = self.text(name)
            if (word and word[1] not in text) or not wanted.search(text):
                continue
            lines = text.splitlines()
            for at, line in enumerate(lines):
                if wanted.search(line):
                    around = range(max(0, at - context), min(len(lines), at + context + 1))
                    found += [f"{name}:{near + 1}{':' if near == at else '-'} {lines[near]}" for near in around]
                    found += ["--"] if context else []
        return "\n".join(found) or f"no match for {pattern!r} in {path}"

    def run_python(self, code: str) -> str:
        """Return the output of a Python program that runs in the root, with its errors and exit code."""
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
        done = subprocess.run(  # noqa: S603  the programs are those of `turns.py`
            [sys.executable, "-P", "-B", "-c", code],  # -P: modules of the root do not hide those of Python
            cwd=self.root,
            env={**kept, "PYTHONHASHSEED": "0", "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            timeout=30,
            check=False,
        )
        output = (done.stdout + done.stderr).decode("utf-8", "replace")
        for place, shown in self._places:
            output = output.replace(place, shown)
        return output + (f"[exit code {done.returncode}]" if done.returncode else "")

    @cached_property
    def _places(self) -> list[tuple[str, str]]:
        """Folders of this machine that tracebacks name, and what the session has in their place."""
        named = ((self.root, "."), (sys.prefix, "<python>"), (sys.base_prefix, "<python>"), (Path.home(), "~"))
        return [(str(place), shown) for place, shown in named]

    def run(self, name: str, arguments: dict[str, Any]) -> str:
        """Run one call, and cut its output as real tools do."""
        output: str = getattr(self, name)(**arguments)
        if len(output) > _MAX_RESULT:
            output = f"{output[:_MAX_RESULT]}\n[{len(output) - _MAX_RESULT} more characters]"
        return output
