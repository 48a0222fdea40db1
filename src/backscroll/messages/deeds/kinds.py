"""What a call did: its kind, by its arguments first and by its name second, and how it ended."""

import json

from backscroll.messages.deeds.arguments import (
    PLACES,
    TARGETS,
    Arguments,
    arguments_of,
    command_in,
    first_text,
    named_tool,
    path_in,
)
from backscroll.messages.deeds.background import has_ended, run_deed, run_of
from backscroll.messages.deeds.commands import command_deeds
from backscroll.messages.deeds.commits import commit_by_name
from backscroll.messages.deeds.deed import Deed
from backscroll.messages.deeds.edits import edit_deeds
from backscroll.messages.deeds.ending import NO_RESULT
from backscroll.messages.deeds.envelopes import Framed, unframed, unnumbered
from backscroll.messages.deeds.folders import folder_in
from backscroll.messages.deeds.listings import is_listing
from backscroll.messages.deeds.outcomes import ending_of, look_up_ending, shows_nothing
from backscroll.messages.deeds.reading import query_reads, text_reads
from backscroll.messages.deeds.refusals import refusal
from backscroll.messages.deeds.talks import delegation_deed, plan_deed, question_deed, task_deed
from backscroll.messages.deeds.texts import bounded, one_line
from backscroll.messages.deeds.verbs import CHANGES, READS, reads_by_name, words_of
from backscroll.messages.parts import Part

_SHELLS = frozenset("bash shell terminal command cmd sh zsh powershell exec execute".split())
_SEARCHES = frozenset("find glob grep rg search websearch".split())
_WHAT = 200
_METHODS = {"GET": True, "HEAD": True, "OPTIONS": True, "POST": False, "PUT": False, "PATCH": False, "DELETE": False}
_ACTIONS = ("method", "action", "operation", "mode", "command", "type")
"""Names of an argument that says what a tool of several actions is to do."""
_ASKED = ("query", "search_query", "question", "q", "pattern", "regex")
"""Names of an argument that only a look-up has."""
_MODES = ("async", "detached")
_DETACHED = ("run_in_background", "is_background", "background", "detach", "detached")


def deeds_of(call: Part, result: Part | None) -> tuple[Deed, ...]:
    """Return what a call did, in order, at least one deed.

    Args:
        call: A part of kind `call`. Its text is JSON, which may be cut off or be no JSON.
        result: The part of kind `result` that answers it; `None` if nothing does. Of a long one the first and the last
            20,000 characters are read.
    """
    name, arguments = _read(call)
    if result is not None and (refused := refusal(name, arguments, result.text)):
        return (refused,)
    framed = unframed(result.text) if result is not None else None
    return tuple(_deeds(name, arguments, framed))


def ended_runs(call: Part, result: Part | None) -> tuple[str, ...]:
    """Return the ids of background runs that the result of this call says ended."""
    name, arguments = _read(call)
    key = run_of(name, arguments)
    framed = unframed(result.text) if result is not None and key else None
    return (key,) if key and has_ended(name, framed) else ()


def _read(call: Part) -> tuple[str, Arguments]:
    arguments = arguments_of(call.text)
    return named_tool(call.name or "", arguments), arguments


def _deeds(name: str, arguments: Arguments, framed: Framed | None) -> list[Deed]:
    for of_kind in (task_deed, question_deed, plan_deed):
        if deed := of_kind(name, arguments, framed):
            return [deed]
    if edits := edit_deeds(name, arguments, framed):
        return edits
    for of_kind in (run_deed, delegation_deed):
        if deed := of_kind(name, arguments, framed):
            return [deed]
    if command := _command(name, arguments):
        detached = any(arguments.get(key) is True for key in _DETACHED) or arguments.get("mode") in _MODES
        return command_deeds(command, framed, background=detached, folder=folder_in(arguments))
    if deed := commit_by_name(words_of(name), arguments, framed):
        return [deed]
    if _reads(name, arguments, framed):
        return [_look_up(name, arguments, framed)]
    return [_run(name, arguments, framed)]


def _command(name: str, arguments: Arguments) -> str:
    """Return the command line of a call that runs one; empty if it runs none."""
    command = command_in(arguments)
    words = set(words_of(name))
    if not command and words & _SHELLS:
        command = first_text(arguments, ("input", "bash"))
    if path_in(arguments) and " " not in command:  # a tool of several actions
        return ""
    return command


def _reads(name: str, arguments: Arguments, framed: Framed | None) -> bool:
    """Return whether a call without a command only looks something up."""
    for key in ("query", "sql", "statement", "graphql"):
        if (asked := query_reads(first_text(arguments, (key,)))) is not None:
            return asked
    if code := first_text(arguments, ("code", "source_code", "python", "javascript")):
        return text_reads(code)
    if code := first_text(arguments, ("function", "expression")):
        return text_reads(code, prints=False)
    for key in _ACTIONS:
        if (by_action := _action_reads(arguments.get(key))) is not None:
            return by_action
    by_name = reads_by_name(name)
    if by_name is not None or framed is None:
        return by_name or False
    return bool(first_text(arguments, _ASKED)) or is_listing(framed.text)


def _action_reads(action: object) -> bool | None:
    if not isinstance(action, str) or not action or len(action) > 60:
        return None
    if action.upper() in _METHODS:
        return _METHODS[action.upper()]
    first = words_of(action)[:1]
    return True if READS.intersection(first) else False if CHANGES.intersection(first) else None


def _look_up(name: str, arguments: Arguments, framed: Framed | None) -> Deed:
    path, words = path_in(arguments), set(words_of(name))
    target = first_text(arguments, TARGETS)
    shown = bounded(framed.text) if framed else ""
    ending = look_up_ending(framed) if framed else NO_RESULT
    outcome = ending.outcome
    if path and not target and not words & _SEARCHES:
        return Deed("read", path, path, failed=ending.failed, outcome=outcome, text=unnumbered(shown))
    known = bool(target) and bool(words & (_SEARCHES | {"fetch", "read", "webfetch"}))
    what = one_line(target if known else _named(name, arguments), _WHAT)
    place = first_text(arguments, PLACES) if target else ""
    if framed is not None and not ending.failed and shows_nothing(shown):
        outcome = "nothing found"
    return Deed("search", what, failed=ending.failed, outcome=outcome, key=one_line(place, _WHAT), text=shown)


def _run(name: str, arguments: Arguments, framed: Framed | None) -> Deed:
    ending = ending_of(framed) if framed else NO_RESULT
    what = one_line(_named(name, arguments), 300)
    text = bounded(framed.text) if framed else ""
    return Deed("run", what, failed=ending.failed, outcome=ending.outcome, text=text)


def _named(name: str, arguments: Arguments) -> str:
    """Return a call as its name and its arguments."""
    values = [
        f"{key}={_value(value)}" for key, value in list(arguments.items())[:12] if value not in (None, "", [], {})
    ]
    return f"{name}({', '.join(values)})"


def _value(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return one_line(text[:400], 100)
