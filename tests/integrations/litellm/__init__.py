"""LiteLLM, the real one, with a fake provider on loopback. It has an environment of its own: `make test-extras`."""

import os

import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else its import asks the network for prices
litellm = pytest.importorskip("litellm", reason="LiteLLM has an environment of its own: make test-extras-litellm")
litellm.suppress_debug_info = True  # it prints where to report errors

OURS = pytest.mark.filterwarnings("ignore", "error::backscroll.BackscrollWarning")
"""LiteLLM and the packages below it warn of themselves; only our warnings fail a test."""
