"""The code blocks of the documentation run, each by itself, and print what the page says."""

import os
import subprocess
import sys
from contextlib import nullcontext
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
LEAVE = "\nimport gc, os, sys; gc.collect(); sys.stdout.flush(); sys.stderr.flush(); os._exit(0)"
"""How a program ends that used amplifier-core 2.0.2, whose own threads may still be letting go of what they held: one
that only emits 60 events crashes in 1 of 13 runs as the interpreter ends (`PyGILState_Release`) on a busy machine.
"""


FRAMEWORKS = (
    "adk", "agent-framework", "amplifier", "anthropic", "clients", "gemini", "langchain", "mcp", "openai",
    "openai-agents", "proxy", "pydantic-ai", "strands",
)  # fmt: skip  # one list
"""Pages whose blocks load a framework or clients, which takes seconds each."""


def runs_long(page: Path) -> Any:
    return pytest.param(page, marks=pytest.mark.long if page.stem in FRAMEWORKS else (), id=name(page))


@pytest.mark.parametrize("page", [runs_long(page) for page in WITH_CODE])
def test_python_blocks_run_each_by_itself_without_a_warning(page, tmp_path):
    """A block that prints is followed by a text block with its output; one with a client reaches a fake provider."""
    package = ELSEWHERE.get(name(page))
    if package is not None and find_spec(package) is None:
        pytest.skip(f"needs {package}, in an environment of its own: make test-extras")
    strict = [] if package else ["-W", "error"]  # these packages warn of themselves
    for line, code in blocks(page, "python"):
        output = printed(page, line) if "print(" in code else ""
        script = "\n" * line + code  # so that a traceback names the line of the page
        program = f"exec(compile({script!r}, {name(page)!r}, 'exec'), {{'__name__': '__main__'}})"
        if "amplifier_core" in code:
            program += LEAVE
        command = [sys.executable, *strict, "-c", program]
        with environment() if any(client in code for client in CLIENTS) else nullcontext({}) as servers:
            variables = os.environ | QUIET | servers
            done = subprocess.run(
                command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=120, check=False
            )
        assert (done.returncode, done.stdout) == (0, output), f"{name(page)}:{line}\n{done.stderr}"
        assert package or done.stderr == "", f"{name(page)}:{line}"
