"""Settings of the whole suite, and its markers. No fixtures: tests build what they need, so that each can be read by
itself.
"""

import gc
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

TESTS = Path(__file__).parent
os.environ["SSL_CERT_FILE"] = str(TESTS / "authority.pem")  # each client that is made loads all certificates there are
MEMORY = Path("/dev/shm")
if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 4 << 30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))  # no disk to wait for: what tests kill are processes
gc.disable()  # until all is collected: what is imported and found there stays

settings.register_profile("default", max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
settings.register_profile("longer", max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
settings.register_profile("thorough", max_examples=2_000, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

PEERS = (
    "clients/",
    "integrations/amplifier/",
    "integrations/adk/",
    "integrations/agent_framework/",
    "integrations/clients/",
    "integrations/langchain/",
    "integrations/litellm/",
    "integrations/mcp/",
    "integrations/openai_agents/",
    "integrations/pydantic_ai/",
    "integrations/strands/",
    "integrations/test_summarizers",
    "evaluation/test_compare_ray",
)
"""Where tests run real code of a framework or of a client."""
SERVERS = {"postgres", "postgres_server", "bucket", "endpoint", "s3"}
"""Fixtures that start a server, and parameters that ask for one."""


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Keep the collector from what was imported, and call it less: a fifth of the tests' time went into it."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by what they run, so that none is forgotten: `pytest -m "not peer and not server"` runs the rest."""
    for item in items:
        if item.path.relative_to(TESTS).as_posix().startswith(PEERS):
            item.add_marker(pytest.mark.peer)
        params = item.callspec.params.values() if hasattr(item, "callspec") else ()
        asked = {*getattr(item, "fixturenames", ()), *(value for value in params if isinstance(value, str))}
        if SERVERS & asked:
            item.add_marker(pytest.mark.server)
