"""How a test run, a lint or a build ended, in one line: failing names first, then errors, then the counts."""

import re
from collections.abc import Sequence

from backscroll.messages.deeds.ending import Ending
from backscroll.messages.deeds.envelopes import Framed
from backscroll.messages.deeds.outcomes import BAD, joined, lines_of
from backscroll.messages.deeds.texts import one_line

_NAMES = 4  # failing names that are given: with more of them the counts say how many
_ERRORS = 2
_COUNTS = 3
_END_LINES = 30  # lines at the end in which runners count: test frameworks print up to 20 behind their sums
_WIDE = 200  # characters of a line that counts: longer ones are output of the program
_FAILING = re.compile(r"(?:--- FAIL: |FAILED |FAIL[:\s]\s?|[✗✘\u00d7✖] |\d+\) |not ok \d+|\(fail\) |"
                      r"test \S{1,200} \.\.\. FAILED|ERROR )"
                      r".*\w")  # fmt: skip  # one pattern
_DURATION = re.compile(r"\s*[(\[]\d[\d.]{0,12}\s?m?s[)\]]")
_PLACE = re.compile(r"\S{1,200}\.\w{1,6}(?::\d+|\(\d+)(?:[:,]\d+)?[:)]{1,2} ")
_COLUMN = re.compile(r"\S{1,200}\.\w{1,6}(?::\d+:\d+|\(\d+,\d+\)):? ")
"""A place as compilers print it; what tests log has no column."""
_ERROR = re.compile(r"errors?\b|undefined:|cannot |import cycle|panic:|expected\b|not assignable", re.IGNORECASE)
_COUNT = re.compile(
    r"\b\d+ (?:passed|pass\b|fail\b|tests? |passing|failing|skipped|issues?|problems?|errors?|failed|failures?|"
    r"warnings?|examples?|specs?|files? (?:checked|formatted|would be|reformatted|left))|"
    r"\bno (?:issues|errors|problems)|\ball checks passed|"
    r"\btest result:|\b(?:Ran|Checked|Formatted) \d+|\bBUILD (?:SUCCESS|FAIL)\w*",
    re.IGNORECASE,
)
_END = re.compile(r"\b(?:compiled|built in|up to date|Finished|succeeded|Success)\b", re.IGNORECASE)
"""A line that says that a check ended, where none counts."""
_RUNNER = re.compile(
    r"exited with (?:code|status|exit code) [1-9]|\bERROR task failed|\bELIFECYCLE\b|^npm (?:ERR!|error)|"
    r"^make(?:\[\d{1,3}\])?: \*\*\*|failed with exit code [1-9]|^BUILD FAILED|could not compile|\[build failed\]"
)
"""What runners print of a task that failed."""
_FAILURES = re.compile(r"\b[1-9]\d{0,8} (?:fail|failed|failures?|failing|errors?)\b", re.IGNORECASE)
_PROBLEMS = re.compile(r"\b[1-9]\d{0,8} (?:issues?|problems?)\b", re.IGNORECASE)
_HARMLESS = re.compile(r"\b(?:0|no) (?:errors?|remaining)\b", re.IGNORECASE)
"""In a line that counts problems: they are warnings, or repaired."""
_OK = re.compile(r"ok\s{1,8}\S")


def check_ending(framed: Framed) -> Ending:
    """Return how a check ended: failed by its exit code, else by lines that name failures."""
    lines = lines_of(framed.text)
    failing = [_DURATION.sub("", line) for line in lines if _FAILING.match(line)]
    counted = [line for line in lines[-_END_LINES:] if _counts_failures(line)]
    bad = [line for line in lines if BAD.match(line)]
    passed = not counted and any(_COUNT.search(line) for line in lines[-_END_LINES:])
    sure = failing or counted or any(_RUNNER.search(line) or _placed_error(line) for line in lines)
    failed = framed.code not in (None, 0) or (
        framed.code is None and bool(sure or (bad and not passed))  # what tests print may look like errors
    )
    if not lines:
        return Ending(failed, f"exit code {framed.code}" if framed.code else "ok, no output")
    bits = [one_line(line, 110) for line in failing[:_NAMES]] + _errors(lines, failing) if failed else []
    bits += _counts(lines, failed=failed)
    return Ending(failed, joined(bits or [one_line((bad or lines)[-1], 150)]))


def counts(framed: Framed) -> bool:
    """Return whether a result counts tests, errors or files, as that of a check does."""
    return any(len(line) < _WIDE and _COUNT.search(line) for line in lines_of(framed.text))


def _placed_error(line: str) -> bool:
    return _COLUMN.match(line) is not None and _ERROR.search(line) is not None


def _counts_failures(line: str) -> bool:
    if len(line) >= _WIDE or _HARMLESS.search(line):
        return len(line) < _WIDE and re.search(r"\b[1-9]\d{0,8} fail", line) is not None
    return _FAILURES.search(line) is not None or _PROBLEMS.search(line) is not None


def _errors(lines: Sequence[str], failing: Sequence[str]) -> list[str]:
    """Return the first errors: those with a place in a file, then others; mere places if nothing is named."""
    known = set(failing)
    errors = [line for line in lines if _ERROR.search(line) and not _COUNT.search(line) and line not in known]
    placed = [line for line in lines if _PLACE.match(line) and line not in known]
    sure = [line for line in errors if _PLACE.match(line)]
    first = [*sure, *([] if failing else placed), *errors]
    return list(dict.fromkeys(one_line(line, 150) for line in first))[:_ERRORS]


def _counts(lines: Sequence[str], *, failed: bool) -> list[str]:
    """Return the last lines that count, and how many packages or tests passed where each has a line."""
    short = [line for line in lines if len(line) < _WIDE and " $ " not in line and line[0] != "?"]
    sums = [line for line in short if _COUNT.search(line)] or [line for line in short if _END.search(line)][-1:]
    bits = [one_line(line.strip("= "), 110) for line in sums[-_COUNTS:]]
    if packages := sum(_OK.match(line) is not None for line in lines):
        untested = sum("no tests to run" in line for line in lines)
        bits.append(
            f"{packages} package{'s' * (packages > 1)} ok" + (f", {untested} without tests to run" if untested else "")
        )
    passed = sum(line.startswith("--- PASS:") for line in lines)
    return [*bits, f"{passed} tests passed"] if passed and not failed else bits
