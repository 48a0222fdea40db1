"""What holds for the tests themselves: what they import, how they are named, and what they may replace."""

import ast
import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
FILES = {path.relative_to(TESTS).as_posix(): path for path in sorted(TESTS.rglob("*.py"))}
OF_THE_SYSTEM = {"setenv", "delenv", "chdir", "syspath_prepend"}
"""What `monkeypatch` may replace anywhere: the environment that the operating system gives a process."""


@cache
def trees() -> dict[str, list[ast.AST]]:
    """The syntax tree of each file, from its root down; read when the first test asks, as collecting need not wait."""
    return {name: list(ast.walk(ast.parse(path.read_text(encoding="utf-8")))) for name, path in FILES.items()}


def imported(tree: list[ast.AST]) -> set[str]:
    """Modules that a file imports; of `from a import b` both `a` and `a.b`."""
    found = set()
    for node in tree:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_no_file_imports_a_test_module():
    """What two test modules need lies in `tests/fakes.py`, `tests/builders.py` or a helper of their folder."""
    modules = {"tests." + name.removesuffix(".py").replace("/", ".") for name in FILES if "/test_" in f"/{name}"}
    assert {name: both for name, tree in trees().items() if (both := modules & imported(tree))} == {}


def names_in(tree: list[ast.AST]) -> list[str]:
    """Names of the test functions of a file."""
    functions = [node for node in tree if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [function.name for function in functions if function.name.startswith("test_")]


def test_names_of_tests_have_at_most_60_letters():
    """`test_<unit>_<condition>_<outcome>`; what such a name cannot say is the docstring of the test."""
    found = {(name, test) for name, tree in trees().items() for test in names_in(tree) if len(test) > 60}
    assert found == set()


def test_names_of_tests_use_the_glossary():
    avoided = re.compile(r"_(told|tells|anew|whoever|whatever|besides?)(?=_|$)")
    found = {(name, test) for name, tree in trees().items() for test in names_in(tree) if avoided.search(test)}
    assert found == set()


def patches(tree: list[ast.AST]) -> int:
    """How often a file replaces something of a module by `monkeypatch` or `unittest.mock`."""
    uses = [
        (node.value.id, node.attr)
        for node in tree
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    ]
    count = sum(of == "monkeypatch" and name not in OF_THE_SYSTEM for of, name in uses)
    return count + sum(of in ("patch", "mock") for of, _ in uses)


def test_nothing_is_patched_but_the_system():
    """Give a fake, or an argument, to a constructor instead."""
    assert {name: count for name, tree in trees().items() if (count := patches(tree))} == {}
