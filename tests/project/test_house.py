"""What lets a newcomer find his way: maps of the rooms, arguments by keyword, and counts that are true."""

import ast
import re
from dataclasses import fields
from pathlib import Path

import pytest

from backscroll.manager.options import ManagerOptions
from tests.project.pages import ROOT, tree_of

PACKAGE = ROOT / "src" / "backscroll"
ROOMS = sorted(path for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE)
"""All packages but the first, whose map is ARCHITECTURE.md."""
MOST = 4
"""Arguments by position in a call that makes an object: two more that are exchanged pass every check."""
NUMBERS = {10: "ten", 11: "eleven", 12: "twelve", 13: "thirteen"}


def name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@pytest.mark.parametrize("room", ROOMS, ids=lambda path: name(path.parent))
def test_map_of_a_room_names_each_of_its_files(room):
    described = ast.get_docstring(ast.parse(room.read_text(encoding="utf-8"))) or ""
    files = [path.name for path in room.parent.glob("*.py") if not path.name.startswith("__")]
    folders = [f"{path.parent.name}/" for path in room.parent.glob("*/__init__.py")]
    assert [each for each in sorted(files + folders) if not re.search(rf"\b{re.escape(each)}", described)] == []


def made_by_position(tree: ast.Module) -> list[str]:
    """Calls within functions that make an object from too many arguments by position. Tables of a module may."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    calls = [node for function in functions for node in ast.walk(function) if isinstance(node, ast.Call)]
    long = [call for call in calls if sum(not isinstance(each, ast.Starred) for each in call.args) > MOST]
    named = [(ast.unparse(call.func).rpartition(".")[2], call) for call in long]
    return [f"{made}, line {call.lineno}" for made, call in named if made.lstrip("_")[:1].isupper()]


def test_objects_of_many_fields_are_made_by_keyword():
    trees = {name(path): tree_of(path) for path in sorted(PACKAGE.rglob("*.py"))}
    assert {file: calls for file, tree in trees.items() if (calls := made_by_position(tree))} == {}


def test_counts_in_the_pages_come_from_the_code():
    readme, architecture = ((ROOT / f"{page}.md").read_text(encoding="utf-8") for page in ("README", "ARCHITECTURE"))
    frameworks = {path.stem for path in (ROOT / "docs/integrations").glob("*.md")} - {"index", "clients"}
    rooms = list(PACKAGE.glob("*/__init__.py"))
    assert f"[{NUMBERS[len(frameworks)]} agent frameworks]" in readme
    assert f"(all {len(fields(ManagerOptions))})" in readme
    assert f"\n{NUMBERS[len(rooms)].capitalize()} rooms, " in architecture
    assert set(re.findall(r"docs/integrations/(\S+?)\.md", readme)) - {"clients"} == frameworks
