"""How tests run `backscroll compare`."""

import json
from typing import Any

from click.testing import CliRunner, Result

from tests.cli.commands import app


def compare(*arguments: Any) -> Result:
    """In this process, so that it is quick; the pool has tests of its own."""
    return CliRunner().invoke(app, ["compare", "--jobs", "1", *map(str, arguments)])


def shown(*arguments: Any) -> Any:
    done = compare(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)
