"""Commits and pushes in the result of a command."""

import re
from collections.abc import Sequence

from backscroll.messages.deeds.arguments import Arguments, first_text
from backscroll.messages.deeds.deed import Deed
from backscroll.messages.deeds.ending import NO_RESULT, Ending
from backscroll.messages.deeds.envelopes import Framed
from backscroll.messages.deeds.outcomes import ending_of
from backscroll.messages.deeds.shell import Step
from backscroll.messages.deeds.texts import one_line

_SUBJECT = 200
_MADE = re.compile(r"^\[([^\]\s]{1,200}(?: \([^)\n]{1,40}\))?) ([0-9a-f]{7,40})\] (.{1,500})$", re.MULTILINE)
"""What git prints of a commit: branch, hash and subject."""
_MESSAGE = re.compile(r"\s(?:-\w*m|--message)[ =]?\s*(?:\"((?:[^\"\\]|\\[\s\S])*+)\"|'([^']*)'|(\S+))")
_PUSHED = re.compile(
    r"^[ \t]{0,4}[*+!=-]?[ \t]{0,4}(\[[^\]\n]{1,40}\]|[0-9a-f]{4,40}\.{2,3}[0-9a-f]{4,40})[ \t]+(\S{1,200})"
    r"[ \t]+->[ \t]+(\S{1,200})",
    re.MULTILINE,
)
"""What git prints of a branch that it pushed."""
_HASH = re.compile(r"\b(?=[0-9a-f]{0,39}\d)[0-9a-f]{7,40}\b")
_UP_TO_DATE = "Everything up-to-date"
_REFUSED = re.compile(
    r"nothing to commit|no changes added|nothing added to commit|hook .{0,80}(?:fail|exit)|pre-commit .{0,80}failed|"
    r"Aborting commit"
)
_BROKEN = re.compile(r"^(?:error|fatal): .{1,200}", re.MULTILINE)


def commit_deeds(step: Step, framed: Framed | None, ending: Ending) -> list[Deed]:
    """Return the commits that a result shows, with hash and subject; else one with the subject of its command."""
    text = framed.text if framed else ""
    made = [Deed("commit", one_line(subject, _SUBJECT), outcome=f"on {branch}", key=hash_)
            for branch, hash_, subject in _MADE.findall(text)]  # fmt: skip  # one deed
    if made:
        return made
    subject = one_line(subject_of(step), _SUBJECT)
    if framed is None:
        return [Deed("commit", subject, outcome=NO_RESULT.outcome)]
    refused = _REFUSED.search(text) or _BROKEN.search(text)
    failed = ending.failed or refused is not None
    outcome = _line_of(text, refused.start()) if refused else ending.outcome if failed else ""
    return [Deed("commit", subject, failed=failed, outcome=outcome)]


def subject_of(step: Step) -> str:
    """Return the subject of the message with which a step commits; empty if it names none."""
    for document in step.documents:
        if lines := [line.strip() for line in document.split("\n") if line.strip()]:
            return lines[0]
    found = _MESSAGE.search(step.stages[0])
    message = next((group for group in found.groups() if group), "") if found else ""
    return next((line.strip() for line in message.split("\n") if line.strip()), "")


def push_deed(step: Step, framed: Framed | None, ending: Ending) -> Deed:
    """Return a push: the branches if the result shows them, else the command."""
    text = framed.text if framed else ""
    pushed = _PUSHED.findall(text)
    done = [(source, target) for note, source, target in pushed if "reject" not in note]
    if done:
        return Deed("push", ", ".join(dict.fromkeys(f"{source} -> {target}" for source, target in done[:4])))
    what = one_line(step.text, 120)
    if framed is None:
        return Deed("push", what, outcome=NO_RESULT.outcome)
    if _UP_TO_DATE in text:
        return Deed("push", what, outcome=_UP_TO_DATE.lower())
    broken = _BROKEN.search(text)
    outcome = _line_of(text, broken.start()) if broken else ending.outcome if ending.failed else ""
    return Deed("push", what, failed=ending.failed or bool(pushed) or broken is not None, outcome=outcome)


def _line_of(text: str, at: int) -> str:
    """Return the line of a text around a position."""
    end = text.find("\n", at)
    return one_line(text[text.rfind("\n", 0, at) + 1 : end if end >= 0 else len(text)], 150)


def commit_by_name(words: Sequence[str], arguments: Arguments, framed: Framed | None) -> Deed | None:
    """Return the deed of a tool of its own for commits or pushes; `None` if its name says neither."""
    ending = ending_of(framed) if framed else NO_RESULT
    message = first_text(arguments, ("message", "commit_message", "msg"))
    outcome = ending.outcome if ending.failed or framed is None else ""
    if "commit" in words and message:
        found = _HASH.search(framed.text[:2_000]) if framed and not ending.failed else None
        subject = one_line(message.split("\n", 1)[0], _SUBJECT)
        return Deed("commit", subject, failed=ending.failed, outcome=outcome, key=found.group(0) if found else "")
    if "push" in words and "git" in words:
        target = " ".join(str(arguments[key]) for key in ("remote", "branch") if isinstance(arguments.get(key), str))
        return Deed("push", target or "git push", failed=ending.failed, outcome=outcome)
    return None
