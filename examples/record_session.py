"""Records an agent's session by really running tools over a source tree. It may run tools and write one file.

    python examples/record_session.py session.jsonl [--root FOLDER] [--tokens 120000] [--store sqlite:///session.db]

The agent is scripted: no model, no network, and the same tree gives the same session. Its tools are real: it lists and
reads files, searches them, and runs Python on them, so results are long, repeat each other and sometimes fail, as they
do in practice. What it answers is computed from what its tools returned. The result is OpenAI chat, a message a line.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backscroll import ContextManager

SKIPPED = {".git", ".venv", "venv", "build", "dist", "node_modules", "__pycache__"}
READABLE = {".py", ".md", ".toml", ".txt", ".cfg", ".yml", ".yaml", ".json", ".sh", ""}
MAX_RESULT = 12_000  # characters; tools of real agents cut their output near there
BUDGET = 16_000  # tokens of a request, where the session is kept in a store
CHARACTERS_PER_TOKEN = 3.6  # of code and its listings; only used to decide when the session is long enough

SYSTEM = (
    "You help a programmer to understand and improve the project in the current folder. Use the tools to look before "
    "you answer, quote file names and numbers exactly, and say so when a tool failed."
)
RULES = (
    "Hello! I am new to this project and want to understand it file by file. Two rules for everything that follows: "
    "never change a file, and give counts as exact numbers. Begin with an overview: what is here, and how is it built "
    "and tested?"
)


# The tools


@dataclass
class Tools:
    """What the agent can do, all of it inside `root`."""

    root: Path

    def files(self, suffix: str = "") -> list[str]:
        """Readable files below the root, as relative paths in order."""
        found = []
        for where, folders, names in os.walk(self.root):
            folders[:] = sorted(name for name in folders if name not in SKIPPED and not name.startswith("."))
            for name in names:
                path = Path(where, name)
                if path.suffix in READABLE and path.name.endswith(suffix) and not name.startswith("."):
                    found.append(path.relative_to(self.root).as_posix())
        return sorted(found)

    def list_files(self, path: str) -> str:
        """Files below a folder, with their sizes in bytes."""
        below = "" if path == "." else path.rstrip("/") + "/"
        found = [name for name in self.files() if name.startswith(below)]
        if not found:
            return f"error: no such folder: {path}"
        return "\n".join(f"{(self.root / name).stat().st_size:>8}  {name}" for name in found)

    def read_file(self, path: str) -> str:
        """A file with line numbers."""
        try:
            text = (self.root / path).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            return f"error: cannot read {path}: {error.strerror}"
        return "\n".join(f"{number:>5}  {line}" for number, line in enumerate(text.splitlines(), 1))

    def grep(self, pattern: str, path: str = ".", context: int = 0) -> str:
        """Lines that match, with lines around them, as `file:number: line`."""
        names = [name for name in self.files() if path in (".", name) or name.startswith(path.rstrip("/") + "/")]
        found: list[str] = []
        for name in names:
            lines = (self.root / name).read_text(encoding="utf-8", errors="replace").splitlines()
            for at, line in enumerate(lines):
                if re.search(pattern, line):
                    around = range(max(0, at - context), min(len(lines), at + context + 1))
                    found += [f"{name}:{near + 1}{':' if near == at else '-'} {lines[near]}" for near in around]
                    found += ["--"] if context else []
        return "\n".join(found) or f"no match for {pattern!r} in {path}"

    def run_python(self, code: str) -> str:
        """The output of a Python program that is run in the root, errors and exit code included."""
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
        done = subprocess.run(
            [sys.executable, "-B", "-c", code],
            cwd=self.root,
            env={**kept, "PYTHONHASHSEED": "0", "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            timeout=30,
            check=False,
        )
        output = (done.stdout + done.stderr).decode("utf-8", "replace")
        for place, shown in (
            (self.root, "."),
            (sys.prefix, "<python>"),
            (sys.base_prefix, "<python>"),
            (Path.home(), "~"),
        ):
            output = output.replace(str(place), shown)  # tracebacks name places of this machine
        return output + (f"[exit code {done.returncode}]" if done.returncode else "")

    def run(self, name: str, arguments: dict[str, Any]) -> str:
        """One call, its output cut to `MAX_RESULT`."""
        output: str = getattr(self, name)(**arguments)
        if len(output) > MAX_RESULT:
            output = f"{output[:MAX_RESULT]}\n[{len(output) - MAX_RESULT} more characters]"
        return output


# The record


def nothing(*_messages: dict[str, Any]) -> None:
    """Where the session is kept in memory only."""


@dataclass
class Session:
    """The messages so far. `keep` hears each step: one message, or a call with all of its results."""

    tools: Tools
    keep: Callable[..., object] = nothing
    stored: list[dict[str, Any]] = field(default_factory=list)
    """Of an earlier run that was interrupted: these are taken, and not made or kept again."""
    messages: list[dict[str, Any]] = field(default_factory=list)
    characters: int = 0
    calls: int = 0

    def say(self, role: str, text: str) -> None:
        """One plain message."""
        self._step(1, lambda: [{"role": role, "content": text}])

    def call(self, text: str, *calls: tuple[str, dict[str, Any]]) -> list[str]:
        """One assistant message that calls tools, in parallel if several; their results."""
        made = []
        for name, arguments in calls:
            self.calls += 1
            function = {"name": name, "arguments": json.dumps(arguments)}
            made.append({"id": f"call_{self.calls:04}", "type": "function", "function": function})

        def run() -> list[dict[str, Any]]:
            results = [self.tools.run(name, arguments) for name, arguments in calls]
            answers = zip(made, results, strict=True)
            return [
                {"role": "assistant", "content": text or None, "tool_calls": made},
                *({"role": "tool", "tool_call_id": call["id"], "content": result} for call, result in answers),
            ]

        return [message["content"] for message in self._step(1 + len(calls), run)[1:]]

    def _step(self, number: int, make: Callable[[], list[dict[str, Any]]]) -> list[dict[str, Any]]:
        at = len(self.messages)
        step = self.stored[at : at + number]
        if not step:
            step = make()
            self.keep(*step)
        self.messages += step
        self.characters += sum(len(json.dumps(message, ensure_ascii=False)) for message in step)
        return step


# What the user asks for, and how the agent goes about it

LONGEST = """
import ast, pathlib
found = []
for path in pathlib.Path({path!r}).parent.rglob("*.py"):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.append((node.end_lineno - node.lineno + 1, path.as_posix(), node.name))
for lines, where, name in sorted(found, reverse=True)[:40]:
    print(f"{{lines:>4}} lines  {{where}}: {{name}}")
"""
NAMES = """
import ast, collections, pathlib
tree = ast.parse(pathlib.Path({path!r}).read_text(encoding="utf-8"))
names = collections.Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
for name, count in names.most_common(): print(f"{{count:>5}}  {{name}}")
"""
TREE = """
import ast, pathlib
tree = ast.parse(pathlib.Path({path!r}).read_text(encoding="utf-8"))
print(ast.dump(tree, indent=1))
"""
OUTLINE = """
import ast, pathlib
for node in ast.walk(ast.parse(pathlib.Path({path!r}).read_text(encoding="utf-8"))):
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        doc = (ast.get_docstring(node) or "no docstring").splitlines()[0]
        print(node.lineno, type(node).__name__, node.name, "|", doc)
"""
TOKENS = """
import collections, pathlib, tokenize
with open({path!r}, "rb") as file:
    tokens = list(tokenize.tokenize(file.readline))
print(collections.Counter(tokenize.tok_name[token.type] for token in tokens))
for token in tokens[:220]: print(token.start, tokenize.tok_name[token.type], token.string.strip()[:60])
"""


def overview(session: Session) -> None:
    """The first turn: parallel calls, and a file that is not there."""
    session.say("user", RULES)
    session.call(
        "I will list the tree and look at the build file.", *_both("list_files", {"path": "."}, "pyproject.toml")
    )
    session.call("Is there a guide for contributors?", *_both("list_files", {"path": "tests"}, "docs/GUIDE.md"))
    (found,) = session.call("", ("grep", {"pattern": r"^(name|version|requires-python|\[)", "path": "pyproject.toml"}))
    names = session.tools.files()
    python = [name for name in names if name.endswith(".py")]
    session.say(
        "assistant",
        f"The tree holds {len(names)} readable files, {len(python)} of them Python. The build file has "
        f"{len(found.splitlines())} lines with sections and keys that matter here. There is no docs/GUIDE.md: reading "
        "it failed.",
    )


def _both(name: str, arguments: dict[str, Any], path: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    return (name, arguments), ("read_file", {"path": path})


def explain(session: Session, path: str) -> None:
    """What does this file do? Reads it, and asks Python for its outline."""
    session.say("user", f"Please explain {path} to me: what is in it, and what does it need from elsewhere?")
    source, _ = session.call(
        f"I will read {path} and its imports side by side.",
        ("read_file", {"path": path}),
        ("grep", {"pattern": r"^\s*(import|from) ", "path": path}),
    )
    (outline,) = session.call("Now its outline.", ("run_python", {"code": OUTLINE.format(path=path)}))
    functions = outline.count("FunctionDef")
    text = (
        f"{path} has {len(source.splitlines())} lines, {outline.count('ClassDef')} classes and {functions} functions."
    )
    bare = [line.split()[2] for line in outline.splitlines() if line.endswith("no docstring")]
    session.say("assistant", f"{text} {len(bare)} of them have no docstring: {', '.join(bare[:12]) or 'none'}.")


def trace(session: Session, path: str) -> None:
    """Where is its first public name used? Searches wide, then narrow, and counts."""
    source = (session.tools.root / path).read_text(encoding="utf-8", errors="replace")
    found = re.search(r"^(?:class|def|async def) ([A-Za-z]\w*)", source, re.MULTILINE)
    name = found[1] if found else Path(path).stem
    session.say("user", f"Where is `{name}` used? I want to rename it some day, so give me every place.")
    (places,) = session.call(
        f"I will search for {name}.", ("grep", {"pattern": rf"\b{name}\b", "path": ".", "context": 3})
    )
    session.call(
        "",
        ("run_python", {"code": NAMES.format(path=path)}),
        ("grep", {"pattern": rf"\b{name}\b", "path": path, "context": 1}),
    )
    hits = [line for line in places.splitlines() if re.match(r"[^\s:]+:\d+: ", line)]
    files = sorted({line.partition(":")[0] for line in hits})
    session.say("assistant", f"`{name}` stands in {len(hits)} lines of {len(files)} files: {', '.join(files[:10])}.")


def stumble(session: Session, path: str) -> None:
    """A measurement that fails first: a wrong module, a wrong file, then the right program."""
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
        ("run_python", {"code": LONGEST.format(path=path)}),
        ("read_file", {"path": missing}),
        ("run_python", {"code": TOKENS.format(path=path)}),
    )
    (again,) = session.call("Once more, to be sure of the order.", ("run_python", {"code": LONGEST.format(path=path)}))
    first = (again.strip().splitlines() or ["none"])[0].strip()
    session.say(
        "assistant", f"The longest is: {first}. {missing} does not exist, and the helper module is not installed."
    )


def dissect(session: Session, path: str) -> None:
    """The syntax tree, in full: one very long result."""
    session.say("user", f"Show me how Python sees {path}. How deep is its syntax tree, and where is it deepest?")
    (tree,) = session.call("I will dump the tree.", ("run_python", {"code": TREE.format(path=path)}))
    session.call("And the source beside it.", ("read_file", {"path": path}))
    deepest = max(tree.splitlines(), key=lambda line: len(line) - len(line.lstrip()))
    depth = len(deepest) - len(deepest.lstrip())
    session.say("assistant", f"In the part I can see it is {depth} levels deep, at `{deepest.strip()[:80]}`.")


def recap(session: Session, path: str) -> None:
    """A question about the beginning, which only the first turn answers."""
    session.say("user", f"Before we go on after {path}: which two rules did I give you at the start?")
    session.say("assistant", "Never change a file, and give counts as exact numbers. I have kept to both.")


def tasks(session: Session) -> Iterator[None]:
    """Turns without end, over every Python file again and again."""
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


def record(session: Session, tokens: int, least: int = 150) -> Session:
    """Lets a session go on until it has about `tokens` tokens and at least `least` messages."""
    session.say("system", SYSTEM)
    for _ in tasks(session):
        if session.characters >= tokens * CHARACTERS_PER_TOKEN and len(session.messages) >= least:
            break
    return session


def record_in_store(address: str, root: Path, tokens: int) -> Session:
    """The same in a store, where a session that was interrupted goes on. A line tells of each step that is safe: the
    number of messages, and the checksum of the next view.
    """
    context = opened(address)

    def keep(*messages: dict[str, Any]) -> None:
        last = context.append(*messages)
        print(last + 1, checksum(context.get_messages_for_request()), flush=True)

    session = record(Session(Tools(root), keep, context.get_messages()), tokens)
    context.close()
    return session


def opened(address: str) -> ContextManager:
    """The recorded session in a store, with the budget of the replay."""
    return ContextManager(store=address, session="demo", budget=BUDGET)


def checksum(view: list[dict[str, Any]]) -> str:
    """Of every byte of a view, as it would be sent."""
    return hashlib.sha256(json.dumps(view, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


def write(messages: list[dict[str, Any]], path: Path) -> None:
    """A transcript, a message a line."""
    with path.open("w", encoding="utf-8") as file:
        for message in messages:
            file.write(json.dumps(message, ensure_ascii=False) + "\n")


def main() -> int:
    """Records to the path given and says what it wrote."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("output", type=Path, help="where to write the transcript (.jsonl)")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent, help="the tree to explore")
    parser.add_argument("--tokens", type=int, default=120_000, help="about how many tokens to record")
    parser.add_argument("--store", help="keep the session in this store as well, and go on with it if it is there")
    options = parser.parse_args()
    root = options.root.resolve()
    if options.store:
        session = record_in_store(options.store, root, options.tokens)
    else:
        session = record(Session(Tools(root)), options.tokens)
    write(session.messages, options.output)
    size = f"{len(session.messages)} messages, {session.calls} tool calls, {session.characters:,} characters"
    print(f"{options.output}: {size}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
