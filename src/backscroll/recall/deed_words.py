"""A deed in a few words, for the line in place of its call."""

from backscroll.messages.deeds import Deed
from backscroll.messages.deeds.texts import one_line
from backscroll.messages.prose import first_line

_NAMES = 3
_WHAT, _OUTCOME, _PATH = 90, 60, 60  # characters: with the reference and the size, a line of about 40 tokens


def words_of(deed: Deed) -> str:
    """Return what a deed did and how it ended, in one line."""
    what = one_line(deed.what, _WHAT)
    match deed.kind:
        case "edit":
            return f"{what} {_short(deed.path)}{_wrote(deed)}{_ended(deed, says_more=False)}"
        case "read":
            return f"read {_short(deed.path) or what}{_ended(deed, says_more=False)}"
        case "search":
            return f"searched {what}" + (f" in {one_line(deed.key, _OUTCOME)}" if deed.key else "") + _ended(deed)
        case "commit":
            return f"commit {deed.key[:10]} {what}".replace("  ", " ") + _ended(deed, says_more=False)
        case "check" | "run":
            return f"ran {what}{_ended(deed)}"
        case "refused":
            return f"the user refused {what}"
        case "asked":
            return f"asked the user: {what}{_ended(deed)}"
        case "todo":
            return f"to-do list, {len(deed.rows)} rows"
        case _:
            return f"{deed.kind}: {what}{_ended(deed)}"


def _wrote(deed: Deed) -> str:
    """Return the difference of several changes of one file: the names that they define, or how their text begins."""
    named = ", ".join(deed.defined[:_NAMES]) or first_line(deed.text)
    return f": {one_line(named, _OUTCOME)}" if named else ""


def _short(path: str) -> str:
    """Return the end of a path: its beginning is that of all files of a project."""
    return path if len(path) <= _PATH else f"…/{'/'.join(path.split('/')[-3:])[-_PATH:]}"


def _ended(deed: Deed, *, says_more: bool = True) -> str:
    outcome = one_line(deed.outcome, _OUTCOME)
    if deed.failed:
        return f" -> FAILED: {outcome}" if outcome else " -> FAILED"
    return f" -> {outcome}" if outcome and says_more else ""
