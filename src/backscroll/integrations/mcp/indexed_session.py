"""A session as the index over all sessions has it."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from backscroll.integrations.mcp.facts import SessionFacts

ALL = "select id, name, incarnation, records, upto, facts from session order by id"
ONE = "select id, name, incarnation, records, upto, facts from session where name = ? and incarnation = ?"


class IndexedSession(NamedTuple):
    """One row of the index's table `session`."""

    id: int
    """0: it has no row yet."""
    name: str
    incarnation: str
    records: int
    """Number of records of its log that are indexed."""
    messages: int
    """Number of messages that are indexed."""
    facts: SessionFacts

    @classmethod
    def of(cls, row: Sequence[Any]) -> "IndexedSession":
        """Return the session of a row, whose texts are bytes."""
        number, name, incarnation, records, upto, facts = row
        return cls(
            id=number,
            name=name.decode(),
            incarnation=incarnation.decode(),
            records=records,
            messages=upto,
            facts=SessionFacts(**json.loads(facts)),
        )
