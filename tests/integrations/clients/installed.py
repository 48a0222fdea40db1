"""Which of the four APIs can be tested here: its client is installed, and the core reads its messages."""

from importlib.util import find_spec
from typing import Any

import pytest

from backscroll import ConfigurationError, ContextManager, MessageError
from tests.integrations.clients.apis import OF_ALL


def why_not(api: Any) -> str:
    """Why an API cannot be tested here; empty if it can."""
    root = api.package.partition(".")[0]
    if find_spec(root) is None or find_spec(api.package) is None:
        return f"the client {api.package} is not installed"
    try:
        with ContextManager() as context:
            context.append(api.said("Hello."))
            context.recall_tool(api.format)
    except (MessageError, ConfigurationError):
        return f"the core has no dialect {api.format!r}"
    return ""


def each(apis: Any = OF_ALL) -> Any:
    """Run a test with each API, or skip it with the reason."""
    marks = {api: pytest.mark.skipif(bool(why_not(api)), reason=why_not(api)) for api in apis}
    return pytest.mark.parametrize("api", [pytest.param(api, id=api.format, marks=marks[api]) for api in apis])
