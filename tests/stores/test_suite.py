"""The published suite on every store that is shipped, and on stores that break one promise each."""

import time
from concurrent.futures import Future

import pytest

from backscroll import ConflictError
from backscroll.ports import Stored
from backscroll.stores.conformance import CHECKS, check_store
from backscroll.stores.jsonl import JsonlStore
from backscroll.stores.memory import MemoryStore, _Log
from backscroll.stores.postgres import PostgresStore
from backscroll.stores.sqlite import SqliteStore
from tests.long_run import usually


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_memory(check):
    absent = check(MemoryStore, None)
    assert absent is None or check.__name__ in (
        "check_what_is_durable_survives",
        "check_what_is_shared_is_seen_by_others",
    )


@pytest.mark.parametrize("durability", usually(["normal", "full"], 1))
@pytest.mark.parametrize("kind", [SqliteStore, JsonlStore])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_stores_in_files(check, kind, durability, tmp_path):
    made = []

    def reopen():
        return kind(made[-1], durability)

    def make():
        made.append(tmp_path / f"{len(made)}.db")
        return reopen()

    absent = check(make, reopen)
    assert absent is None or (kind is JsonlStore and ("fork" in absent or "lease" in absent))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_postgres(check, postgres):
    made = []

    def reopen():
        return PostgresStore(postgres(made[-1]))

    def make():
        made.append(f"s{len(made)}")
        return reopen()

    assert check(make, reopen) is None


def test_what_a_store_does_not_claim_is_absent_and_not_passed():
    report = check_store(MemoryStore)
    assert report.absent == {
        "check_what_is_durable_survives": "the store does not claim to be durable",
        "check_what_is_shared_is_seen_by_others": "the store does not claim to be shared",
    }
    assert len(report.passed) == len(CHECKS) - 2
    assert "check_what_is_erased_is_gone" in report.passed


class Overwriting(MemoryStore):
    """The last writer wins."""

    def append(self, session, expected_position, records, **named):
        self._logs.setdefault(session, _Log()).records[expected_position:] = records
        done = Future()
        done.set_result(None)
        return done


class HalfWriting(MemoryStore):
    """A conflict is noticed after the first record is kept."""

    def append(self, session, expected_position, records, **named):
        super().append(session, self.length(session), records[:1])
        return super().append(session, expected_position + 1, records[1:])


class Trimming(MemoryStore):
    """Bodies are texts to it."""

    def read(self, session, start=0, stop=None):
        for at, record in super().read(session, start, stop):
            yield Stored(at, record._replace(body=record.body.decode("utf-8", "replace").encode()))


class Filing(MemoryStore):
    """A name is a file to it, on a system where case is none."""

    def append(self, session, expected_position, records, **named):
        return super().append(session.lower(), expected_position, records)

    def read(self, session, start=0, stop=None):
        return super().read(session.lower(), start, stop)

    def length(self, session):
        return super().length(session.lower())


class Trusting(MemoryStore):
    """Takes any name."""

    def length(self, session):
        return len(self._logs[session].records) if session in self._logs else 0


class Racing(MemoryStore):
    """Looks at the end first, and writes then."""

    def append(self, session, expected_position, records, **named):
        done = Future()
        end = self.length(session)
        if expected_position != end:
            done.set_exception(ConflictError("no"))
            return done
        for record in records:
            super().append(session, self.length(session), [record])
            time.sleep(0.001)
        done.set_result(None)
        return done


class Remembering(MemoryStore):
    """Erases what is listed only."""

    def delete(self, session, cascade=False):
        self._gone = {*getattr(self, "_gone", ()), session}

    def sessions(self):
        return [name for name in super().sessions() if name not in getattr(self, "_gone", ())]


class Forgetful(MemoryStore):
    """An append may mean any incarnation."""

    def append(self, session, expected_position, records, **named):
        return super().append(session, expected_position, records)


class Numbering(MemoryStore):
    """Every session of a name is the same one."""

    def tip(self, session):
        return super().tip(session)._replace(incarnation=session if self.length(session) else None)


class Boasting(MemoryStore):
    """Claims to survive."""

    @property
    def capabilities(self):
        return frozenset(("durable", "shared", "delete"))


class Giving(MemoryStore):
    """Keeps a session for whoever asked last."""

    def lease(self, session, owner, seconds):
        self._leases.pop(session, None)
        return super().lease(session, owner, seconds)


class Hasty(MemoryStore):
    """Makes nobody wait for a turn to end."""

    def append(self, session, expected_position, records, *, turn=None, **named):
        if turn is not None:
            turn.end()
        return self._now(session, expected_position, records, **named)

    def _now(self, session, first, records, incarnation=None):
        done = Future()
        answer = self._append(session, first, records, incarnation)
        if isinstance(answer, ConflictError):
            done.set_exception(answer)
        else:
            done.set_result(answer)
        return done


class Closing(MemoryStore):
    """Claims to survive, and forgets at the first close."""

    @property
    def capabilities(self):
        return frozenset(("durable",))

    def close(self):
        self._logs.clear()


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (Overwriting, "check_a_wrong_place_is_a_conflict"),
        (HalfWriting, "check_a_wrong_place_is_a_conflict"),
        (Trimming, "check_bytes_come_back_exactly"),
        (Filing, "check_a_name_is_data"),
        (Trusting, "check_a_bad_name_is_refused"),
        (Racing, "check_reading_while_it_is_written"),
        (Remembering, "check_what_is_erased_is_gone"),
        (Forgetful, "check_the_tip_says_whose_log_it_is"),
        (Forgetful, "check_who_begins_again_is_another"),
        (Numbering, "check_who_begins_again_is_another"),
        (Boasting, "check_what_is_durable_survives"),
        (Boasting, "check_what_is_shared_is_seen_by_others"),
        (Hasty, "check_a_turn_is_one_writers_alone"),
        (Giving, "check_a_lease_keeps_a_session"),
        (Closing, "check_use_after_close_opens_again"),
    ],
)
def test_a_store_that_breaks_a_promise_fails_its_check(broken, check):
    (found,) = [each for each in CHECKS if each.__name__ == check]
    with pytest.raises((AssertionError, ConflictError)):
        found(broken, broken)
