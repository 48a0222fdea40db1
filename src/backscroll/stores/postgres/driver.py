"""Import psycopg, or say how to install it."""

from typing import Any, TypeAlias

from backscroll.errors import ConfigurationError

try:
    import psycopg
    from psycopg import conninfo, errors
except ImportError as error:  # the package or its libpq is missing
    raise ConfigurationError(
        f"a PostgreSQL store needs psycopg ({error}): run pip install 'backscroll[postgres]'"
    ) from error

__all__ = ["Connection", "conninfo", "errors", "psycopg"]

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]
