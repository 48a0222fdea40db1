"""The docstrings of the managers are their manual. That of one is generated from that of the other."""

import inspect

import pytest

from backscroll import ContextManager

PUBLIC = sorted(name for name, _ in inspect.getmembers(ContextManager, inspect.isroutine) if not name.startswith("_"))


@pytest.mark.parametrize("name", PUBLIC)
def test_managers_docstrings_name_every_argument(name):
    parameters = [each for each in inspect.signature(getattr(ContextManager, name)).parameters if each != "self"]
    doc = inspect.getdoc(getattr(ContextManager, name)) or ""
    assert doc
    assert [each for each in parameters if f"\n    {each}: " not in doc] == []
