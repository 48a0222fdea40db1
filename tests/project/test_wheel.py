"""The built wheel by itself: what a bare installation gives, without extras, source tree or development packages.

`make check` runs these; they take too long for `make test`.
"""

import compileall
import json
import os
import shutil
import subprocess
import sys
import textwrap
import zipfile
from dataclasses import dataclass
from email.message import Message
from email.parser import Parser
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.long
BASE = ("toktok", "imagesize")  # what the base installation names, by import name
NEEDS_EXTRA = (
    *(f"backscroll.cli.{name}" for name in ("commands", "compare", "compare_table")),
    *("backscroll.cli.demo.command", "backscroll.cli.group"),
    *(f"backscroll.cli.inspect.{name}" for name in ("command", "data", "export", "server")),
    *(f"backscroll.cli.{name}" for name in ("lint", "lint_inputs", "lint_table")),
    *(f"backscroll.cli.mcp.{name}" for name in ("command", "log_import", "log_messages", "log_session", "unredacted")),
    "backscroll.cli.redaction.options",
    *(f"backscroll.cli.{name}" for name in ("replay", "replay_table", "replaying", "screen")),
    *(f"backscroll.cli.serve.{name}" for name in ("command", "request_log", "server")),
    *(f"backscroll.cli.stores.{name}" for name in ("commands", "context_bar", "locate", "render", "transfer")),
    *(f"backscroll.cli.{name}" for name in ("summary_options", "transcripts", "tune", "tune_table", "view")),
)
FRAMEWORKS = {
    "adk": ("Google ADK", "adk"),
    "agent_framework": ("Agent Framework", "agent-framework"),
    "langchain": ("LangChain", "langchain"),
    "litellm": ("LiteLLM", "litellm"),
    "mcp": ("The SDK mcp", "mcp"),
    "openai_agents": ("The OpenAI Agents SDK", "openai-agents"),
    "proxy": ("The proxy", "serve"),
    "pydantic_ai": ("Pydantic AI", "pydantic-ai"),
    "strands": ("Strands", "strands"),
}
"""Rooms of `backscroll.integrations`: the name of each framework, and the extra that brings it."""
NEEDS_PYDANTIC = (
    *("amplifier_module_context_backscroll", "backscroll.integrations.settings"),
    *(f"backscroll.integrations.amplifier.{name}" for name in ("mount", "settings")),
)
NEEDS_DRIVER = ("backscroll.stores.postgres", "backscroll.stores.search.postgres")  # and what begins like these
WITHHELD = (
    "click",
    "rich",
    "psycopg",
    "pydantic",
    "tiktoken",
    "strands",
    "amplifier_core",
    "agents",
    "google",
    "langchain",
    "langgraph",
    "litellm",
    "pydantic_ai",
    "agent_framework",
)


@dataclass(frozen=True)
class Wheel:
    """An unpacked wheel beside its base dependencies, in a folder that holds nothing else."""

    folder: Path
    names: frozenset[str]

    def run(self, program: str) -> str:
        """The output of a program that sees the standard library, the wheel and its base dependencies only."""
        visible = f"import sys; sys.path.insert(0, {str(self.folder)!r})\n"
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-B", "-W", "error", "-c", visible + textwrap.dedent(program)],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def metadata(self) -> Message:
        (path,) = self.folder.glob("backscroll-*.dist-info/METADATA")
        return Parser().parsestr(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Wheel:
    made, folder = tmp_path_factory.mktemp("made"), tmp_path_factory.mktemp("bare")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(made), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = made.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
        names = frozenset(archive.namelist())
    for dependency in BASE:
        reveal(dependency, folder)
    compileall.compile_dir(folder, quiet=1)  # each program reads what an installation has compiled
    return Wheel(folder, names)


def reveal(dependency: str, folder: Path) -> None:
    spec = find_spec(dependency)
    assert spec is not None
    assert spec.origin is not None
    if spec.submodule_search_locations:
        shutil.copytree(spec.submodule_search_locations[0], folder / dependency)
    else:
        shutil.copy(spec.origin, folder)


def test_wheel_holds_only_package_types_and_licence(wheel):
    """It holds the package its types and its licence and nothing else."""
    files = [*(ROOT / "src" / "backscroll").rglob("*.py"), *(ROOT / "src/backscroll/cli/inspect/page").iterdir()]
    package = {path.relative_to(ROOT / "src").as_posix() for path in files}
    held = {name for name in wheel.names if ".dist-info/" not in name}
    assert held == package | {"backscroll/py.typed", "amplifier_module_context_backscroll/__init__.py"}
    assert any(name.endswith("/licenses/LICENSE") for name in wheel.names)


def test_it_asks_for_the_base_dependencies_only(wheel):
    asked = wheel.metadata().get_all("Requires-Dist", [])
    base = sorted(line.partition(">")[0].partition("<")[0] for line in asked if "extra ==" not in line)
    assert base == ["imagesize", "regex", "toktok-rs"]
    assert sorted(wheel.metadata().get_all("Provides-Extra", [])) == [
        "adk", "agent-framework", "all", "amplifier", "anthropic", "cli", "encryption", "gemini", "inspect",
        "langchain", "litellm", "mcp", "openai", "openai-agents", "otel", "postgres", "pydantic-ai", "ray", "s3",
        "serve", "strands", "tiktoken",
    ]  # fmt: skip


def test_nothing_else_is_visible_to_it(wheel):
    program = f"""
        from importlib.util import find_spec
        print([name for name in {WITHHELD!r} if find_spec(name)])
    """
    assert wheel.run(program) == "[]\n"


@pytest.mark.parametrize(
    ("extra", "package", "source", "use"),
    [
        ("openai", "openai", "integrations.summarizers.openai import OpenAISummarizer", 'OpenAISummarizer("x")'),
        ("anthropic", "anthropic", "integrations.summarizers.anthropic import *", 'AnthropicSummarizer("x")'),
        ("otel", "opentelemetry", "manager.sync_manager import ContextManager", "ContextManager(telemetry=True)"),
        ("ray", "ray", "evaluation.compare.ray_pool import rows", "next(rows([]))"),
    ],
)
def test_missing_package_is_named_with_the_extra_that_brings_it(wheel, extra, package, source, use):
    program = f"""
        from importlib.util import find_spec
        from backscroll.errors import ConfigurationError
        from backscroll.{source}
        assert find_spec({package!r}) is None
        try:
            {use}
        except ConfigurationError as error:
            print(error)
    """
    assert f"pip install 'backscroll[{extra}]'" in wheel.run(program)


def test_every_module_of_the_base_installation_imports_by_itself(wheel):
    modules = sorted(name.removesuffix(".py").replace("/", ".") for name in wheel.names if name.endswith(".py"))
    modules = [module.removesuffix(".__init__") for module in modules]
    program = f"""
        import backscroll, importlib, json
        def ours():
            return {{name for name in sys.modules if name.partition(".")[0] == "backscroll"}}
        # whichever module is asked for, the package itself comes first: what that loads has been imported so
        first, failed = ours(), {{}}
        for module in {modules!r}:
            for loaded in ours() - first:
                parent, _, name = loaded.rpartition(".")
                if parent in first:
                    vars(sys.modules[parent]).pop(name, None)
                del sys.modules[loaded]
            try:
                importlib.import_module(module)
            except (ModuleNotFoundError, ValueError) as error:
                failed[module] = (getattr(error, "name", None) or str(error)).partition(".")[0]
        print(json.dumps(failed))
    """
    failed = json.loads(wheel.run(program))
    for room, (framework, extra) in FRAMEWORKS.items():
        inside = {module for module in failed if f"{module}.".startswith(f"backscroll.integrations.{room}.")}
        asked = {failed.pop(module) for module in inside}
        assert asked <= {f"{framework} is not installed: pip install 'backscroll[{extra}]'"}
        assert bool(inside) == (ROOT / "src/backscroll/integrations" / room).is_dir()
    assert {failed.pop(module) for module in NEEDS_PYDANTIC} == {"pydantic"}, "Amplifier brings it"
    told = {why for module, why in list(failed.items()) if module.startswith(NEEDS_DRIVER) and failed.pop(module)}
    assert [why.partition("(")[0] for why in told] == ["a PostgreSQL store needs psycopg "]
    assert tuple(failed) == NEEDS_EXTRA
    server = "The SDK mcp is not installed: pip install 'backscroll[mcp]'"
    assert set(failed.values()) <= {"click", "rich", "starlette", "uvicorn", server}


def test_a_conversation_is_compacted_and_recalled(wheel):
    program = """
        import asyncio
        from backscroll import AsyncContextManager, ContextManager

        context = ContextManager(budget=2_000)
        context.append({"role": "user", "content": "Read them all."})
        for number in range(20):
            function = {"name": "read", "arguments": "{}"}
            calls = [{"id": f"call_{number}", "type": "function", "function": function}]
            context.append({"role": "assistant", "content": None, "tool_calls": calls})
            text = f"file {number} " + "word " * 400
            context.append({"role": "tool", "tool_call_id": f"call_{number}", "content": text})
            view = context.get_messages_for_request()
        assert context.usage().compactions > 0 and context.usage().used_upper_bound <= 2_000
        assert len(context.get_messages()) == 41 and view[0] == context.get_messages()[0]
        assert context.recall(2) == "file 0 " + "word " * 400
        assert context.recall(query="file 7").hits
        context.close()

        async def main():
            context = AsyncContextManager()
            await context.append({"role": "user", "content": "hello world, how are you?"})
            return await context.get_messages_for_request(), context.usage().used.tokens

        print(asyncio.run(main()))
    """
    assert wheel.run(program) == "([{'role': 'user', 'content': 'hello world, how are you?'}], 11)\n"


def test_media_are_measured_by_their_headers(wheel):
    program = """
        from backscroll.tokens.engines.media import image_size
        import base64, struct
        header = b"\\x89PNG\\r\\n\\x1a\\n" + struct.pack(">I", 13) + b"IHDR" + struct.pack(">II", 640, 480)
        print(image_size(base64.b64encode(header + b"\\x08\\x02\\x00\\x00\\x00").decode()))
    """
    assert wheel.run(program) == "(640, 480)\n"


def test_the_command_says_in_one_line_what_is_missing(wheel):
    program = """
        import contextlib, io
        from backscroll.cli.main import main
        with contextlib.redirect_stderr(io.StringIO()) as said:
            code = main(["replay", "x.json"])
        print(code, said.getvalue(), end="")
    """
    assert wheel.run(program) == "2 backscroll: the package 'click' is missing; run: pip install 'backscroll[cli]'\n"


def test_the_module_runs_as_the_command_does(wheel):
    program = """
        import contextlib, io, runpy
        for arguments in (["--version"], ["sessions", "x.db"]):
            sys.argv = ["backscroll", *arguments]
            with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.suppress(SystemExit):
                runpy.run_module("backscroll", run_name="__main__")
            print(said.getvalue(), end="")
    """
    missing = "backscroll: the package 'click' is missing; run: pip install 'backscroll[cli]'\n"
    version = wheel.metadata()["Version"]
    assert wheel.run(program) == f"backscroll, version {version}\n{missing}"


def test_the_demo_runs_where_only_the_package_is_installed(wheel, tmp_path):
    """With the extra `cli`, in an environment of its own, from an empty folder, within 80 columns."""
    environment, empty = tmp_path / "environment", tmp_path / "empty"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True, timeout=60)
    (packages,) = environment.glob("lib/python*/site-packages")
    shutil.copytree(wheel.folder, packages, dirs_exist_ok=True)
    for dependency in ("click", "rich", "pygments", "markdown_it", "mdurl", "regex"):
        reveal(dependency, packages)
    empty.mkdir()
    line = [str(environment / "bin" / "python"), "-m", "backscroll", "demo"]
    clean = {"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)}
    done = subprocess.run(line, cwd=empty, env=clean, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "The next view is the same, byte for byte" in " ".join(done.stdout.split())
    (made,) = tmp_path.glob("backscroll-demo-*")
    assert {path.name for path in made.iterdir()} >= {"session.db", "session.jsonl"}
    assert list(empty.iterdir()) == []
    prose = [line for line in done.stdout.replace(str(made), "/tmp/x").splitlines() if "-m backscroll" not in line]
    assert [line for line in prose if len(line) > 80] == []
