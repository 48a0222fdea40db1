"""Write deeds as lines of a chronicle. The first words of a line say what kind of deed it is."""

from collections.abc import Iterable, Sequence

from backscroll.compaction.handover.beginnings import (
    ANSWER,
    ASKED,
    CHECK,
    COMMIT,
    DELEGATED,
    LOOKED,
    PLAN,
    PUSH,
    REFUSED,
    STARTED,
    written,
)
from backscroll.compaction.handover.paths import leaf, relative
from backscroll.messages.deeds import Deed
from backscroll.messages.prose import cut, short

_COMMAND = 230  # characters of a command: with its options it fills two lines
_OUTCOME = 300
_ANSWER = 900  # characters of the user's answer: "ellipses fall on the answers one needs", readers wrote
_PLAN, _REPORT = 2_500, 1_500  # characters of a plan, and of what was reported on a delegated task, in full
_NAMED = 3  # files named that were only looked at: these are one line
_HASH = 10  # characters of a commit's hash


def line_of(deed: Deed, root: str) -> str:
    """Return what a deed was and how it ended; empty for a look-up, a to-do list and an edit, which merge.

    Args:
        deed: The deed.
        root: The folder to which paths are relative.
    """
    what, outcome = relative(deed.what, root), relative(deed.outcome, root)
    match deed.kind:
        case "commit":
            return f"{COMMIT}{deed.key[:_HASH]} “{cut(what, 120)}”".replace("  ", " ") + _failed(deed, outcome)
        case "push":
            return f"{PUSH}{what}{_failed(deed, outcome)}"
        case "check":
            return f"{CHECK}{cut(what, _COMMAND)}`{_ended(deed, outcome)}"
        case "plan":
            return f"{PLAN}{short(deed.text or what, _PLAN)}"
        case "asked":
            return f"{ASKED}{what}" + (f"{ANSWER}{short(outcome, _ANSWER)}" if outcome else " (no answer yet)")
        case "delegated":
            return f"{DELEGATED}“{cut(what, _COMMAND)}”" + (f": {short(deed.text, _REPORT)}" if deed.text else "")
        case "refused":
            return f"{REFUSED}{cut(what, _COMMAND)}" + (f"; reason: {cut(outcome, _OUTCOME)}" if outcome else "")
        case "background":
            return _of_background(deed, what, outcome)
        case "run":
            return f"`{cut(what, _COMMAND)}`{_ended(deed, outcome)}"
        case _:
            return ""


def _failed(deed: Deed, outcome: str) -> str:
    return f" FAILED: {cut(outcome, _OUTCOME)}" if deed.failed else ""


def _ended(deed: Deed, outcome: str) -> str:
    shown = cut(outcome, _OUTCOME)
    if deed.failed:
        return f" -> FAILED: {shown}" if shown else " -> FAILED"
    return f" -> {shown}" if shown else ""


def _of_background(deed: Deed, what: str, outcome: str) -> str:
    if deed.what == "ended":
        return f"background run {deed.key} ended" + (f": {cut(outcome, _OUTCOME)}" if outcome else "")
    return f"{STARTED}{cut(what, _COMMAND)}` in the background" + (f" ({deed.key})" if deed.key else "")


def edits_line(edits: Iterable[Deed], root: str) -> str:
    """Return successful changes of files in one line."""
    counts: dict[tuple[str, str], int] = {}
    for deed in edits:
        name = deed.what, leaf(deed.path, root)
        counts[name] = counts.get(name, 0) + 1
    return written(counts)


def looked_line(paths: Sequence[str], root: str) -> str:
    """Return which files were read that say nothing in short; empty without any."""
    names = list(dict.fromkeys(leaf(path, root) for path in paths))
    more = f", and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{LOOKED}{', '.join(names[:_NAMED])}{more}" if names else ""
