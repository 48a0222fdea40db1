"""What the user of the demo asks for, and how the agent answers. It is a script: the same tree gives the same session.

What the agent says is computed from what its tools returned. It goes over every Python file again and again.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from backscroll.cli.demo.recording import Recording

_CHARACTERS_PER_TOKEN = 3.6  # of code and its listings; only used to decide when the session is long enough
_BUILD_FILES = ("pyproject.toml", "setup.py", "setup.cfg", "__init__.py")
_SYSTEM = (
    "You help a programmer to understand and improve the project in the current folder. Use the tools to look before "
    "you answer, quote file names and numbers exactly, and say so when a tool failed."
)
_RULES = (
    "Hello! I am new to this project and want to understand it file by file. Two rules for everything that follows: "
    "never change a file, and give counts as exact numbers. Begin with an overview: what is here, and how is it built "
    "and tested?"
)
_LONGEST = """
import ast, pathlib
found = []
for path in pathlib.Path({path!r}).parent.glob("*.py"):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.append((node.end_lineno - node.lineno + 1, path.as_posix(), node.name))
for lines, where, name in sorted(found, reverse=True)[:40]:
    print(f"{{lines:>4}} lines  {{where}}: {{name}}")
"""
_NAMES = """
import ast, collections, pathlib
tree = ast.parse(pathlib.Path({path!r}).read_text(encoding="utf-8"))
names = collections.Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
for name, count in names.most_common(): print(f"{{count:>5}}  {{name}}")
"""
_TREE = """
import ast, pathlib
tree = ast.parse(pathlib.Path({path!r}).read_text(encoding="utf-8"))
print(ast.dump(tree, indent=1))
"""
_OUTLINE = """
import ast, pathlib
for node in ast.walk(ast.parse(pathlib.Path({path!r}).read_text(encoding="utf-8"))):
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        doc = (ast.get_docstring(node) or "no docstring").splitlines()[0]
        print(node.lineno, type(node).__name__, node.name, "|", doc)
"""
_TOKENS = """
import collections, pathlib, tokenize
with open({path!r}, "rb") as file:
    tokens = list(tokenize.tokenize(file.readline))
print(collections.Counter(tokenize.tok_name[token.type] for token in tokens))
for token in tokens[:220]: print(token.start, tokenize.tok_name[token.type], token.string.strip()[:60])
"""


def overview(session: Recording) -> None:
    """Make the first turn: parallel calls, and a file that is missing."""
    names = session.tools.files()
    build = next((name for name in _BUILD_FILES if name in names), names[0])
    session.say("user", _RULES)
    session.call("I will list the tree and look at what defines it.", *_both("list_files", {"path": "."}, build))
    session.call("Is there a guide for contributors?", *_both("list_files", {"path": "tests"}, "docs/GUIDE.md"))
    (found,) = session.call("", ("grep", {"pattern": r"^(name|version|requires-python|from|import|\[)", "path": build}))
    python = session.tools.files(".py")
    session.say(
        "assistant",
        f"The tree holds {len(names)} readable files, {len(python)} of them Python. {build} has "
        f"{len(found.splitlines())} lines that matter here. There is no docs/GUIDE.md: reading it failed.",
    )


def _both(name: str, arguments: dict[str, Any], path: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    return (name, arguments), ("read_file", {"path": path})


def explain(session: Recording, path: str) -> None:
    """Explain a file: read it, and let Python print its outline."""
    session.say("user", f"Please explain {path} to me: what is in it, and what does it need from elsewhere?")
    source, _ = session.call(
        f"I will read {path} and its imports side by side.",
        ("read_file", {"path": path}),
        ("grep", {"pattern": r"^\s*(import|from) ", "path": path}),
    )
    (outline,) = session.call("Now its outline.", ("run_python", {"code": _OUTLINE.format(path=path)}))
    functions = outline.count("FunctionDef")
    text = (
        f"{path} has {len(source.splitlines())} lines, {outline.count('ClassDef')} classes and {functions} functions."
    )
    bare = [line.split()[2] for line in outline.splitlines() if line.endswith("no docstring")]
    session.say("assistant", f"{text} {len(bare)} of them have no docstring: {', '.join(bare[:12]) or 'none'}.")


def trace(session: Recording, path: str) -> None:
    """Find every use of its first public name: search wide, then narrow, and count."""
    source = session.tools.text(path)
    found = re.search(r"^(?:class|def|async def) ([A-Za-z]\w*)", source, re.MULTILINE)
    name = found[1] if found else Path(path).stem
    session.say("user", f"Where is `{name}` used? I want to rename it some day, so give me every place.")
    (places,) = session.call(
        f"I will search for {name}.", ("grep", {"pattern": rf"\b{name}\b", "path": ".", "context": 3})
    )
    session.call(
        "",
        ("run_python", {"code": _NAMES.format(path=path)}),
        ("grep", {"pattern": rf"\b{name}\b", "path": path, "context": 1}),
    )
    hits = [line for line in places.splitlines() if re.match(r"[^\s:]+:\d+: ", line)]
    files = sorted({line.partition(":")[0] for line in hits})
    session.say("assistant", f"`{name}` is in {len(hits)} lines of {len(files)} files: {', '.join(files[:10])}.")


def stumble(session: Recording, path: str) -> None:
    """Measure functions, with failures first: a missing module, a missing file, then the right program."""
    session.say(
        "user", f"Which are the longest functions around {path}? And do you see anything unusual in its tokens?"
    )
    (failed,) = session.call(
        "I will use a helper for that.",
        ("run_python", {"code": f"import code_metrics_helper\ncode_metrics_helper.report({path!r})"}),
    )
    missing = path.removesuffix(".py") + "_old.py"
    session.call(
        f"That failed: {failed.strip().splitlines()[-2]}. I will measure it myself.",
        ("run_python", {"code": _LONGEST.format(path=path)}),
        ("read_file", {"path": missing}),
        ("run_python", {"code": _TOKENS.format(path=path)}),
    )
    (again,) = session.call("Once more, to be sure of the order.", ("run_python", {"code": _LONGEST.format(path=path)}))
    first = (again.strip().splitlines() or ["none"])[0].strip()
    session.say(
        "assistant", f"The longest is: {first}. {missing} does not exist, and the helper module is not installed."
    )


def dissect(session: Recording, path: str) -> None:
    """Print a syntax tree in full: one very long result."""
    session.say("user", f"Show me how Python sees {path}. How deep is its syntax tree, and where is it deepest?")
    (tree,) = session.call("I will dump the tree.", ("run_python", {"code": _TREE.format(path=path)}))
    session.call("And its source.", ("read_file", {"path": path}))
    deepest = max(tree.splitlines(), key=lambda line: len(line) - len(line.lstrip()))
    depth = len(deepest) - len(deepest.lstrip())
    session.say("assistant", f"In the part I can see it is {depth} levels deep, at `{deepest.strip()[:80]}`.")


def recap(session: Recording, path: str) -> None:
    """Ask about the beginning, which only the first turn answers."""
    session.say("user", f"Before we go on after {path}: which two rules did I give you at the start?")
    session.say("assistant", "Never change a file, and give counts as exact numbers. I have kept to both.")


def tasks(session: Recording) -> Iterator[None]:
    """Make turns without end, over every Python file again and again."""
    overview(session)
    yield
    paths = [path for path in session.tools.files(".py") if (session.tools.root / path).stat().st_size > 400]
    turns = (explain, trace, stumble, dissect)
    at = 0
    while paths:
        for turn in turns:
            turn(session, paths[at % len(paths)])
            yield
            at += 1
        recap(session, paths[(at - 1) % len(paths)])
        yield
        at += len(paths) % len(turns) == 0  # else every file would meet the same question each time


def record(session: Recording, tokens: int, least: int = 150) -> Recording:
    """Continue a session until it has about `tokens` tokens and at least `least` messages."""
    session.say("system", _SYSTEM)
    for _ in tasks(session):
        if session.characters >= tokens * _CHARACTERS_PER_TOKEN and len(session.messages) >= least:
            break
    return session
