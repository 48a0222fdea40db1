"""The code blocks of the documentation run, each by itself, and print what the page says."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.integrations.clients.documented import CLIENTS, environment
from tests.project.pages import WITH_CODE, blocks, name, printed

ELSEWHERE = {
    "docs/integrations/autogen.md": "autogen_agentchat",
    "docs/integrations/crewai.md": "crewai",
    "docs/integrations/litellm.md": "litellm",
    "docs/integrations/smolagents.md": "smolagents",
}
"""Pages of packages that need an environment of their own: `make test-extras` runs these."""
QUIET = {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true", "LITELLM_LOCAL_MODEL_COST_MAP": "true"}
"""What keeps these packages from the network."""
LEAVE = "import gc, os, sys; gc.collect(); sys.stdout.flush(); sys.stderr.flush(); os._exit(0)"
"""How a program ends that used amplifier-core 2.0.2, whose own threads may still be letting go of what they held: one
that only emits 60 events crashes in 1 of 13 runs as the interpreter ends (`PyGILState_Release`) on a busy machine.
"""
RUN = """
import contextlib, io, json, sys
def run(scripts):
    for script, page in scripts:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(script, page, "exec"), {"__name__": "__main__"})
        print(json.dumps(out.getvalue()), flush=True)
"""
"""Runs blocks, each with names of its own, and prints what each printed."""
ALONE = RUN + "run(json.loads(sys.stdin.read()))\n"
FORKING = (
    RUN
    + """
import os, signal
from backscroll import ContextManager
with ContextManager() as context:
    context.append({"role": "user", "content": "Loads the vocabulary."})
for line in sys.stdin:
    job = json.loads(line)
    if not (child := os.fork()):
        signal.alarm(120)
        os.chdir(job["folder"])
        for stream, path in ((1, job["printed"]), (2, job["errors"])):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), stream)
        run(job["scripts"])
        break  # and end as any program does
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
)
"""Forks for each page, as an interpreter takes half a second to start and to count."""


FRAMEWORKS = (
    "adk", "agent-framework", "amplifier", "anthropic", "clients", "gemini", "langchain", "mcp", "openai",
    "openai-agents", "proxy", "pydantic-ai", "strands", "summaries",
)  # fmt: skip  # one list
"""Pages whose blocks load a framework or clients, which takes seconds each."""


def runs_long(page: Path) -> Any:
    return pytest.param(page, marks=pytest.mark.long if page.stem in FRAMEWORKS else (), id=name(page))


def alone(page: Path, code: str) -> bool:
    """Whether a block needs a process of its own: frameworks leave things behind, and no other block may have asked a
    fake provider.
    """
    return page.stem in FRAMEWORKS or any(client in code for client in CLIENTS)


@pytest.fixture(scope="module")
def forking() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-W", "error", "-c", FORKING]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=os.environ | QUIET, text=True) as process:
        yield process


def forked(process: subprocess.Popen[str], scripts: list[tuple[str, str]], folder: Path, own: Path) -> Any:
    """Exit code and outputs of blocks that share a forked process, in this folder."""
    assert process.stdin is not None
    assert process.stdout is not None
    out, errors = own / "printed", own / "errors"
    job = {"scripts": scripts, "folder": str(folder), "printed": str(out), "errors": str(errors)}
    process.stdin.write(json.dumps(job) + "\n")
    process.stdin.flush()
    code = int(process.stdout.readline())
    return subprocess.CompletedProcess((), code, out.read_text("utf-8"), errors.read_text("utf-8"))


def by_itself(page: Path, scripts: list[tuple[str, str]], folder: Path) -> Any:
    """Exit code and outputs of a block that has a process of its own, beside fake providers where it has a client."""
    code = scripts[0][0]
    strict = [] if name(page) in ELSEWHERE else ["-W", "error"]  # these packages warn of themselves
    program = ALONE + (LEAVE if "amplifier_core" in code else "")
    beside: AbstractContextManager[Any] = nullcontext({})
    if any(client in code for client in CLIENTS):
        beside = environment()
    with beside as servers:
        return subprocess.run(
            [sys.executable, *strict, "-c", program],
            cwd=folder, env=os.environ | QUIET | servers, input=json.dumps(scripts),
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip  # one list


@pytest.mark.parametrize("page", [runs_long(page) for page in WITH_CODE])
def test_python_blocks_run_each_by_itself_without_a_warning(page, tmp_path, tmp_path_factory, forking):
    """A block that prints is followed by a text block with its output; one with a client reaches a fake provider.

    Those of a page that need no framework share a process.
    """
    package = ELSEWHERE.get(name(page))
    if package is not None and find_spec(package) is None:
        pytest.skip(f"needs {package}, in an environment of its own: make test-extras")
    found = blocks(page, "python")
    together = [each for each in found if not alone(page, each[1])]
    for group in [together, *([each] for each in found if alone(page, each[1]))]:
        if not group:
            continue
        # With the lines of the page before a block empty, a traceback names the line of the page.
        scripts = [("\n" * line + code, name(page)) for line, code in group]
        if group is together and package is None:
            done = forked(forking, scripts, tmp_path, tmp_path_factory.mktemp("outputs"))
        else:
            done = by_itself(page, scripts, tmp_path)
        assert done.returncode == 0, f"{name(page)}\n{done.stderr}"
        assert package or done.stderr == "", name(page)
        outputs = [json.loads(line) for line in done.stdout.splitlines()]
        assert outputs == [printed(page, line) if "print(" in code else "" for line, code in group], name(page)
