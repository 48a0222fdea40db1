"""Read which file a call names, and the text that it writes to it, from its arguments, which tools name much alike."""

import json
from collections.abc import Mapping
from typing import Any

from backscroll.compaction.sampling import READ
from backscroll.messages.file_names import CONTENTS, FILES

_PATHS = (*FILES, "uri", "url")
"""Names of arguments that identify the object of a call, the likeliest first."""


def arguments_of(call: str) -> dict[str, Any]:
    """Return the arguments of a call (JSON text); none if they are too long to parse."""
    try:
        value = json.loads(call) if len(call) <= READ else None
    except (ValueError, RecursionError):
        return {}
    return value if type(value) is dict else {}


def path_of(arguments: Mapping[str, Any]) -> str:
    """Return the path, or other name, of the object that these arguments identify; empty if there is none."""
    return next((arguments[name] for name in _PATHS if type(arguments.get(name)) is str), "")


def in_order(call: str) -> tuple[str, str]:
    """Return the arguments of a call (JSON text) in a fixed order, and the path in them; unchanged and without a path
    if they are too long to parse.
    """
    arguments = arguments_of(call)
    return (json.dumps(arguments, sort_keys=True), path_of(arguments)) if arguments else (call, "")


def written_text(arguments: Mapping[str, Any]) -> str | None:
    """Return the whole text of a file that a call with these arguments writes."""
    return next((arguments[name] for name in CONTENTS if type(arguments.get(name)) is str), None)


def may_write(call: str) -> bool:
    """Return whether a call (JSON text) may write a whole file; cheap."""
    return len(call) <= READ and any(f'"{name}"' in call for name in CONTENTS)
