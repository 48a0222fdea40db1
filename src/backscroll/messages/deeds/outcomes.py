"""How a call ended, in one line, read from its result."""

import json
import re
from collections.abc import Sequence
from typing import Any

from backscroll.messages.deeds.ending import Ending
from backscroll.messages.deeds.envelopes import Framed
from backscroll.messages.deeds.texts import one_line

MOST = 300  # characters of an outcome: a failing test with its message; more is a report
_LINE = 150
_BEGINNING = 2_000  # characters in which the first line of a result is looked for
_ERROR_LINES = 8  # lines of an error with its advice; a longer text is a file or a page that begins like one
_READ = 400  # characters of a line that are looked at; minified output has lines of megabytes
BAD = re.compile(
    r"\s{0,8}(?:Error\b|ERROR\b|error(?::|\[)|fatal:|Traceback \(|panic:|FAIL\b|FAILED\b|--- FAIL|not ok\b|npm ERR!|"
    r"[\w .-]{1,60}\bfailed(?::| with\b)|E {3}|AssertionError|Exception\b|Failed to\b|Unable to\b|"
    r"(?:Could|Can)(?:not| not)\b|No such file\b|[Pp]ermission denied|[Ii]nvalid\b|"
    r"[Uu]nknown (?:command|option|skill|tool)|"
    r"[^\s:]{1,80}:(?: [^:]{1,200}:){0,3} (?:command not found|No such file|cannot |Permission denied|not found))"
)
"""The beginning of a line that says that something failed."""
_SAYS_NOTHING = re.compile(
    r"(?:ok|okay|done|success(?:ful(?:ly)?)?|true|null|none|\{\}|\[\]|\(?no (?:output|content)\)?|"
    r"(?:edit|changes?|patch)(?: was)? applied(?: successfully)?|(?:wrote|saved|updated) (?:file )?successfully|"
    r"(?:success\. )?(?:updated|added|modified|deleted) (?:the following|\d+) files?(?:\(s\))?:?.*|"
    r"(?:the )?file .{0,300}(?:has been |was |successfully )?(?:updated|created|edited|modified|overwritten|"
    r"written)\b.*|"
    r"successfully (?:modified|created|updated|overwrote|wrote|edited|replaced).*|intent logged|"
    r"(?:bash )?tool ran without output or errors|command executed\.?|text replaced\b.*|applied patch\b.*)[.!]?",
    re.IGNORECASE,
)
"""A line by which a host confirms a call and says no more."""
_WORD = re.compile(r"\w")
_FIELDS = ("error", "message", "id", "number", "key", "name", "title", "status", "state", "url", "html_url", "result")
"""Fields of a JSON object that say how a call ended."""
_EMPTY = re.compile(r"no (?:\w+ ){0,3}(?:found|match\w*|results?)\b|found 0\b|0 (?:match|result|file)|nothing found|"
                    r"not found\b", re.IGNORECASE)  # fmt: skip  # one pattern


def lines_of(text: str) -> list[str]:
    """Return the lines of a text that say something, each as far as it is read: not the command that a runner repeats,
    nor rules.
    """
    lines = [line[:_READ].strip() for line in text.split("\n")]
    return [line for line in lines if line and not line.startswith(("$ ", "> ")) and _WORD.search(line)]


def ending_of(framed: Framed) -> Ending:
    """Return how a call ended that was no check: failed by its exit code, else by the beginning of its result."""
    beginning = lines_of(framed.text[:_BEGINNING])
    if not beginning and not (beginning := lines_of(framed.text)):
        return Ending(bool(framed.code), f"exit code {framed.code}" if framed.code else "")
    if (value := as_object(framed.text)) is not None:
        return _of_object(value, failed=bool(framed.code))
    if framed.code is None and BAD.match(beginning[0]):
        return Ending(failed=True, outcome=one_line(beginning[0], _LINE))
    if framed.code:
        lines = lines_of(framed.text)
        return Ending(
            failed=True, outcome=one_line(next((line for line in lines if BAD.match(line)), lines[-1]), _LINE)
        )
    return Ending(outcome="" if _SAYS_NOTHING.fullmatch(beginning[0]) else one_line(beginning[0], _LINE))


def look_up_ending(framed: Framed) -> Ending:
    """Return how a look-up ended: what it shows is no outcome, and a long text may begin like an error."""
    ending = ending_of(framed)
    is_error = ending.failed and (framed.code is not None or framed.text.count("\n") < _ERROR_LINES)
    return ending if is_error else Ending()


def as_object(text: str) -> dict[str, Any] | None:
    """Return a result that is one JSON object, or a list of one; `None` if it is anything else."""
    if not text.startswith(("{", "[")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value if isinstance(value, dict) else None


def _of_object(value: dict[str, Any], *, failed: bool) -> Ending:
    """Return how a call ended by the fields of its result."""
    for name in ("error", "isError", "is_error"):
        failed = failed or value.get(name) not in (None, False, "", 0, [], {})
    failed = failed or value.get("success") is False or value.get("ok") is False or value.get("status") == "error"
    held = [each for name, each in value.items() if isinstance(each, dict) and name != "error"]
    inner = held[0] if held and len(value) <= 2 else {}
    said: dict[str, str] = {}
    for name in _FIELDS:
        each = value.get(name, inner.get(name))
        if isinstance(each, dict):
            each = each.get("message") or each.get("name")
        if isinstance(each, str | int) and not isinstance(each, bool) and each != "":
            said[name] = one_line(str(each)[:_READ], _LINE)
    named = [f"{name} {each}" for name, each in said.items()]
    others = [name for name in value if name.endswith(("_id", "Id"))][:1] if "id" not in said else []
    named += [f"{name} {one_line(str(value[name])[:_READ], 60)}" for name in others]
    return Ending(failed, one_line(", ".join(named), _LINE))


def shows_nothing(text: str) -> bool:
    """Return whether the result of a search says that it found nothing."""
    lines = lines_of(text[:2_000])
    return not lines or lines[0] in ("[]", "{}", "null") or (len(lines) <= 3 and _EMPTY.match(lines[0]) is not None)


def joined(bits: Sequence[str]) -> str:
    """Return the bits of an outcome as one line, each bit once, as many as `MOST` has room for."""
    line = ""
    for bit in dict.fromkeys(bits):
        longer = f"{line}; {bit}" if line else bit
        if len(longer) > MOST:
            return line or one_line(bit, MOST)
        line = longer
    return line
