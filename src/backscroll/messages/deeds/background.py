"""Runs that go on behind their call: what a look at one shows, and how it ended."""

import re

from backscroll.messages.deeds.arguments import Arguments
from backscroll.messages.deeds.check_results import check_ending, counts
from backscroll.messages.deeds.deed import Deed
from backscroll.messages.deeds.ending import NO_RESULT
from backscroll.messages.deeds.envelopes import Framed
from backscroll.messages.deeds.outcomes import ending_of
from backscroll.messages.deeds.texts import bounded
from backscroll.messages.deeds.verbs import words_of

_IDS = (
    "session_id", "bash_id", "shell_id", "shellId", "task_id", "process_id", "pid", "agent_id", "job_id", "sessionId",
)  # fmt: skip  # one list
"""Names of the id of a run, in a call that looks at it or ends it."""
_OVER = re.compile(
    r"No (?:shell|task|process|session) (?:found|with)|"
    r".{0,60}(?:already|has) (?:stopped|exited|ended|finished|completed)|.{0,40}\b(?:killed|stopped|terminated)\b",
    re.IGNORECASE,
)
"""How a result begins that says that a run is over, where its frame does not."""
_STOPS = frozenset("cancel close kill stop terminate".split())
_LOOKS = frozenset("bash exec logs output poll process shell stdin terminal wait".split())
"""Words in the name of a tool that looks at a run, or types into one."""
_ORDERS = ("message", "prompt", "status", "command")
"""Arguments of a call that gives an agent, a task or a shell something to do."""


def run_of(name: str, arguments: Arguments) -> str:
    """Return the id of the background run that a call looks at or ends; empty if it does neither."""
    found = next((str(arguments[key]) for key in _IDS if isinstance(arguments.get(key), str | int)), "")
    is_order = any(arguments.get(key) for key in _ORDERS)
    return found[:100] if found and not is_order and (_STOPS | _LOOKS).intersection(words_of(name)) else ""


def stops(name: str) -> bool:
    """Return whether a tool's name says that it ends a run."""
    return bool(_STOPS.intersection(words_of(name)))


def has_ended(name: str, framed: Framed | None) -> bool:
    """Return whether the result of a call about a background run says that the run is over."""
    if framed is None or framed.running:
        return False
    return stops(name) or framed.over or framed.code is not None or _OVER.match(framed.text[:200]) is not None


def run_deed(name: str, arguments: Arguments, framed: Framed | None) -> Deed | None:
    """Return the deed of a call that looks at a background run or ends one; `None` if it does neither."""
    key = run_of(name, arguments)
    if not key:
        return None
    typed = next((str(value) for each in ("chars", "input", "text", "data") if (value := arguments.get(each))), "")
    if has_ended(name, framed) and framed is not None:
        if stops(name):
            return Deed("background", "ended", outcome="stopped", key=key)
        text = bounded(framed.text)
        if framed.code is None:  # the report of an agent
            return Deed("background", "ended", key=key, text=text)
        ending = check_ending(framed) if framed.code or counts(framed) else ending_of(framed)
        outcome = ending.outcome or f"exit code {framed.code}"
        return Deed("background", "ended", failed=ending.failed, outcome=outcome, key=key, text=text)
    text = bounded(framed.text) if framed else ""
    outcome = NO_RESULT.outcome if framed is None else "running"
    if typed.strip():
        return Deed("run", f"typed {typed[:200]!r} into run {key}", outcome=outcome, key=key, text=text)
    return Deed("search", f"output of run {key}", outcome=outcome, key=key, text=text)
