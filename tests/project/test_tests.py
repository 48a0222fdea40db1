"""What holds for the tests themselves: what they import, how they are named, and what they may replace."""

import ast
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
FILES = {path.relative_to(TESTS).as_posix(): path for path in sorted(TESTS.rglob("*.py"))}


def imported(path: Path) -> set[str]:
    """Modules that a file imports; of `from a import b` both `a` and `a.b`."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_no_file_imports_a_test_module():
    """What two test modules need lies in `tests/fakes.py`, `tests/builders.py` or a helper of their folder."""
    modules = {"tests." + name.removesuffix(".py").replace("/", ".") for name in FILES if "/test_" in f"/{name}"}
    assert {name: both for name, path in FILES.items() if (both := modules & imported(path))} == {}
