"""Addresses of stores."""

import gc
from pathlib import Path
from typing import Any

import pytest

from backscroll import ConfigurationError
from backscroll.stores.addresses import open_store
from backscroll.stores.jsonl import JsonlStore
from backscroll.stores.memory import MemoryStore
from backscroll.stores.sqlite import SqliteStore


@pytest.mark.parametrize("address", [None, "memory:"])
def test_memory_is_a_store_of_its_own_each_time(address):
    one, other = open_store(address), open_store(address)
    assert isinstance(one, MemoryStore)
    assert one is not other


def opened(address: str) -> Any:
    """The store of an address, with what its kind alone has."""
    return open_store(address)


def test_a_store_is_its_own():
    store = MemoryStore()
    assert open_store(store) is store


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("sqlite:///{}/a.db", "a.db"),
        ("sqlite:////{}/a.db", "a.db"),
        ("sqlite:///{}/a%20b%3F.db", "a b?.db"),
        ("sqlite:///{}/é.db?durability=normal", "é.db"),
    ],
)
def test_an_address_names_a_file(tmp_path, address, name):
    store = open_store(address.format(tmp_path))
    assert isinstance(store, SqliteStore)
    assert store.path == str(tmp_path / name)
    assert store.durability == ("normal" if "normal" in address else "full")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("durability", ["full", "normal"])
def test_an_address_names_a_folder(tmp_path, durability):
    store = open_store(f"jsonl:///{tmp_path}/a%20b?durability={durability}")
    assert isinstance(store, JsonlStore)
    assert (store.path, store.durability) == (str(tmp_path / "a b"), durability)
    assert open_store(f"jsonl:///{tmp_path}/a%20b?durability={durability}") is store
    assert open_store(f"sqlite:///{tmp_path}/a%20b") is not store
    assert list(tmp_path.iterdir()) == []


def test_three_slashes_are_relative_and_four_absolute(tmp_path, monkeypatch):
    """Three slashes begin in the working folder and four at the root."""
    monkeypatch.chdir(tmp_path)
    assert opened("sqlite:///a/b.db").path == str(tmp_path / "a" / "b.db")
    assert opened("sqlite:////a/b.db").path == "/a/b.db"


def test_file_has_one_store_in_a_process_under_any_spelling(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    names: list[str | Path] = [
        "sqlite:///a.db",
        f"sqlite:///{tmp_path}/link/../{tmp_path.name}/a.db",
        Path("a.db"),
        Path("link/a.db"),
    ]
    stores = [open_store(name) for name in names]
    assert all(store is stores[0] for store in stores)
    assert open_store("sqlite:///b.db") is not stores[0]
    with pytest.raises(ConfigurationError, match="already open with `durability` 'full'"):
        open_store("sqlite:///a.db?durability=normal")
    del stores
    gc.collect()
    assert opened("sqlite:///a.db?durability=normal").durability == "normal"


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("redis://localhost", "memory:, sqlite:///relative"),
        ("a.db", "memory:, sqlite:///relative"),
        ("", "memory:, sqlite:///relative"),
        ("sqlite:a.db", "write it as sqlite:///relative"),
        ("sqlite://a.db", "write it as sqlite:///relative"),
        ("sqlite:///", "write it as sqlite:///relative"),
        ("sqlite://host/a.db", "write it as sqlite:///relative"),
        ("sqlite:///a#b.db", "write it as sqlite:///relative"),
        ("sqlite:///a.db?mode=ro", "unknown option 'mode' .* `durability`"),
        ("sqlite:///a.db?durability=", "full, normal"),
        ("sqlite:///a.db?durability=memory", "full, normal"),
        ("sqlite:///a%00.db", "must be the path of a file"),
        ("memory:x", "memory:, sqlite:///relative"),
        ("jsonl://folder", "write it as jsonl:///folder"),
        ("jsonl:///a?mode=ro", "unknown option 'mode' .* `durability`"),
        ("jsonl:///a?durability=off", "full, normal"),
        ("jsonl:///a%00", "is not a folder"),
    ],
)
def test_what_names_no_store_is_refused_with_what_would(address, told):
    with pytest.raises(ConfigurationError, match=told):
        open_store(address)
