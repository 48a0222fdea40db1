"""A session that another process deletes, and maybe begins again, under a manager that goes on living."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import ContextManager
from backscroll.errors import ConflictError
from backscroll.ports import Tip
from backscroll.stores.blobs.folder import FolderBlobs
from backscroll.stores.blobs.offloading import OffloadingStore
from backscroll.stores.encryption import EncryptedStore
from backscroll.stores.jsonl import JsonlStore
from backscroll.stores.memory import MemoryStore
from backscroll.stores.postgres import PostgresStore
from backscroll.stores.sqlite import SqliteStore
from tests.builders import MessageFactory
from tests.fakes import count_quarter
from tests.profiles import examples

TALK = MessageFactory("openai")
OLD, NEW = "the old secret", "a new beginning"
KINDS = ["memory", "sqlite", "jsonl", "postgres", "encrypted", "offloaded", "traced"]


@pytest.fixture(params=KINDS)
def places(request, tmp_path):
    """Makes a store once more: as two processes have it, except for the one in memory."""
    kind = request.param
    shared = MemoryStore()
    address = request.getfixturevalue("postgres")("a") if kind == "postgres" else str(tmp_path / "a.db")
    make = {"jsonl": JsonlStore, "postgres": PostgresStore}.get(kind, SqliteStore)
    opened = []

    def place():
        if kind == "memory":
            return shared
        opened.append(make(address))
        if kind == "encrypted":
            return EncryptedStore(opened[-1], b"k" * 32)
        return OffloadingStore(opened[-1], FolderBlobs(tmp_path / "b"), 60) if kind == "offloaded" else opened[-1]

    place.options = {"telemetry": True} if kind == "traced" else {}  # type: ignore[attr-defined]  # a function can have attributes
    yield place
    for store in opened:
        store.close()


def manager(places, **options):
    options = {"tokenizer": count_quarter, "budget": 3_000, "clear_at_least_tokens": 150} | options | places.options
    return ContextManager(session="s", store=places(), **options)


def talked(context, text, rounds=12):
    context.append(TALK.say("user", text))
    for number in range(rounds):
        context.append(TALK.call([f"c{number}"], "I look.", {"path": f"m{number}.py"}))
        context.append(*TALK.results([(f"c{number}", f"{text} {number}\n" * 40)]))
        context.get_messages_for_request()


ACTIONS = {
    "append": lambda context: context.append(TALK.say("assistant", OLD)),
    "append_id": lambda context: context.append(TALK.say("assistant", OLD), idempotency_key="x"),
    "request": lambda context: context.get_messages_for_request(),
    "messages": lambda context: context.get_messages(),
    "set_messages": lambda context: context.set_messages([TALK.say("user", OLD)]),
    "pin": lambda context: context.pin(0),
    "rewind": lambda context: context.rewind(1),
    "recall": lambda context: context.recall(query=OLD),
    "explain": lambda context: context.explain(),
    "compact": lambda context: context.compact(),
    "fork": lambda context: context.fork("other"),
    "history": lambda context: context.history(at=2),
    "clear": lambda context: context.clear(),
    "delete": lambda context: context.delete(),
}


@pytest.mark.parametrize("again", [0, 3, 40], ids=["gone", "shorter", "longer"])
@pytest.mark.parametrize("action", ["append", "request"])
def test_manager_of_a_deleted_session_refuses(places, action, again):
    """A manager whose session another writer deleted sends and writes nothing of it, at once and for ever."""
    old, other = manager(places), manager(places)
    talked(old, OLD)
    other.delete()
    actions = {name: act for name, act in ACTIONS.items() if name != "fork" or "fork" in places().capabilities}
    if again:
        other.append(*[TALK.say("user", NEW)] * again)
    why = "deleted and begun again" if again else "was deleted by another writer"
    for attempt in (ACTIONS[action], *actions.values()):
        with pytest.raises(ConflictError, match=f"{why}.*open it with a new manager"):
            attempt(old)
    old.close()
    kept = manager(places).get_messages()
    assert kept == [TALK.say("user", NEW)] * again
    assert other.get_messages() == kept


def test_manager_that_deleted_its_session_begins_again(places):
    """A manager that deleted its session itself goes on with an empty one."""
    context = manager(places)
    talked(context, OLD, rounds=2)
    context.delete()
    talked(context, NEW, rounds=2)
    assert OLD not in str(context.get_messages_for_request())
    assert context.get_messages() == manager(places).get_messages()
    context.close()


def test_manager_with_a_lease_names_the_deletion(places):
    """A leasing manager, which takes in nobody's writing, says of a deletion that it was one."""
    if "lease" not in places().capabilities:
        pytest.skip("this store leases no sessions")
    old, other = manager(places, lease=600), manager(places)
    talked(old, OLD, rounds=1)
    other.delete()
    with pytest.raises(ConflictError, match="was deleted by another writer"):
        old.append(TALK.say("user", OLD))


class Late(MemoryStore):
    """Another writer acts between the look at the end and the reading."""

    before: Any = None

    def read(self, session, start=0, stop=None):
        before, self.before = self.before, None
        if before is not None:
            before()
        return super().read(session, start, stop)


def test_deletion_while_messages_are_read_is_found():
    """What was read of a session that began again in this moment is not taken for the old one's."""
    store = Late()
    old = ContextManager(session="s", store=store, tokenizer=count_quarter)
    other = ContextManager(session="s", store=store, tokenizer=count_quarter)
    talked(old, OLD, rounds=1)
    other.append(TALK.say("user", "more"))

    def begins_again():
        other.delete()
        other.append(*[TALK.say("user", NEW)] * 30)

    store.before = begins_again
    with pytest.raises(ConflictError, match="deleted and begun again"):
        old.get_messages()


def test_store_put_back_from_an_older_copy_is_named():
    """A log that is shorter than it was is not taken for a deletion."""
    store = MemoryStore()
    old = ContextManager(session="s", store=store, tokenizer=count_quarter)
    talked(old, OLD, rounds=1)
    tip = store.tip("s")
    store.tip = lambda session: Tip(tip.end - 1, tip.incarnation)  # type: ignore[method-assign]  # as after a copy was put back
    with pytest.raises(ConflictError, match=f"has {tip.end - 1} records and had {tip.end}, as in a store put back"):
        old.get_messages()


def test_sqlite_file_that_was_replaced_is_another_session(tmp_path):
    """A session in a new file under the old name, with the same number there, is not the one that was known."""
    path = tmp_path / "a.db"
    old = ContextManager(session="s", store=SqliteStore(path), tokenizer=count_quarter)
    talked(old, OLD, rounds=1)
    for each in tmp_path.glob("a.db*"):
        each.rename(tmp_path / f"old-{each.name}")
    other = ContextManager(session="s", store=SqliteStore(path), tokenizer=count_quarter)
    other.append(*[TALK.say("user", NEW)] * 30)
    errors = []
    for _ in range(3):
        with pytest.raises(Exception, match="deleted") as raised:
            old.append(TALK.say("user", OLD))
        errors.append(raised.type.__name__)
    assert errors[-1] == "ConflictError"
    assert OLD not in str(other.get_messages())


@given(st.integers(0, 2**32))
@settings(max_examples=examples(60))
def test_deletions_mix_no_two_conversations(seed):
    """Of writers that append, ask and delete by chance, none ever sends or stores words of two incarnations."""
    chance, store, number, epoch = random.Random(seed), MemoryStore(), 0, 0
    writers = [ContextManager(session="s", store=store, tokenizer=count_quarter, budget=400) for _ in range(3)]
    for _ in range(60):
        at = chance.randrange(3)
        try:
            match chance.randrange(5):
                case 0:
                    writers[at].delete()
                    epoch += 1
                case 1 | 2:
                    writers[at].append(TALK.say("user", f"epoch-{epoch} {number}"))
                    number += 1
                case 3:
                    words = str(writers[at].get_messages_for_request())
                    assert all(f"epoch-{before} " not in words for before in range(epoch))
                case 4:
                    assert all(f"epoch-{epoch} " in message["content"] for message in writers[at].get_messages())
        except ConflictError:
            writers[at] = ContextManager(session="s", store=store, tokenizer=count_quarter, budget=400)
    texts = [record.record.body.decode() for record in store.read("s") if record.record.kind == "message"]
    assert all(f"epoch-{epoch} " in word for word in texts)
