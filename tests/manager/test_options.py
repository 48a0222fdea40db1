"""What a manager is given: by name, of the right type, and with a place to keep it; and how it is closed."""

import asyncio
import inspect
import warnings
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll import BackscrollWarning, ConfigurationError, ContextManager, StorageOptions
from backscroll.manager.base import ManagerBase
from backscroll.manager.options import CHECKS
from backscroll.stores.memory import MemoryStore

BOTH = pytest.mark.parametrize("manager", [backscroll.AsyncContextManager, ContextManager])
WRONG: dict[str, Any] = {"session": 5, "cache_pricing": {"read": 0.1}, "on_event": 5, "model": 5, "telemetry": 1}
"""By option: a value that somebody could give by mistake."""


def test_options_table_matches_signature():
    """The table of types knows each option of the constructor, in its order, and no other."""
    parameters = inspect.signature(ManagerBase.__init__).parameters.values()
    named = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
    assert sorted(named) == sorted(CHECKS)
    assert named[:2] == ["store", "session"]


@BOTH
@pytest.mark.parametrize("given", [("support-42",), ("support-42", "sqlite:///agent.db")])
def test_manager_positional_option_raises_and_names_store(manager, given):
    """An address without a name cannot be taken for the name of a session."""
    with pytest.raises(ConfigurationError, match=r'write store="sqlite:///agent\.db" .* session='):
        manager(*given)


@BOTH
@pytest.mark.parametrize(
    ("name", "near"), [("budgt", "budget"), ("sesion", "session"), ("threshold", "compact_threshold")]
)
def test_manager_unknown_option_raises_and_names_nearest(manager, name, near):
    """An option that does not exist is an error of the configuration that names the nearest one."""
    with pytest.raises(ConfigurationError, match=f"unknown option `{name}`: did you mean `{near}`"):
        manager(**{name: 5})


@BOTH
@pytest.mark.parametrize("name", sorted(CHECKS))
def test_manager_option_of_wrong_type_raises_and_names_it(manager, name):
    """A value of the wrong type is refused at construction, with the option and the value."""
    for value in (object(), WRONG.get(name, object())):
        with pytest.raises(ConfigurationError, match=f"^`{name}` must be ") as raised:
            manager(**{name: value})
        assert str(raised.value).endswith(f", not {value!r}")


def test_manager_secret_of_wrong_type_is_not_printed():
    """A key is printed nowhere, not even one of the wrong type."""
    with pytest.raises(ConfigurationError) as raised:
        StorageOptions(encryption_key=bytearray(b"hush"))  # type: ignore[arg-type]
    assert "hush" not in str(raised.value)
    assert "hush" not in repr(StorageOptions(encryption_key=b"hush"))


@BOTH
def test_manager_session_without_store_warns(manager):
    """A session in memory has no use for a name; the warning points at the caller's line."""
    with pytest.warns(
        BackscrollWarning, match=r"`session` is 'support-42', but the session is kept in memory.*store=\"sqlite:///"
    ) as heard:
        manager(session="support-42")
    assert [each.filename for each in heard] == [__file__]


@BOTH
@pytest.mark.parametrize("options", [{}, {"store": "memory:"}, {"telemetry": True}])
def test_manager_session_with_use_for_name_is_quiet(manager, options):
    """Nothing warns where a store keeps the session, or spans carry its name."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        manager(**options) if not options else manager(session="support-42", **options)


def test_sync_manager_in_with_closes_at_the_end(tmp_path: Path):
    """The sync manager is a context manager, and what it noted is stored when it ends."""
    with ContextManager(store=tmp_path / "a.db", session="s", tokenizer=len) as context:
        context.append({"role": "user", "content": "Hello!"})
        context.get_messages_for_request()
        stored = context._opened.store.length("s")  # type: ignore[union-attr]
    assert context._opened.store.length("s") > stored  # type: ignore[union-attr]


def test_async_manager_in_async_with_closes_at_the_end(tmp_path: Path):
    """The same of the async one in `async with`."""

    async def use() -> tuple[int, int]:
        async with backscroll.AsyncContextManager(store=tmp_path / "a.db", session="s", tokenizer=len) as context:
            await context.append({"role": "user", "content": "Hello!"})
            await context.get_messages_for_request()
            stored = context._opened.store.length("s")  # type: ignore[union-attr]
        return stored, context._opened.store.length("s")  # type: ignore[union-attr]

    before, after = asyncio.run(use())
    assert after > before


def test_async_manager_in_with_says_what_to_write():
    """An async manager in `with` is an error that names `async with`."""
    with pytest.raises(ConfigurationError, match="write `async with`"), backscroll.AsyncContextManager():  # type: ignore[attr-defined]
        pass


def test_sync_manager_in_async_with_says_what_to_write():
    """A sync manager in `async with` is an error that names `with`."""

    async def use() -> None:
        async with ContextManager():  # type: ignore[attr-defined]
            pass

    with pytest.raises(ConfigurationError, match="write `with`"):
        asyncio.run(use())


def test_fork_keeps_options_and_store():
    """A fork is made with the options of its session, in the same store."""
    context = ContextManager(store=MemoryStore(), session="s", tokenizer=len, budget=1_234)
    context.append({"role": "user", "content": "Hello!"})
    fork = context.fork("t")
    assert (fork.session_id, fork.usage().window, fork.get_messages()) == ("t", 1_234, context.get_messages())
