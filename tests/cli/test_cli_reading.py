"""Commands that only read a store: no byte of it changes, and what is no store is named."""

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from backscroll import ContextManager
from backscroll.cli.main import main
from backscroll.errors import ConfigurationError
from backscroll.stores.sqlite import SqliteStore
from tests.cli.commands import app

GOLDEN = Path(__file__).parents[1] / "golden"
READING = (
    ("sessions",),
    ("show", "s"),
    ("show", "s", "--plan"),
    ("status",),
    ("search", "hello"),
    ("export", "copy.jsonl"),
    ("verify",),
    ("inspect", "--export", "page.html"),
)
main([])  # so that every command is there


def invoke(folder: Path, place: Path, command: str, *more: str) -> Result:
    """Run a command on a store, and have it write nothing but into `folder`."""
    more = tuple(str(folder / each) if each.endswith((".jsonl", ".html")) else each for each in more)
    return CliRunner().invoke(app, [command, str(place), *more])


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder, save the index of searches and what SQLite adds while a database is read."""
    passing = ("-shm", "-wal")
    found = [path for path in folder.iterdir() if path.is_file() and not path.name.endswith(passing)]
    return {path.name: path.read_bytes() for path in found}


@pytest.fixture(params=["sqlite", "jsonl"])
def place(request: Any, tmp_path: Path) -> Path:
    """A store with one session, in a folder of its own."""
    (tmp_path / "kept").mkdir()
    path = tmp_path / "kept" / "a.db" if request.param == "sqlite" else tmp_path / "kept"
    with ContextManager(store=f"{request.param}:///{path}", session="s", tokenizer=len) as context:
        context.append({"role": "user", "content": "hello"}, {"role": "assistant", "content": "Hello yourself!"})
        context.get_messages_for_request()
    context._opened.store.close()  # type: ignore[union-attr]
    return path


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_reading_command_changes_no_byte(place, tmp_path, arguments):
    """What is kept is the same, byte for byte, after a command that only reads."""
    before = contents(tmp_path / "kept")
    done = invoke(tmp_path, place, *arguments)
    assert (done.exit_code, contents(tmp_path / "kept")) == (0, before), done.output


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_reading_command_leaves_old_schema_as_it_is(tmp_path, arguments):
    """A database of an earlier version is read, and not brought up to date."""
    (tmp_path / "kept").mkdir()
    for name in ("sqlite-1.db", "sqlite-1.db-commits"):
        shutil.copy(GOLDEN / name, tmp_path / "kept" / name)
    place, before = tmp_path / "kept" / "sqlite-1.db", contents(tmp_path / "kept")
    first = SqliteStore(place, read_only=True).sessions()[0]
    done = invoke(tmp_path, place, *(first if each == "s" else each for each in arguments))
    assert contents(tmp_path / "kept") == before
    assert done.exit_code == 0 or arguments[0] in ("show", "status", "search", "inspect"), done.output


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_reading_command_names_empty_file(tmp_path, arguments):
    """An empty file is said to be empty, and stays so."""
    place = tmp_path / "a.db"
    place.touch()
    done = invoke(tmp_path, place, *arguments)
    assert (done.exit_code, contents(tmp_path)) == (2, {"a.db": b""})
    assert done.stderr == f"backscroll: {place}: this file is empty: nothing was ever stored in it\n"


@pytest.mark.parametrize("command", [("delete", "s", "--yes"), ("repair", "--yes"), ("fork", "s", "t")], ids=" ".join)
def test_changing_command_leaves_empty_file_empty(tmp_path, command):
    """Nor is a store made of one by a command that changes what is there."""
    (tmp_path / "a.db").touch()
    done = invoke(tmp_path, tmp_path / "a.db", *command)
    assert (done.exit_code, contents(tmp_path)) == (2, {"a.db": b""})
    assert "this file is empty" in done.stderr


def text(path: Path) -> None:
    """A file of text."""
    path.write_text("hello")


def folder(path: Path) -> None:
    """A folder of other files."""
    path.mkdir()
    (path / "talk.jsonl").write_text('{"role": "user", "content": "hello"}')


def database(path: Path, statement: str) -> None:
    """A database of another program."""
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("arguments", READING[:-1], ids=" ".join)
@pytest.mark.parametrize(
    "make",
    [
        text,
        folder,
        lambda path: database(path, "create table notes (text)"),
        lambda path: database(path, "pragma user_version = 7"),
    ],
    ids=["text", "folder", "database", "no tables"],
)
def test_reading_command_names_what_is_no_store(tmp_path, arguments, make):
    """Another file, folder or database is said to be no store of Backscroll's, and stays as it is."""
    place = tmp_path / "a.db"
    make(place)
    before = place.read_bytes() if place.is_file() else contents(place)
    done = invoke(tmp_path, place, *arguments)
    assert "not a Backscroll store" in done.output, done.output
    assert done.exit_code == (1 if arguments == ("verify",) and "problem" in done.output else 2)
    assert (place.read_bytes() if place.is_file() else contents(place)) == before


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_read_only_store_refuses_changes(place):
    """A store that was opened for reading says so where something is to be changed. A folder has no such mode."""
    with pytest.raises(ConfigurationError, match="opened with `read_only`: open it without"):
        SqliteStore(place, read_only=True).delete("s")


def test_lane_that_made_requests_is_shown(tmp_path):
    """The proxy names lanes by their models."""
    place = tmp_path / "a.db"
    with ContextManager(session="s", store=place, budget=2_000) as manager:
        for number in range(40):
            manager.append({"role": "user", "content": f"Note {number}. " + "All is well. " * 30})
            manager.append({"role": "assistant", "content": "Noted."})
            manager.get_messages_for_request(lane="gpt-5")
    shown = invoke(tmp_path, place, "status", "s").output
    assert "lane gpt-5" in shown
    assert "of 2,000 tokens" in shown
    assert "digested" in invoke(tmp_path, place, "show", "s", "--plan").output
