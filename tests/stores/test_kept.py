"""Sessions whose large messages are offloaded, or that are encrypted: as a user of the manager sees it."""

import base64
import inspect
from dataclasses import replace

import pytest

import backscroll
from backscroll import ConfigurationError, ContextManager, CorruptionError, StorageOptions, StoreUnavailableError
from backscroll.history.journal import Journal
from backscroll.manager.driver import run_unlocked
from backscroll.stores.blobs.folder import FolderBlobs
from backscroll.stores.blobs.offloading import OffloadingStore
from backscroll.stores.sqlite import SqliteStore
from tests.builders import MessageFactory
from tests.fakes import FaultyBlobs

TALK = MessageFactory("openai")
KEY = base64.b64encode(bytes(range(32))).decode()


def opened(tmp_path, session="s", storage=None, **options):
    storage = replace(storage or StorageOptions(), blob_store=(storage and storage.blob_store) or tmp_path / "blobs")
    options = {"tokenizer": len, "budget": 100_000, "storage": storage} | options
    return ContextManager(session=session, store=f"sqlite:///{tmp_path}/agent.db", **options)


def files(tmp_path):
    return [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]


# -- large messages --


@pytest.mark.long
def test_message_of_50_mb_is_offloaded_and_recalled_by_page(tmp_path):
    """A message of 50 megabytes is stored, offloaded and recalled page by page."""
    text = "".join(f"line {number % 997} of a very long log\n" for number in range(1_900_000))[:50_000_000]
    first = opened(tmp_path)
    first.append(TALK.say("user", "Read it."), *[TALK.call(["c1"], "", {}), *TALK.results([("c1", text)])])
    first.close()
    (blob,) = files(tmp_path)
    assert blob.stat().st_size > len(text) == 50_000_000
    assert sum(path.stat().st_size for path in tmp_path.glob("agent.db*")) < 1_000_000
    again = opened(tmp_path, strategies=["clear"])
    view = again.get_messages_for_request()
    assert len(str(view)) < 100_000
    pages, offset = [], 0
    while offset is not None:
        page = again.recall("[ref:2.0]", offset=offset, limit=5_000_000)
        pages.append(str(page))
        offset = page.next_offset
    assert len(pages) >= 10
    assert "".join(pages) == text
    again.close()


def test_only_what_is_larger_than_asked_for_is_offloaded(tmp_path):
    context = opened(tmp_path, storage=StorageOptions(blob_threshold_bytes=1_000))
    context.append(TALK.say("user", "x" * 500), TALK.say("assistant", "y" * 1_000))
    context.close()
    (blob,) = files(tmp_path)
    assert b"y" * 1_000 in blob.read_bytes()
    assert opened(tmp_path).get_messages() == context.get_messages()


def test_failing_blob_store_loses_no_message_and_warns(tmp_path):
    heard, shelf = [], FaultyBlobs()
    context = opened(tmp_path, storage=StorageOptions(blob_store=shelf), on_event=lambda *event: heard.append(event))
    shelf.fails = [StoreUnavailableError("the shelf is full")]
    with pytest.warns(RuntimeWarning, match="could not be put into `blob_store` .*the shelf is full"):
        context.append(TALK.say("user", "x" * 70_000))
    ((_, payload),) = [event for event in heard if event[0] == "context:offload_failed"]
    assert (payload["seq"], payload["bytes"] > 70_000, payload["error"]) == (0, True, "the shelf is full")
    context.close()
    assert shelf.held == {}
    assert opened(tmp_path, storage=StorageOptions(blob_store=shelf)).get_messages() == [TALK.say("user", "x" * 70_000)]


def test_a_blob_that_is_gone_is_named(tmp_path):
    context = opened(tmp_path)
    context.append(TALK.say("user", "x" * 70_000))
    context.close()
    (blob,) = files(tmp_path)
    blob.unlink()
    with pytest.raises(
        CorruptionError, match=f"session 's', the record at position 0: the blob {blob.name} is missing"
    ):
        opened(tmp_path).get_messages()


def test_fetching_a_small_message_fetches_no_large_neighbour(tmp_path):
    shelf = FaultyBlobs()
    context = opened(tmp_path, storage=StorageOptions(blob_store=shelf))
    for number in range(6):
        context.append(TALK.say("user", "small" if number % 2 == 0 else "x" * 70_000))
    context.close()
    log = Journal(OffloadingStore(SqliteStore(tmp_path / "agent.db"), shelf), "s")
    (found,) = run_unlocked(log.load([2]))
    assert (found.message["content"], shelf.got) == ("small", [])
    assert [event.seq for event in run_unlocked(log.load([0, 1, 4]))] == [0, 1, 4]
    assert len(shelf.got) == 1
    log.store.close()


def test_what_is_offloaded_is_searched_by_an_index_that_is_kept(tmp_path):
    shelf = FaultyBlobs()
    first = opened(tmp_path, storage=StorageOptions(blob_store=shelf, blob_threshold_bytes=1_000))
    first.append(TALK.say("user", "Where is the wombat?"), TALK.say("assistant", "filler\n" * 500 + "in the burrow\n"))
    first.append(TALK.say("user", "Thanks."))
    assert [hit.seq for hit in first.recall(query="burrow").hits] == [1]
    first.close()
    shelf.got.clear()
    again = opened(tmp_path, storage=StorageOptions(blob_store=shelf, blob_threshold_bytes=1_000))
    assert again._begin_recalling().index.indexed == 3
    assert [hit.seq for hit in again._begin_recalling().index.search("burrow", 3)] == [1]
    assert shelf.got == []
    again.close()


# -- encryption --


def test_encrypted_session_resumes_and_no_file_shows_text(tmp_path):
    """An encrypted session goes on where it was, and no file shows a word of it."""
    first = opened(
        tmp_path,
        storage=StorageOptions(encryption_key=KEY, blob_threshold_bytes=2_000),
        budget=9_000,
        clear_at_least_tokens=900,
    )
    first.append(TALK.say("user", "The wombat sleeps at noon."), idempotency_key="wombat-id")
    for number in range(30):
        first.append(TALK.call([f"c{number}"], "I look at the wombat.", {"path": "wombat.txt"}))
        first.append(*TALK.results([(f"c{number}", f"wombat_{number}\n" * (200 if number % 5 else 400))]))
        view = first.get_messages_for_request()
    kept = first.get_messages()
    assert first.usage().compactions > 0
    assert first.recall(query="wombat_7").hits
    first.close()
    assert len(files(tmp_path)) > 5
    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"wombat" not in held
    again = opened(
        tmp_path,
        storage=StorageOptions(encryption_key=KEY, blob_threshold_bytes=2_000),
        budget=9_000,
        clear_at_least_tokens=900,
    )
    assert again.get_messages() == kept
    assert again.get_messages_for_request() == view
    assert again.append(TALK.say("user", "The wombat sleeps at noon."), idempotency_key="wombat-id") == 0
    again.close()


def test_a_wrong_key_is_no_empty_session(tmp_path):
    context = opened(tmp_path, storage=StorageOptions(encryption_key=KEY))
    context.append(TALK.say("user", "secret"))
    context.close()
    for session in ("s", "another"):
        with pytest.raises(ConfigurationError, match="`encryption_key` is not the key that"):
            opened(tmp_path, session, storage=StorageOptions(encryption_key=bytes(32))).get_messages()
    assert opened(tmp_path, storage=StorageOptions(encryption_key=KEY)).get_messages() == [TALK.say("user", "secret")]


# -- forks --


def test_fork_keeps_storage_options_and_reports_for_itself():
    """A fork is offloaded, encrypted and redacted like its origin, and reports events of its own."""
    heard, shelf = [], FaultyBlobs()
    first = ContextManager(
        session="s",
        store="memory:",
        tokenizer=len,
        storage=StorageOptions(blob_store=shelf, blob_threshold_bytes=1_000, encryption_key=KEY),
        on_event=lambda *event: heard.append(event),
        redact=lambda message: message | {"content": message["content"].replace("wombat", "[animal]")},
    )
    first.append(TALK.say("user", "wombat" * 500))
    fork = first.fork("f")
    fork.append(TALK.say("assistant", "A wombat?" * 500))
    assert fork.get_messages() == [TALK.say("user", "[animal]" * 500), TALK.say("assistant", "A [animal]?" * 500)]
    assert len(shelf.held) == 2
    assert not any(b"animal" in body for body in shelf.held.values())
    shelf.fails = [StoreUnavailableError("full")]
    with pytest.warns(RuntimeWarning, match="could not be put into `blob_store`"):
        fork.append(TALK.say("user", "x" * 5_000))
    assert "context:offload_failed" in [name for name, _ in heard]
    fork.delete()
    assert len(shelf.held) == 1
    assert first.get_messages() == [TALK.say("user", "[animal]" * 500)]


# -- configuration --


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"blob_store": "gs://bucket"}, "`blob_store` has an unknown scheme"),
        ({"blob_store": ""}, "is not a folder"),
        ({"blob_store": 7}, "`blob_store` must be a folder"),
        ({"blob_store": "s3://bucket?endpoint=http://example.com"}, "without TLS"),
        ({"blob_threshold_bytes": -1}, "`blob_threshold_bytes` must be a whole number of bytes"),
        ({"blob_threshold_bytes": "1k"}, "`blob_threshold_bytes` must be a whole number of bytes"),
        ({"encryption_key": "short"}, "`encryption_key` must be 32 random bytes"),
    ],
)
def test_what_can_never_work_is_refused_at_construction(tmp_path, options, told):
    with pytest.raises(ConfigurationError, match=told):
        ContextManager(store=tmp_path / "a.db", storage=StorageOptions(**options))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", [{"blob_store": "folder"}, {"encryption_key": KEY}])
def test_storage_options_without_a_store_are_refused(option):
    """What is kept in memory is neither offloaded nor encrypted."""
    with pytest.raises(ConfigurationError, match="requires a store: pass store="):
        ContextManager(storage=StorageOptions(**option))


def test_construction_touches_no_file_in_either_manager(tmp_path):
    """Both managers take the same options, and construction touches nothing."""
    for manager in (ContextManager, backscroll.AsyncContextManager):
        blobs = FolderBlobs(tmp_path / "b")
        manager(
            session="s",
            store=tmp_path / "a.db",
            storage=StorageOptions(blob_store=blobs, blob_threshold_bytes=0, encryption_key=KEY),
        )
    assert list(tmp_path.iterdir()) == []
    assert inspect.signature(ContextManager) == inspect.signature(backscroll.AsyncContextManager)


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ({"encryption_key": KEY}, "record 0 is encrypted: give the `encryption_key`"),
        ({"blob_store": "b", "blob_threshold_bytes": 0}, "record 0 has its body elsewhere: give the `blob_store`"),
    ],
)
def test_store_opened_without_its_options_names_them(tmp_path, option, told):
    """A store that is opened without the options it was written with says which one is missing."""
    if "blob_store" in option:
        option |= {"blob_store": tmp_path / "b"}
    address = f"sqlite:///{tmp_path}/agent.db"
    context = ContextManager(session="s", store=address, storage=StorageOptions(**option))
    context.append(TALK.say("user", "hello"))
    context.close()
    again = ContextManager(session="s", store=f"sqlite:///{tmp_path}/agent.db")
    for use in (again.get_messages, lambda: again.append(TALK.say("assistant", "hi"))):
        with pytest.raises(ConfigurationError, match=told):
            use()
