"""What is too dear for each test to build by itself: a PostgreSQL server, and the files of stores to be damaged."""

import os
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.stores.damaging import closed_by_sqlite, left_by_jsonl, left_by_sqlite
from tests.stores.serving import shared


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The address of a server: that in `BACKSCROLL_TEST_POSTGRES`, or one that all workers of this run share."""
    given = os.environ.get("BACKSCROLL_TEST_POSTGRES")
    if given:
        yield given
        return
    folder = tmp_path_factory.getbasetemp()
    with shared(folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) as address:
        yield address


@pytest.fixture
def postgres(postgres_server: Any) -> Any:
    """Addresses of a schema for each name, and nothing of them afterwards: `postgres("a")`."""
    run, made = uuid4().hex[:12], set()

    def address(name: str = "a") -> str:
        made.add(f"test_{run}_{name}")
        return f"{postgres_server}{'&' if '?' in postgres_server else '?'}schema=test_{run}_{name}"

    yield address
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        for schema in made:
            connection.execute(f'drop schema if exists "{schema}" cascade')


@pytest.fixture(scope="session")
def sqlite_left(tmp_path_factory: Any) -> Any:
    return left_by_sqlite(tmp_path_factory.mktemp("left"))


@pytest.fixture(scope="session")
def sqlite_closed(sqlite_left: Any, tmp_path_factory: Any) -> Any:
    return closed_by_sqlite(sqlite_left, tmp_path_factory.mktemp("closed"))


@pytest.fixture(scope="session")
def jsonl_left(tmp_path_factory: Any) -> Any:
    return left_by_jsonl(tmp_path_factory.mktemp("left"))
