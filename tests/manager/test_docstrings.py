"""The docstrings of the two managers are the manual of both."""

import inspect

import pytest

from backscroll import AsyncContextManager, ContextManager

PUBLIC = sorted(name for name, _ in inspect.getmembers(ContextManager, inspect.isroutine) if not name.startswith("_"))


@pytest.mark.parametrize("name", PUBLIC)
def test_managers_share_docstrings(name):
    """A method reads the same in both managers, save for the name of the other's `close`."""
    plain = inspect.getdoc(getattr(ContextManager, name))
    other = inspect.getdoc(getattr(AsyncContextManager, "aclose" if name == "close" else name))
    assert plain
    assert plain == (other or "").replace("`aclose`", "`close`")


@pytest.mark.parametrize("name", PUBLIC)
def test_managers_docstrings_name_every_argument(name):
    parameters = [each for each in inspect.signature(getattr(ContextManager, name)).parameters if each != "self"]
    doc = inspect.getdoc(getattr(ContextManager, name)) or ""
    assert [each for each in parameters if f"\n    {each}: " not in doc] == []
