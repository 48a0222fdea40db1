"""What PostgreSQL and the way to it complain of, as errors that say what to do. Nothing else may live here."""

from backscroll.errors import CorruptionError, StoreError, StoreUnavailableError
from backscroll.stores.postgres.address import Address, scrubbed
from backscroll.stores.postgres.driver import psycopg

_UNAVAILABLE = {
    "0A": "the server, or a pooler before it, cannot do this: PostgreSQL 13 or later is needed",
    "22P05": "the database has another encoding than UTF8, which searching needs: name a database with UTF8",
    "25006": "it takes no writes, as a standby does: name the primary, or add target_session_attrs=read-write",
    "28": "the server lets nobody in by that name and password: look at both, and at its pg_hba.conf",
    "3D": "the server has no such database: create it, or name another one",
    "40": "too many worked on the same rows: try again",
    "42501": "its role may not do that: an administrator has to grant it the schema and its tables",
    "53100": "the server's disk is full: free some, and the same call will work; nothing was half written",
    "53200": "the server has no memory for it: try again, with less at once",
    "53300": "the server has no connection left: set a smaller `connections` in the address, raise the server's "
    "max_connections, or put a pooler before it",
    "54": "it is larger than PostgreSQL takes",
    "55P03": "others held a lock for as long as the server's lock_timeout allows: try again",
    "57014": "the server ended it, as its statement_timeout may ask for: try again, or allow more time",
    "57": "the server is starting or stopping: the same call will work when it is up",
    "58": "the server cannot read or write its files: look at its log; nothing was half written",
}
_DAMAGED = {
    "42": "its tables are not those that Backscroll made",
    "23": "its rows contradict each other",
    "XX001": "the server found damaged data",
    "XX002": "the server found a damaged index",
}
_REACH = "is the server running, and are host, port, user and password of the address right?"


def state(error: BaseException | None) -> str:
    """The five characters that say what went wrong; empty where the server did not say."""
    return getattr(error, "sqlstate", None) or ""


def fault(address: Address, error: psycopg.Error) -> StoreError:
    """The error to raise instead."""
    code, text = state(error), scrubbed(str(error), address.secrets)
    for known, advice in _DAMAGED.items():
        if code.startswith(known) and code not in _UNAVAILABLE:
            return damaged(address, f"{advice} ({code}: {text})")
    for told in (_UNAVAILABLE.get(code), _UNAVAILABLE.get(code[:2])):
        if told:
            return StoreUnavailableError(f"{address.shown}: {told} ({code}: {text})")
    if not code or code.startswith("08"):
        return unreachable(address, error)
    return StoreUnavailableError(f"{address.shown}: the server refused it ({code}: {text})")


def unreachable(address: Address, error: psycopg.Error) -> StoreUnavailableError:
    """There is no connection."""
    return StoreUnavailableError(
        f"{address.shown} cannot be reached: {scrubbed(str(error), address.secrets)}; {_REACH}"
    )


def damaged(address: Address, what: str) -> CorruptionError:
    """The tables do not hold what was written."""
    return CorruptionError(
        f"{address.shown} is damaged: {what}; `verify()` lists what is wrong, a backup is the way back"
    )
