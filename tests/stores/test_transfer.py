"""Sessions copied between stores, and to a file and back: byte for byte, in order, all or nothing."""

import itertools
import random
import tracemalloc

import pytest
from click.testing import CliRunner

from backscroll import ConfigurationError, ConflictError, CorruptionError, StoreUnavailableError
from backscroll.ports import Record
from backscroll.stores.addresses import open_store
from backscroll.stores.conformance.helpers import EVERY_BYTE, NAMES
from backscroll.stores.jsonl.portable import PortableFile, PortableWriter, is_portable
from backscroll.stores.memory import MemoryStore
from backscroll.stores.transfer import BATCH, copy_session
from tests.cli.commands import app

KINDS = ("memory", "sqlite", "jsonl", "postgres")
PAIRS = list(itertools.product(KINDS, KINDS))


@pytest.fixture
def address(request, tmp_path):
    """The address of a new store of a kind: `address("sqlite", "a")`."""

    def told(kind, name):
        if kind == "postgres":
            return request.getfixturevalue("postgres")(name)
        return None if kind == "memory" else f"{kind}:///{tmp_path}/{name}-{kind}?durability=normal"

    return told


def records(session, number):
    """Unlike each other, and awkward."""
    chance = random.Random(session)
    bodies = (b"", EVERY_BYTE, b'{"a": 1}', '{"é":"\ud800"}'.encode("utf-8", "surrogatepass"), b"{\n}")
    for at in range(number):
        key = f"{session} {at}" if at % 3 == 0 else None
        yield Record(chance.choice(("message", "plan", "日本")), at if at % 2 else None, bodies[at % 5], at % 4, key)


def filled(store, ends):
    for session, end in ends.items():
        store.append(session, 0, list(records(session, end))).result()
    return store


def whole(store, session):
    return [stored.record for stored in store.read(session)]


ENDS = {"small": 1, "../'; --": 7, "large": 2 * BATCH + 3}


@pytest.mark.parametrize(("here", "there"), PAIRS)
def test_session_is_copied_between_any_stores_by_record(address, here, there):
    """A session is copied between any two stores record by record."""
    source, target, heard = filled(open_store(address(here, "a")), ENDS), open_store(address(there, "b")), []
    for session, end in ENDS.items():
        assert copy_session(source, session, target, progress=heard.append) == end
        assert whole(target, session) == list(records(session, end))
        assert target.find(session, key=f"{session} 0") == 0
    assert target.sessions() == list(ENDS)
    assert (sum(heard), max(heard)) == (sum(ENDS.values()), BATCH)
    source.close()
    target.close()


@pytest.mark.parametrize(("here", "there"), [pair for pair in PAIRS if "memory" not in pair])
def test_cli_exports_and_imports_between_any_stores(tmp_path, address, here, there):
    """The command line takes sessions through a file from any store to any other."""
    source, target = open_store(address(here, "a")), open_store(address(there, "b"))
    filled(source, ENDS)
    if "fork" in source.capabilities:
        source.fork("small", "forked", 1).result()
    first = source.length("forked")
    source.append("forked", first, [Record("own", None, EVERY_BYTE, 1)]).result()
    command("export", address(here, "a"), tmp_path / "all.jsonl")
    command("import", tmp_path / "all.jsonl", address(there, "b"))
    command("export", address(there, "b"), tmp_path / "again.jsonl")
    assert target.sessions() == source.sessions() == [*ENDS, "forked"]
    assert all(whole(target, session) == whole(source, session) for session in source.sessions())
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "all.jsonl").read_bytes()
    command("delete", address(there, "b"), "large", "--yes")
    command("import", tmp_path / "all.jsonl", address(there, "b"), "large")
    assert whole(target, "large") == whole(source, "large")
    source.close()
    target.close()


def command(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output


def test_session_is_copied_to_another_name_never_over_one(tmp_path):
    """A session is copied under another name and never over one."""
    store = filled(MemoryStore(), {"a": 5, "b": 2})
    assert copy_session(store, "a", store, "c") == 5
    for name in ("b", "a", None):
        with pytest.raises(ConflictError, match="another `name`, or delete"):
            copy_session(store, "a", store, name)
    with pytest.raises(ConfigurationError, match="`session` 'x' does not exist; choose one of 'a', 'b', 'c'"):
        copy_session(store, "x", store, "y")
    assert [whole(store, name) for name in "abc"] == [
        list(records(name, end)) for name, end in zip("aba", (5, 2, 5), strict=True)
    ]


def test_a_fork_is_copied_with_what_it_shares(tmp_path):
    source = filled(open_store(f"sqlite:///{tmp_path}/a.db"), {"a": 9})
    source.fork("a", "b", 6).result()
    source.append("b", 6, [Record("own", None, b"", 1)]).result()
    target = MemoryStore()
    copy_session(source, "b", target)
    assert whole(target, "b") == [*records("a", 6), Record("own", None, b"", 1)]
    target.delete("b")  # which shares nothing there
    source.close()


class Failing(MemoryStore):
    """Runs out of room after one batch."""

    def append(self, session, expected_position, records, **named):
        if expected_position:
            raise StoreUnavailableError("no room")
        return super().append(session, expected_position, records, **named)


class Keeping(Failing):
    """Cannot delete either."""

    @property
    def capabilities(self):
        return frozenset()


def test_failed_copy_leaves_nothing_or_says_so():
    """What fails in the middle leaves nothing and says so where it must."""
    source, target = filled(MemoryStore(), ENDS), Failing()
    with pytest.raises(StoreUnavailableError, match="no room"):
        copy_session(source, "large", target)
    assert target.sessions() == []
    with pytest.raises(StoreUnavailableError) as raised:
        copy_session(source, "large", Keeping())
    assert raised.value.__notes__ == [
        f"session 'large' was copied in part: only its first {BATCH} records are in the target"
    ]


class Raced(MemoryStore):
    """Somebody else goes on with what is being copied."""

    def append(self, session, expected_position, records, **named):
        if expected_position:
            super().append(session, expected_position, [Record("theirs", None, b"", 1)]).result()
        return super().append(session, expected_position, records, **named)


def test_copy_extended_by_another_writer_is_not_removed():
    source, target = filled(MemoryStore(), ENDS), Raced()
    with pytest.raises(ConflictError):
        copy_session(source, "large", target)
    assert target.length("large") == BATCH + 1


def test_memory_does_not_grow_with_the_session(tmp_path):
    source, target = open_store(f"sqlite:///{tmp_path}/a.db"), open_store(f"jsonl:///{tmp_path}/b")
    for at in range(40):
        source.append("a", at, [Record("k", at, b"x" * 700_000, 1)]).result()
    source.close()
    tracemalloc.start()
    copy_session(source, "a", target)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert most < 22_000_000
    source.close()
    target.close()


# -- a file --


def exported(store, path, sessions):
    with path.open("wb") as file:
        writer = PortableWriter(file)
        for session in sessions:
            copy_session(store, session, writer)
        writer.finish()
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_sessions_go_to_a_file_and_back(tmp_path, address, kind):
    names = {name: number % 4 + 1 for number, name in enumerate(NAMES)} | ENDS
    source = filled(MemoryStore(), names)
    path = exported(source, tmp_path / "all.jsonl", names)
    assert is_portable(path)
    file, target = PortableFile(path), open_store(address(kind, "b"))
    assert file.sessions() == list(names)
    for session in file.sessions():
        copy_session(file, session, target)
    assert target.sessions() == list(names)
    assert all(whole(target, name) == list(records(name, end)) for name, end in names.items())
    assert [stored.position for stored in file.read("large", 5, 9)] == [5, 6, 7, 8]
    target.close()


def test_a_file_without_sessions_is_whole(tmp_path):
    assert PortableFile(exported(MemoryStore(), tmp_path / "none.jsonl", ())).sessions() == []


def test_a_file_takes_sessions_one_after_the_other(tmp_path):
    with (tmp_path / "a").open("wb") as file:
        writer, one = PortableWriter(file), [Record("k", None, b"", 1)]
        writer.append("a", 0, one).result()
        writer.append("b", 0, one).result()
        for session, first in (("a", 1), ("b", 0), ("c", 1)):
            with pytest.raises(ConflictError, match="one after the other"):
                writer.append(session, first, one)


def test_any_damage_of_a_file_is_named_before_anything_is_copied(tmp_path):
    content = exported(filled(MemoryStore(), {"a": 6, "b": 3}), tmp_path / "a.jsonl", ("a", "b")).read_bytes()
    path, chance = tmp_path / "b.jsonl", random.Random(1)
    for length in [*range(0, len(content), 7), len(content) - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(CorruptionError, match=r"b\.jsonl: .* export the sessions again"):
            PortableFile(path)
    for _ in range(100):
        place, bit = chance.randrange(len(content)), chance.randrange(1, 256)
        path.write_bytes(content[:place] + bytes([content[place] ^ bit]) + content[place + 1 :])
        with pytest.raises(CorruptionError, match=r"b\.jsonl: "):
            PortableFile(path)
    held = content.splitlines(keepends=True)
    for changed in (
        held[:3] + held[4:],
        [*held, held[-1]],
        [*held[:3], held[3], *held[3:]],
        held[:7] + held[-1:],
        held * 2,
    ):
        path.write_bytes(b"".join(changed))
        with pytest.raises(CorruptionError, match=r"b\.jsonl: line \d+, byte \d+"):
            PortableFile(path)


def test_a_file_that_is_not_there_is_no_damage(tmp_path):
    with pytest.raises(StoreUnavailableError, match=r"missing: No such file"):
        PortableFile(tmp_path / "missing")
