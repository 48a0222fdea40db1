"""Calls and results as parts, for the tests of deeds."""

import json
from typing import Any

from backscroll.messages.deeds import Deed, deeds_of, ended_runs
from backscroll.messages.parts import Part


def call_part(name: str, arguments: Any) -> Part:
    """A call; arguments that are a text are passed as they are."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
    return Part(kind="call", path=(), text=text, form="arguments", id=None, name=name)


def result_part(text: str | None) -> Part | None:
    return None if text is None else Part(kind="result", path=(), text=text, form="string")


def deeds(name: str, arguments: Any, result: str | None = "") -> tuple[Deed, ...]:
    return deeds_of(call_part(name, arguments), result_part(result))


def deed(name: str, arguments: Any, result: str | None = "") -> Deed:
    """The only deed of a call."""
    (only,) = deeds(name, arguments, result)
    return only


def shell(command: str, result: str | None = "") -> tuple[Deed, ...]:
    return deeds("Bash", {"command": command}, result)


def ended(name: str, arguments: Any, result: str | None = "") -> tuple[str, ...]:
    return ended_runs(call_part(name, arguments), result_part(result))
