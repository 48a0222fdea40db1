"""Steps of a command that check: tests, linters, type checkers and builds."""

import re

from backscroll.messages.deeds.programs import BUILDERS, CHECKERS, CHECKS, INSTALLS, RUNNERS
from backscroll.messages.deeds.reading import bare
from backscroll.messages.deeds.shell import Step
from backscroll.messages.deeds.texts import one_line

_KEY = 80  # characters of a key: the program, its task and the first files
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_VARYING = re.compile(
    r"\s(?:-v+|-q|-x|-s|-race|-count=\d+|--?run(?:=|\s)\S+|-k\s\S+|--verbose|--silent|--color\S*|--no-color)(?=\s|$)"
)
"""Flags by which runs of one check differ."""


def is_check(step: Step) -> bool:
    """Return whether a step tests, lints or builds."""
    words = _QUOTED.sub("", bare(step.stages[0])).split(maxsplit=8)[:8]
    if not words:
        return False
    program = words[0].rsplit("/", 1)[-1]
    names = [word for word in words[1:] if not word.startswith("-")]
    if program in CHECKERS or (program in ("python", "python3") and names[:1] and names[0] in CHECKERS):
        return True
    if program in BUILDERS:
        return "build" in names[:2]
    if program in RUNNERS and not INSTALLS.intersection(names[:2]):
        return any(CHECKS.search(word) for word in names[:3])
    return "/" in words[0] and CHECKS.search(program) is not None


def check_key(step: Step) -> str:
    """Return a check's command without what varies from run to run: quoted names, filters and verbosity."""
    line = _QUOTED.sub("", bare(step.text.split(" | ", 1)[0]))
    return one_line(_VARYING.sub("", line), _KEY)
