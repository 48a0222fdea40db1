"""Translate errors of the server and of the connection into Backscroll's, with advice."""

from backscroll.errors import CorruptionError, StoreError, StoreUnavailableError
from backscroll.stores.postgres.address import Address, scrubbed
from backscroll.stores.postgres.driver import psycopg

_UNAVAILABLE = {
    "0A": "the server, or a pooler before it, does not support this: use PostgreSQL 13 or later",
    "22P05": "search needs the encoding UTF8: use a database with it",
    "25006": "it is read-only, like a standby: use the primary, or add target_session_attrs=read-write",
    "28": "the server rejects this user and password: check both, and its pg_hba.conf",
    "3D": "the database does not exist: create it, or use another one",
    "40": "other transactions changed the same rows: try again",
    "42501": "the role lacks a permission: an administrator must grant it the schema and its tables",
    "53100": "the server's disk is full: free some space, then repeat the call; nothing was partly written",
    "53200": "the server is out of memory: try again with less at once",
    "53300": "the server has no connection left: set a smaller `connections` in the address, raise the server's "
    "max_connections, or put a pooler before it",
    "54": "the data exceeds a limit of PostgreSQL: send less at once",
    "55P03": "another transaction held a lock for longer than the server's lock_timeout: try again",
    "57014": "the server canceled it, possibly for its statement_timeout: try again, or raise that",
    "57": "the server is starting or stopping: repeat the call when it is up",
    "58": "the server cannot read or write its files: check its log; nothing was partly written",
}
_DAMAGED = {
    "42": "its tables differ from those that Backscroll created",
    "23": "its rows contradict each other",
    "XX001": "the server found damaged data",
    "XX002": "the server found a damaged index",
}
_REACH = "check that the server runs, and the host, port, user and password of the address"


def state(error: BaseException | None) -> str:
    """The SQLSTATE of an error; empty if the server sent none."""
    return getattr(error, "sqlstate", None) or ""


def fault(address: Address, error: psycopg.Error) -> StoreError:
    """The Backscroll error for one of the server's."""
    code, text = state(error), scrubbed(str(error), address.secrets)
    for known, advice in _DAMAGED.items():
        if code.startswith(known) and code not in _UNAVAILABLE:
            return damaged(address, f"{advice} ({code}: {text})")
    for remedy in (_UNAVAILABLE.get(code), _UNAVAILABLE.get(code[:2])):
        if remedy:
            return StoreUnavailableError(f"{address.shown}: {remedy} ({code}: {text})")
    if not code or code.startswith("08"):
        return unreachable(address, error)
    return StoreUnavailableError(f"{address.shown}: the server rejected the call ({code}: {text})")


def unreachable(address: Address, error: psycopg.Error) -> StoreUnavailableError:
    """The error for a failed connection."""
    return StoreUnavailableError(
        f"{address.shown} cannot be reached: {scrubbed(str(error), address.secrets)}; {_REACH}"
    )


def damaged(address: Address, what: str) -> CorruptionError:
    """The error for tables that differ from what was written."""
    return CorruptionError(
        f"{address.shown} is damaged: {what}; `verify()` lists all damage; restore the database from a backup"
    )
