"""The code of the page about LiteLLM runs, each block by itself and without a warning of ours."""

from pathlib import Path

import pytest

from tests.code_blocks import blocks
from tests.integrations.litellm import OURS

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs/litellm.md"
pytestmark = OURS


@pytest.mark.parametrize(("line", "code"), blocks(PAGE, "python"))
def test_python_blocks_run(line, code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    exec(compile("\n" * line + code, PAGE.name, "exec"), {"__name__": "__main__"})
