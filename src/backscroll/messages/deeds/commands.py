"""The deeds of a shell command: what its steps changed, in order; a command that only reads is one look-up."""

import re
from collections.abc import Sequence

from backscroll.messages.deeds.check_commands import check_key, is_check
from backscroll.messages.deeds.check_results import check_ending
from backscroll.messages.deeds.commits import commit_deeds, push_deed
from backscroll.messages.deeds.deed import Deed
from backscroll.messages.deeds.ending import NO_RESULT, Ending
from backscroll.messages.deeds.envelopes import Framed, unnumbered
from backscroll.messages.deeds.file_commands import file_deeds
from backscroll.messages.deeds.folders import folders_of, is_elsewhere, joined
from backscroll.messages.deeds.listings import is_listing
from backscroll.messages.deeds.outcomes import ending_of, look_up_ending, shows_nothing
from backscroll.messages.deeds.reading import bare, is_unknown, step_reads
from backscroll.messages.deeds.shell import Step, steps_of
from backscroll.messages.deeds.texts import bounded, one_line

_STEP = 160  # characters of a step: commands are often one line of a terminal
_COMMAND = 300
_MOST = 12  # deeds of one command; recorded ones have 13 steps at most, and the rest of a script is one deed
_SHOWS_FILE = re.compile(
    r"(?:cat|nl|bat|less|head|tail|sed)(?:\s+-\S{1,20}|\s+\d{1,9}|\s+['\"][\d,$p;]{1,40}['\"]){0,6}\s+"
    r"(['\"]?)([\w./~@+-]{1,300}\.\w{1,10})\1\s*"
)
"""A command that shows one file."""
_SAYS_LITTLE = re.compile(r"(?:cd|echo|printf|set|source|true|export|done|do|fi)\b")
"""Steps that are left out of a look-up where others say what it looked up."""
_PAGES = re.compile(r"(?:cat|head|less|nl|sed\s+-n|tail)\b")
_URL = re.compile(r"https?://\S{1,300}/(?:pull|pulls|merge_requests|issues)/\d+")


def command_deeds(command: str, framed: Framed | None, *, background: bool, folder: str = "") -> list[Deed]:
    """Return the deeds of a shell command in order, at least one.

    Args:
        command: The command line, of one or more lines.
        framed: Its result; `None` if there is none.
        background: Whether its call asks that it goes on behind it.
        folder: Where it begins; empty if unknown.
    """
    steps = steps_of(command)
    folders = folders_of(steps, folder)
    placed = [(step, place) for step, place in zip(steps, folders, strict=True) if not step_reads(step)]
    acting = [step for step, _ in placed]
    if not acting or (
        framed and _shows_json(framed) and all(is_unknown(stage) for step in acting for stage in step.stages)
    ):
        return [_placed(_look_up(steps, command, framed), folders[-1] if folders else folder)]
    running = framed.running if framed else ""
    detached = any(step.background for step in acting) and not running
    if background or running or (detached and acting[-1].background):
        return [_started(acting, framed, running)]
    parts = _Parts(acting, framed, [place for _, place in placed], ends=acting[-1] is steps[-1])
    return parts.deeds() or [parts.run(acting)]


def _placed(deed: Deed, folder: str) -> Deed:
    """Return a deed with its folder, which is also part of the path of its file."""
    if not folder:
        return deed
    path = joined(folder, deed.path) if deed.path else ""
    source = joined(folder, deed.key) if deed.what == "moved" else deed.key
    return deed._replace(path=path, key=source, folder=folder)


def _shows_json(framed: Framed) -> bool:
    return framed.text.lstrip().startswith(("[", "{")) and is_listing(framed.text)


def _look_up(steps: Sequence[Step], command: str, framed: Framed | None) -> Deed:
    notable = [step for step in steps if not _SAYS_LITTLE.match(step.text)] or steps
    shown = [step.text for step in notable]
    what = one_line(" && ".join(shown[:_MOST]) or command.strip() or "(empty command)", _COMMAND)
    first, *others = notable[0].stages if len(shown) == 1 else ("", "")
    file = _SHOWS_FILE.fullmatch(first[:_STEP].strip()) if all(_PAGES.match(each) for each in others) else None
    text = bounded(framed.text) if framed else ""
    if file:
        ending = look_up_ending(framed) if framed else NO_RESULT
        shown_text = "" if ending.failed else unnumbered(text)
        return Deed("read", what, file.group(2), failed=ending.failed, outcome=ending.outcome, text=shown_text)
    if framed is None:
        return Deed("search", what, outcome=NO_RESULT.outcome)
    if framed.running:
        return Deed("search", what, outcome="running", key=framed.running, text=text)
    failed = framed.code not in (None, 0, 1)  # grep, diff and test end with 1 where they find nothing, or a difference
    outcome = ending_of(framed).outcome if failed else "nothing found" if shows_nothing(text) else ""
    return Deed("search", what, failed=failed, outcome=outcome, text=text)


def _started(acting: Sequence[Step], framed: Framed | None, running: str) -> Deed:
    what = one_line(" && ".join(one_line(step.text, _STEP) for step in acting[:_MOST]), _COMMAND)
    failed = framed is not None and framed.code not in (None, 0)
    outcome = NO_RESULT.outcome if framed is None else ending_of(framed).outcome if failed else "running"
    text = framed.text if framed else ""
    return Deed("background", what, failed=failed, outcome=outcome, key=running, text=bounded(text))


class _Parts:
    """The steps of a command that changed something, and its one result."""

    def __init__(self, steps: Sequence[Step], framed: Framed | None, places: Sequence[str], *, ends: bool) -> None:
        self._steps, self._places = steps, places
        self._ends = ends
        """Whether the last of them ends the command: the result may be that of a look-up else."""
        self._framed = framed
        self._ending = ending_of(framed) if framed else NO_RESULT
        self._elsewhere = is_elsewhere(framed)
        if self._elsewhere and not self._ending.failed:
            self._ending = Ending(failed=True, outcome=self._ending.outcome)
        self._commits = any(_git(step, "commit") for step in steps)

    def deeds(self) -> list[Deed]:
        """Return the deeds of the steps in order; steps of one kind in a row that git and files do not know are one."""
        deeds: list[Deed] = []
        for kind, steps, folder in self._runs():
            last = steps[-1] is self._steps[-1]
            if kind == "check":
                found = self._checks(steps)
            elif kind == "run":
                found = [self.run(steps, last=last)]
            else:
                found = self._special(kind, steps[0], last=last)
            deeds += [_placed(deed, folder) for deed in found]
        return deeds

    def _runs(self) -> list[tuple[str, list[Step], str]]:
        """Return the steps in order with the kind of each and the folder, those of one kind in a row together."""
        found: list[tuple[str, list[Step], str]] = []
        for step, folder in zip(self._steps, self._places, strict=True):
            kind = self._kind(step) if len(found) < _MOST else "run"
            if kind in ("check", "run") and found and found[-1][0] == kind:
                found[-1][1].append(step)
            elif kind:
                found.append((kind, [step], folder))
        return found

    def _kind(self, step: Step) -> str:
        """Return the kind of a step; empty if another step says it all."""
        if _git(step, "add") and self._commits:
            return ""
        if _git(step, "commit"):
            return "commit"
        if _git(step, "push"):
            return "push"
        if is_check(step):
            return "check"
        return "edit" if file_deeds(step, Ending()) else "run"

    def _special(self, kind: str, step: Step, *, last: bool) -> list[Deed]:
        if kind == "commit":
            return commit_deeds(step, self._framed, self._ending)
        if kind == "push":
            return [push_deed(step, self._framed, self._ending)]
        return file_deeds(step, self._ending if last or self._elsewhere else Ending())

    def _checks(self, steps: Sequence[Step]) -> list[Deed]:
        """Return a deed for each check that passed; checks of which some failed are one."""
        ending = check_ending(self._framed) if self._framed else NO_RESULT
        whats = [one_line(step.text, _STEP) for step in steps]
        if ending.failed or len(steps) == 1:
            key = one_line(" && ".join(check_key(step) for step in steps), _STEP)
            what = one_line(" && ".join(whats), _COMMAND)
            return [Deed("check", what, failed=ending.failed, outcome=ending.outcome, key=key)]
        passed = [
            Deed("check", what, outcome="passed", key=check_key(step)) for what, step in zip(whats, steps, strict=True)
        ]
        return [*passed[:-1], passed[-1]._replace(outcome=ending.outcome)]

    def run(self, steps: Sequence[Step], *, last: bool = True) -> Deed:
        """Return one deed for steps that are nothing in particular; the result belongs to the last one of all."""
        what = one_line(" && ".join(one_line(step.text, _STEP) for step in steps[:_MOST]), _COMMAND)
        if not last:
            return Deed("run", what)
        urls = _URL.findall(self._framed.text) if self._framed and not self._ending.failed else []
        outcome = urls[-1] if urls and re.search(r"\b(?:create|merge|edit|comment|close|ready|reopen)\b", what) else ""
        text = bounded(self._framed.text) if self._framed else ""
        if not outcome and (self._ends or self._ending.failed or self._framed is None):
            outcome = self._ending.outcome
        return Deed("run", what, failed=self._ending.failed, outcome=outcome, text=text)


def _git(step: Step, name: str) -> bool:
    return re.match(rf"git\s+(?:(?:-[Cc]\s+\S+|--\S+)\s+){{0,4}}{name}\b", bare(step.stages[0])) is not None
