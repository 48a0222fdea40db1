"""psycopg, or what to install. Nothing else may live here."""

from typing import Any, TypeAlias

from backscroll.errors import ConfigurationError

try:
    import psycopg
    from psycopg import conninfo, errors
except ImportError as error:  # of the package, or of the library that it needs
    raise ConfigurationError(
        f"a store in PostgreSQL needs psycopg ({error}): install it by pip install 'backscroll[postgres]'"
    ) from error

__all__ = ["Connection", "conninfo", "errors", "psycopg"]

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]
