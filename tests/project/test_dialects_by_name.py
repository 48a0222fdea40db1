"""Few files know a dialect by name: those of the list in ARCHITECTURE.md, and others that only get fewer.

So a new dialect changes the files of the list, and nothing of what is left has to learn its name. Where a file got
better, `python -m tests.project.test_dialects_by_name` writes that down.
"""

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.project.pages import ROOT, tree_of

SOURCE = ROOT / "src" / "backscroll"
LEFT = Path(__file__).parent / "dialects_left.json"
NAMES = re.compile("anthropic|bedrock|gemini|interactions|openai", re.IGNORECASE)
"""In names of modules, in other names, and in texts that are no documentation."""
ALSO = re.compile(r"(?:^|\.)(response_items|responses)$")
"""The Responses API, whose name is a plain word: in modules of dialects, and as a whole text."""
ROOMS = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))
CORE = ("messages", "tokens", "history", "view", "compaction", "session", "recall")
MOST_OF_CORE = 4
"""Files of these rooms in the list. Gemini's Interactions changed ten, of which one was new."""
NUMBERS = {3: "three", 4: "four"}


def section() -> str:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    return text.partition("### To add a dialect\n")[2].partition("\n## ")[0]


@cache
def listed() -> tuple[str, ...]:
    """The files of the list within the package, as patterns; the file of any dialect is `<name>`."""
    rows = "\n".join(line for line in section().splitlines() if line.startswith("| "))
    paths = re.findall(rf"`((?:{'|'.join(ROOMS)})/[\w/<>]+\.py)`", rows)
    return tuple(dict.fromkeys(path.replace("<name>", "*") for path in paths))


def is_listed(name: str) -> bool:
    return any(Path(name).match(pattern) for pattern in listed())


def named_in(tree: ast.Module) -> Iterator[str]:
    """The dialects that the code of a file names."""
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom | ast.alias):
            of_dialects = isinstance(node, ast.ImportFrom) and "messages.dialects" in (node.module or "")
            module = node.module if isinstance(node, ast.ImportFrom) else node.name
            yield from NAMES.findall(module or "")
            yield from (ALSO.findall(module or "") if of_dialects else ())
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield from NAMES.findall(node.value)
            yield from (("responses",) if node.value == "responses" else ())
        else:
            names = (getattr(node, key, None) for key in ("id", "attr", "arg", "name"))
            yield from (found for name in names if isinstance(name, str) for found in NAMES.findall(name))


@cache
def found() -> dict[str, list[str]]:
    """The dialects that each file names, but for those of the list."""
    files = {path.relative_to(SOURCE).as_posix(): path for path in sorted(SOURCE.rglob("*.py"))}
    names = {
        name: sorted({each.lower() for each in named_in(tree_of(path))})
        for name, path in files.items()
        if not is_listed(name)
    }
    return {name: dialects for name, dialects in names.items() if dialects}


def test_files_that_name_a_dialect_only_get_fewer():
    left = json.loads(LEFT.read_text("utf-8"))
    new = {name: sorted(set(dialects) - set(left.get(name, ()))) for name, dialects in found().items()}
    assert {name: dialects for name, dialects in new.items() if dialects} == {}


def test_list_of_files_that_name_a_dialect_is_true():
    """A file that got better is written down, so that it cannot get worse again."""
    assert json.loads(LEFT.read_text("utf-8")) == found()


def test_newest_dialect_is_named_by_one_more_framework():
    """Google's ADK, whose models send requests to it."""
    assert [name for name, dialects in found().items() if "interactions" in dialects] == [
        "integrations/adk/managed_model.py"
    ]


def test_new_dialect_changes_few_files_of_the_core():
    """And the page gives their number, and that of all files of the list."""
    of_core = [path for path in listed() if path.startswith(CORE)]
    assert len(of_core) <= MOST_OF_CORE
    said = " ".join(section().split())
    assert f"These files change, {len(listed())} of the package and {NUMBERS[len(of_core)]} of them of the core" in said


def test_files_of_the_list_exist():
    assert [pattern for pattern in listed() if not any(SOURCE.glob(pattern))] == []


if __name__ == "__main__":
    known = json.loads(LEFT.read_text("utf-8"))
    LEFT.write_text(
        json.dumps(
            {name: sorted({*names} & {*known[name]}) for name, names in found().items() if name in known}, indent=1
        )
        + "\n",
        "utf-8",
    )
