"""What holds for the project as a whole: layers, sizes, public names, and what an import costs."""

import ast
import inspect
import json
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import backscroll
from backscroll import errors
from tests.present import present
from tests.project.pages import tree_of

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "backscroll"
SOURCES = sorted(PACKAGE.rglob("*.py"))
MADE = {".git", ".venv", "build", "dist", "__pycache__", ".hypothesis", ".mypy_cache", ".ruff_cache"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONTRACTS = {contract["id"]: contract for contract in PROJECT["tool"]["importlinter"]["contracts"]}

LINT = ("--no-cache", "--no-logo")


def run(*command: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, *command]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


@cache
def nodes_of(path: Path) -> list[Any]:
    """The syntax tree of a file, from its root down; several tests read each file."""
    return list(ast.walk(tree_of(path)))


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# -- layers --


@pytest.mark.long
def test_import_contracts_are_kept():
    done = run("-c", "from importlinter.cli import lint_command; lint_command()", *LINT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Contracts: {len(CONTRACTS)} kept, 0 broken." in done.stdout


def test_the_core_is_everything_at_or_below_the_session():
    """Two files apart: those that warn and that name the engines, which count tokens, do I/O."""
    layers = [re.split(r"\s*[|:]\s*", layer) for layer in CONTRACTS["rooms"]["layers"]]
    first = next(number for number, rooms in enumerate(layers) if "session" in rooms)
    core = {room for rooms in layers[first:] for room in rooms}
    pure = {module.split(".")[1] for module in CONTRACTS["pure"]["source_modules"]}
    assert core - pure == {"notices"}
    parts = {module for module in CONTRACTS["pure"]["source_modules"] if module.count(".") > 1}
    tokens = {f"backscroll.tokens.{path.stem}" for path in SOURCES if path.parent.name == "tokens"}
    assert parts == tokens - {"backscroll.tokens.__init__"}


def test_every_third_party_package_is_kept_out_of_the_core():
    nodes = [node for path in SOURCES for node in nodes_of(path)]
    imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    roots = {module.partition(".")[0] for module in imported} - sys.stdlib_module_names - {"backscroll"}
    assert roots <= set(CONTRACTS["pure"]["forbidden_modules"])


@pytest.mark.long
@pytest.mark.parametrize(
    "program", ["draw_layers", "draw_window", "write_commands", "write_settings", "write_sync_manager"]
)
def test_what_programs_draw_and_write_is_fresh(program):
    done = run(f"docs/{program}.py", "--check")
    assert done.returncode == 0, done.stderr


# -- files --


def test_each_file_says_what_may_live_in_it_and_is_short():
    """Every file opens with its law."""
    assert [name(path) for path in SOURCES if not ast.get_docstring(nodes_of(path)[0])] == []
    assert [name(path) for path in SOURCES if len(path.read_text(encoding="utf-8").splitlines()) >= 500] == []


def docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines of a function's docstring, which describes arguments one by one."""
    first = node.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return (first.end_lineno or 0) - first.lineno + 1 if is_docstring else 0


def test_functions_are_short():
    nodes = [(name(path), node) for path in SOURCES for node in nodes_of(path)]
    functions = [(file, node) for file, node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    lengths = [
        (file, node.name, (node.end_lineno or 0) - node.lineno + 1 - docstring_lines(node)) for file, node in functions
    ]
    assert [(file, function, lines) for file, function, lines in lengths if lines >= 40] == []


def test_no_file_names_a_place_on_somebodys_machine():
    """Transcripts that tests make up may name invented users, but only `user`, `me` or `dev`."""
    place = re.compile(rb"(?<![\w.])[/](?:home|Users)/(?!user\b|me\b|dev\b)\w+|(?<![\w.])[/]root/\w|[C]:\\\\?Users\\")
    files = []
    for folder, inner, names in os.walk(ROOT):
        inner[:] = [each for each in inner if each not in MADE]  # never entered: environments hold many thousands
        files += [path for each in names if (path := Path(folder, each)).is_file()]
    found = {name(path): match[0] for path in files if (match := place.search(path.read_bytes()))}
    own = {name(path) for path in files if len(ROOT.parts) > 2 and str(ROOT).encode() in path.read_bytes()}
    assert (found, own) == ({}, set())


def pinned(lock: Path) -> dict[str, str]:
    """The versions that a lock file holds; each line but those of hashes names one."""
    text = lock.read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.search(r"^\s*-", text.replace("    --hash=sha256:", ""), re.MULTILINE)
    found = dict(re.findall(r"^([\w.-]+)==([\w.]+).*(?:\n +--hash=sha256:[0-9a-f]{64}.*)+", text, re.MULTILINE))
    assert len(found) == len({line.partition("==")[0] for line in re.findall(r"^\w.*", text, re.MULTILINE)})
    return found


def test_the_lock_holds_hashes_and_no_place_to_fetch_from():
    extras = PROJECT["project"]["optional-dependencies"]
    named = [*PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"]["dev"]]
    named += [asked for extra in extras if extra != "litellm" for asked in extras[extra]]
    wanted = {present(re.match(r"[\w.-]+", asked))[0].lower() for asked in named} - {"backscroll"}
    assert wanted <= set(pinned(ROOT / "requirements-dev.lock")), "run: make lock"


def test_each_extra_is_tested_with_its_lowest_version():
    locks = [pinned(path) for path in (ROOT / "environments").glob("lowest*.lock")]
    extras = PROJECT["project"]["optional-dependencies"]
    for extra in extras.keys() - {"all", "litellm", "ray", "gemini"}:
        own = next(asked for asked in extras[extra] if not asked.startswith("backscroll"))
        name, lowest = present(re.match(r"([\w.-]+)(?:\[.*\])?>=([\d.]+)", own)).groups()
        assert any(f"{lock.get(name)}.0.0".startswith(f"{lowest}.") for lock in locks), (name, "run: make lock")
    assert "litellm" in pinned(ROOT / "environments/litellm.lock")


# -- the package --


def test_public_names():
    assert backscroll.__all__ == [
        "AsyncContextManager",
        "BackscrollError",
        "BackscrollWarning",
        "BlobStore",
        "BudgetError",
        "BudgetOptions",
        "CacheMarks",
        "CachePricing",
        "CompactionResult",
        "ConfigurationError",
        "ConflictError",
        "ContextManager",
        "CorruptionError",
        "DeedRecord",
        "LargestMessage",
        "MessageError",
        "MessageStatus",
        "ModelProfile",
        "NativeCompaction",
        "NativeRequest",
        "OpenCall",
        "Protection",
        "RecallResult",
        "ReferenceNotFoundError",
        "RequestItem",
        "RequestRecord",
        "RequestSnapshot",
        "RequestTooLargeError",
        "SearchHit",
        "StorageOptions",
        "Store",
        "StoreError",
        "StoreUnavailableError",
        "Strategy",
        "Summarizer",
        "SummarizerUsage",
        "SummaryRequest",
        "SummaryResponse",
        "TokenCount",
        "Tokenizer",
        "ToolResultPreview",
        "ToolTokens",
        "TranscriptError",
        "Usage",
        "WindowReport",
        "is_overflow",
        "overflow_sizes",
    ]
    assert all(hasattr(backscroll, public) for public in backscroll.__all__)


def classes_in(hint: Any) -> set[type]:
    """The package's own classes in an annotation."""
    if isinstance(hint, type) and not get_args(hint):
        return {hint} if hint.__module__.startswith("backscroll") else set()
    return {found for inner in get_args(hint) for found in classes_in(inner)}


def test_every_class_that_is_taken_or_returned_is_exported():
    """By the public methods of both managers, and by the fields of what these take and return."""
    found: set[type] = set()
    for manager in (backscroll.ContextManager, backscroll.AsyncContextManager):
        methods = [method for name, method in inspect.getmembers(manager, inspect.isfunction) if name[0] != "_"]
        for method in [manager.__init__, *methods]:
            found |= {each for hint in get_type_hints(method).values() for each in classes_in(hint)}
    new = set(found)
    while new:
        fields = [hint for each in new if is_dataclass(each) for hint in get_type_hints(each).values()]
        new = {each for hint in fields for each in classes_in(hint)} - found
        found |= new
    assert {each.__name__ for each in found if each.__name__ not in backscroll.__all__} == set()


IMPORTING = """
import json, sys, threading
before, heard = set(sys.modules), []
def hear(event, arguments):
    writing = event == "open" and isinstance(arguments[1], str) and arguments[1].strip("rbt")
    outside = event.split(".")[0] in ("socket", "subprocess", "sqlite3", "shutil", "tempfile", "urllib")
    if writing or outside or event in ("os.mkdir", "os.remove", "os.rename", "os.putenv", "os.system", "os.fork"):
        heard.append((event, repr(arguments)))
sys.addaudithook(hear)
import backscroll, backscroll.manager.sync_manager
print(json.dumps({"loaded": sorted(set(sys.modules) - before), "heard": heard, "threads": threading.active_count()}))
"""


@cache
def importing() -> Any:
    done = run("-B", "-W", "error", "-c", IMPORTING)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_importing_loads_no_third_party_package():
    roots = {module.partition(".")[0] for module in importing()["loaded"]}
    assert roots - sys.stdlib_module_names == {"backscroll"}


def test_importing_loads_nothing_that_few_sessions_need():
    heavy = {f"backscroll.stores.{name}" for name in ("sqlite", "jsonl", "postgres", "encryption", "search.sqlite")}
    heavy |= {"psycopg", "fsspec", "toktok", "tiktoken", "asyncio", "ssl", "socket", "sqlite3", "datetime", "uuid"}
    deciding = ("compaction.candidates", "compaction.digest", "compaction.policy", "compaction.verification")
    reading = ("messages.deeds", "messages.statements", "messages.structure", "recall.retrieval", "stores.search")
    heavy |= {f"backscroll.{name}" for name in (*deciding, *reading)}
    assert heavy & set(importing()["loaded"]) == set()


def test_names_that_are_loaded_when_asked_for_are_public():
    assert set(backscroll.__all__) <= set(dir(backscroll))
    assert all(getattr(backscroll, name) is not None for name in backscroll.__all__)
    with pytest.raises(AttributeError, match="no attribute 'is_overflown'"):
        _ = backscroll.is_overflown  # type: ignore[attr-defined]  # the mistake


def test_importing_loads_no_pydantic_which_adapters_need():
    """The base installation has none: only the two adapters whose hosts bring it may import it."""
    assert "pydantic" not in {module.partition(".")[0] for module in importing()["loaded"]}
    named = re.compile(r"^\s*(?:from|import) pydantic\b", re.MULTILINE)
    naming = [path for path in SOURCES if named.search(path.read_text(encoding="utf-8"))]
    room = ROOT / "src/backscroll/integrations"
    assert {path.parent for path in naming} <= {room, room / "amplifier", room / "strands"}
    assert {path.name for path in naming} == {"settings.py"}


def test_importing_loads_neither_the_replay_nor_the_command_line():
    rooms = {module.split(".")[1] for module in importing()["loaded"] if module.startswith("backscroll.")}
    assert rooms.isdisjoint({"replay", "cli"})


def test_importing_loads_no_adapter_and_no_adapter_a_client():
    """The functions for clients read objects by their fields."""
    rooms = {module.split(".")[1] for module in importing()["loaded"] if module.startswith("backscroll.")}
    assert "integrations" not in rooms
    done = run("-B", "-W", "error", "-c", "import sys, backscroll.integrations.clients; print(*sys.modules)")
    assert done.returncode == 0, done.stderr
    roots = {module.partition(".")[0] for module in done.stdout.split()}
    assert roots.isdisjoint({"anthropic", "google", "httpx", "openai", "pydantic"})


def test_commands_import_no_other_command_to_print():
    """Stores and the inspector need the group of commands and its errors, and no replay for them."""
    program = "import sys, backscroll.cli.stores.commands, backscroll.cli.inspect.command; print(*sys.modules)"
    done = run("-B", "-W", "error", "-c", program)
    assert done.returncode == 0, done.stderr
    rooms = {module.removeprefix("backscroll.cli.") for module in done.stdout.split()}
    assert {"group", "stores.commands", "inspect.command"} <= rooms
    assert rooms.isdisjoint(
        {"replay", "replay_table", "replaying", "view", "transcripts", "compare", "summary_options"}
    )


def test_importing_does_nothing_else():
    done = importing()
    assert (done["heard"], done["threads"]) == ([], 1)


def test_the_tree_of_errors_is_drawn_as_it_is():
    drawn, above = set(), {-1: "Exception"}
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"^([ |`-]*)(\w+(?:Error|NotFound|Unavailable))\b(?: \((\w+)\))?(?=  |$)", line):
            depth = len(found[1])
            parent = above[max(level for level in above if level < depth)]
            above = {level: known for level, known in above.items() if level < depth} | {depth: found[2]}
            drawn.add((found[2], parent, found[3]))
    real = set()
    for error in vars(errors).values():
        if isinstance(error, type) and issubclass(error, Exception):
            parent, *others = [base.__name__ for base in error.__bases__]
            real.add((error.__name__, parent, others[0] if others else None))
    assert drawn == real


CORE = ("messages", "tokens", "history", "view", "compaction", "recall", "session")


def imported_by(path: Path, modules: dict[str, Path]) -> set[str]:
    """The package's own modules that a file imports."""
    froms = [node for node in nodes_of(path) if isinstance(node, ast.ImportFrom) and node.module]
    names = {(node.module or "", alias.name) for node in froms for alias in node.names}
    found = {f"{module}.{name}" if f"{module}.{name}" in modules else module for module, name in names}
    return found & modules.keys() - {"backscroll"}


def test_longest_chain_of_imports_from_the_session_down():
    """A reader of the session goes down at most 16 files."""
    root = ROOT / "src"
    modules = {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path for path in SOURCES
    }
    imports = {module: imported_by(path, modules) - {module} for module, path in modules.items()}
    depths: dict[str, int] = {}

    def depth(module: str) -> int:
        if module not in depths:
            depths[module] = 1 + max(map(depth, imports[module]), default=0)
        return depths[module]

    assert max(depth(module) for module in modules if module.startswith("backscroll.session.")) <= 16


def test_no_class_of_the_core_inherits_from_a_concrete_one():
    """What two classes share is a function or a part of both. Events of a lane share a mark without anything in it."""
    nodes = [node for path in SOURCES for node in nodes_of(path) if isinstance(node, ast.ClassDef)]
    own = {node.name: node for node in nodes}
    marks = {name: {ast.unparse(base) for base in node.bases} for name, node in own.items()}
    abstract = {name for name, bases in marks.items() if bases & {"Protocol", "ABC"}}
    core = [
        node for path in SOURCES if path.relative_to(ROOT / "src/backscroll").parts[0] in CORE
        for node in nodes_of(path) if isinstance(node, ast.ClassDef)
    ]  # fmt: skip  # one thought
    bases = {(node.name, ast.unparse(base)) for node in core for base in node.bases}
    concrete = {name for name in own.keys() - abstract - {"LaneEvent"} if not name.endswith("Error")}
    assert {(name, base) for name, base in bases if base in concrete} == set()
