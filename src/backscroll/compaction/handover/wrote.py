"""Say in short what an edit wrote: the outline of a document, or the signatures and key lines of code."""

from backscroll.compaction.handover.beginnings import WROTE, is_prose
from backscroll.compaction.handover.paths import leaf
from backscroll.messages.deeds import Deed
from backscroll.messages.deeds.key_lines import key_lines
from backscroll.messages.deeds.names import signatures_in
from backscroll.messages.prose import cut, short

_DOCUMENT = 900  # characters of a document: a plan's steps and a to-do list in full, which readers looked for
_SIGNATURES, _SIGNATURE = 5, 160  # of one edit, and characters of each: more is the code itself
_KEY_LINES = (
    420  # characters of lines with values, messages and reasons: readers were asked for these, and for no others
)
_REMOVED = 4  # names of what went


def wrote(deed: Deed, root: str) -> str:
    """Return what an edit wrote and removed, behind the file's name; empty if no name says it.

    Of code these are its signatures, and the lines that say what they do not: values, messages, reasons. Other lines
    are not quoted: of an edit they are mostly what is around it.

    Args:
        deed: The edit.
        root: The folder to which paths are relative.
    """
    text = deed.text.strip()
    if deed.what == "deleted" or not (text or deed.removed):
        return ""
    begins = f"{WROTE}{leaf(deed.path, root)}: "
    if is_prose(deed.path):
        return f"{begins}{short(text, _DOCUMENT, document=True)}" if text else ""
    parts = [cut(line, _SIGNATURE) for line in signatures_in(text, _SIGNATURES)]
    parts += [line for line in key_lines(deed.new_lines, _KEY_LINES) if line not in parts]
    parts += [f"no longer {', '.join(deed.removed[:_REMOVED])}"] if deed.removed else []
    return begins + " ⏎ ".join(parts) if parts else ""
