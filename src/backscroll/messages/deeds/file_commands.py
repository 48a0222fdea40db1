"""Steps of a command that write, change or delete files."""

import re

from backscroll.messages.deeds.deed import Deed
from backscroll.messages.deeds.ending import Ending
from backscroll.messages.deeds.file_moves import moved_files, restored_files
from backscroll.messages.deeds.names import names_in
from backscroll.messages.deeds.patches import BEGIN, edits_in
from backscroll.messages.deeds.programs import LITERALS
from backscroll.messages.deeds.reading import bare, written_file
from backscroll.messages.deeds.shell import Step
from backscroll.messages.deeds.texts import bounded

_WORDS = re.compile(r"'[^']*'|\"[^\"]*\"|\S+")
_IN_PLACE = re.compile(r"sed\s+.{0,60}?(?:-[a-zA-Z]*i|--in-place)")
_TEED = re.compile(r"(?:sudo\s+)?tee\s+(-a\s+)?(['\"]?)([^\s'\"|&;<>]{1,500})\2")
_REMOVED = re.compile(r"(?:git\s+)?rm(?:\s+-f)?((?:\s+[\w./~@+-]{1,300}\.\w{1,10}){1,4})\s*")
"""Files that are removed by name; a folder, or a pattern, is no edit."""


def file_deeds(step: Step, ending: Ending) -> list[Deed]:
    """Return the edits of a step that writes, changes or deletes files; none if it does something else."""
    first = bare(step.stages[0])
    document = step.documents[0] if step.documents else ""
    if BEGIN in document or first.startswith("apply_patch"):
        return [_edit(edit.path, edit.how, edit.new, ending) for edit in edits_in(document or first)]
    if path := _written(step, first):
        appends = ">>" in first or " -a " in step.stages[-1]
        return [_edit(path, "edited" if appends else "created", document, ending)]
    if _IN_PLACE.match(first):
        files = [word.strip("'\"") for word in _WORDS.findall(first)[2:] if not word.startswith("-")]
        return [_edit(files[-1], "edited", "", ending)] if len(files) > 1 and not set(files[-1]) & set("*$") else []
    if removed := _REMOVED.fullmatch(first):
        return [_edit(file, "deleted", "", ending) for file in removed.group(1).split()]
    return moved_files(first, ending) or restored_files(first, ending)


def _written(step: Step, first: str) -> str:
    """Return the file to which a step writes a text that it holds."""
    if first.split(maxsplit=1)[:1] and first.split(maxsplit=1)[0] not in LITERALS and not step.documents:
        return ""
    teed = _TEED.match(step.stages[-1])
    path = teed.group(3) if teed else written_file(first) if first.startswith(LITERALS) else ""
    return "" if path.startswith("$") else path  # a file of its own, for a step behind


def _edit(path: str, how: str, text: str, ending: Ending) -> Deed:
    outcome = ending.outcome if ending.failed else ""
    text = bounded(text)
    return Deed("edit", how, path, failed=ending.failed, outcome=outcome, text=text, defined=names_in(text))
