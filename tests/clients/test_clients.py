"""Each client does 60 steps with sub-agents, is resumed, compacts by itself and goes on, while its proxy is killed."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.clients.command_lines import CLIENTS, INSTALLED, PACKAGES, CommandLine, Installed
from tests.clients.judging import figures, loaded, problems
from tests.clients.page import versions
from tests.clients.provider import ScriptedProvider, serving
from tests.clients.proxy import Proxy
from tests.clients.repository import make_repository

BUDGET = 40_000
"""The clients' own prompts and tools take up to 20,000 of them. With more, nothing would have to be left out."""

pytestmark = pytest.mark.clients


@contextmanager
def killing(proxy: Proxy, repository: Path) -> Iterator[list[str]]:
    """Kill the proxy and begin it again whenever a command of the script waits for that. Yields how often."""
    killed: list[str] = []
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(0.2):
            for pause in (repository / "pauses").glob("pause-*"):
                if not (go := pause.with_name(pause.name.replace("pause", "go"))).exists():
                    proxy.kill()
                    proxy.begin()
                    killed.append(pause.name)
                    go.touch()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield killed
    finally:
        is_over.set()
        thread.join()


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_client_is_managed_through_kills_and_compactions(client: CommandLine, tmp_path: Path) -> None:
    if not (INSTALLED / client.program).exists():
        pytest.skip(f"{client.name} is not installed: npm or its registry cannot be reached")
    provider, repository = ScriptedProvider(), tmp_path / "repository"
    make_repository(repository)
    with serving(provider) as address:
        proxy = Proxy(address, tmp_path, BUDGET)
        proxy.begin()
        try:
            driven = Installed(client, tmp_path / "home", repository, proxy)
            with killing(proxy, repository) as killed:
                driven.command(*client.run, "RUN=a STEPS=60")
                proxy.kill()
                proxy.begin()
                driven.command(*client.resume, "RUN=b STEPS=24")
                driven.compact("RUN=c STEPS=24")
                driven.command(*client.resume, "RUN=d STEPS=12")
        finally:
            proxy.kill()
    seen = figures(provider, proxy)
    print(client.name, PACKAGES[client.package], seen)
    found = problems(provider, proxy, BUDGET)
    assert not found, "\n".join(found)
    assert killed[:2] == ["pause-a-15", "pause-a-38"]
    assert seen.outcomes["compacted"] > 0
    assert any(map(loaded, provider.asked)) or not client.loads_tools
    assert seen.summaries > 0, f"{client.name} never compacted by itself"


def test_page_names_the_versions_that_are_driven() -> None:
    assert versions() == PACKAGES
