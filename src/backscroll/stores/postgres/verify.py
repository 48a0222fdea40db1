"""Find damage in the tables. Nothing is repaired."""

from collections.abc import Iterator
from functools import partial

from backscroll.errors import CorruptionError
from backscroll.stores.postgres import rows
from backscroll.stores.postgres.server import Server
from backscroll.stores.problems import Problem


def verify(server: Server, name: str | None) -> Iterator[Problem]:
    """Read all sessions, or the one of that name with what it shares, and yield what differs from what was written.

    Changes nothing, and holds no connection while a problem is yielded.
    """
    if name is None:
        for number, id_ in server.run(lambda connection: rows.strays(connection, server.schema)):
            yield Problem(None, None, f"{number} records belong to a missing session with the id {id_}")
    for found in server.run(lambda connection: rows.all_begun(connection, server.schema)):
        if name is None or found == name:
            yield from _session(server, found)


def _session(server: Server, name: str) -> Iterator[Problem]:
    try:
        parts = server.run(lambda connection: rows.parts(connection, server.schema, name))
    except CorruptionError as error:
        yield Problem(name, None, str(error))
        return
    for part in parts:
        yield from _part(server, name, part, last=part is parts[-1])


def _part(server: Server, name: str, part: rows.Part, *, last: bool) -> Iterator[Problem]:
    expected, stop = part.low, rows.LAST if last else part.high
    while True:
        batch = server.run(partial(rows.batch, schema=server.schema, part=part, start=expected, stop=stop))
        for row in batch:
            at = row[0]
            for missing in range(expected, min(at, part.high)):
                yield Problem(name, missing, "the record is missing")
            expected = at + 1
            if at >= part.high:
                yield Problem(name, at, f"there is a record behind the end of the log, which is before {part.high}")
            try:
                rows.stored_of(part.name, row)
            except CorruptionError:
                yield Problem(name, at, "the record is not what was written there")
        if not batch:
            break
    for missing in range(expected, part.high):
        yield Problem(name, missing, "the record is missing")
