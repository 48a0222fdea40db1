"""What every view must hold: leading system messages, the user's first and last message, items that hold for all."""

from collections.abc import Iterator
from html import unescape

from backscroll.evaluation.authors import is_injected
from backscroll.evaluation.dialects import Shape
from backscroll.evaluation.odd_parts import references
from backscroll.evaluation.validity_rules.case import Case, Rule

_SHARED = 16  # characters at one end that identify an excerpt; excerpts keep more at either end
_QUOTED = 24  # characters at the beginning that identify a quote


def _leading(case: Case) -> Iterator[str]:
    for at, message in enumerate(case.history):
        if not message.is_system:
            return
        if at >= len(case.view) or case.view[at].sameness != message.sameness:
            yield f"view[{at}]: leading system message history[{at}] is missing or changed"


def _users(case: Case) -> Iterator[str]:
    for which, original in () if case.is_native else _own(case):
        if not _is_shown(case, original):
            yield f"the {which} user message, history[{original.place}], is not in the view"


def _begins(case: Case) -> Iterator[str]:
    if case.is_native:
        return
    view = case.view
    begins = next((message for message in case.history if not message.is_system and not message.results), None)
    after = next((at for at, message in enumerate(view) if not message.is_system), None)
    is_users = begins is not None and (begins.role == "user" or begins.is_gemini)
    if is_users and (after is None or view[after].role != "user"):
        yield f"view[{after}]: the dialogue begins with no user message"


def _quoted(case: Case) -> Iterator[str]:
    """Check the same next to a provider's compaction."""
    for which, original in _own(case) if case.is_native else ():
        if original.text and not _is_shown(case, original):
            yield f"the {which} user message, history[{original.place}], is neither in the view nor quoted in it"


def _is_shown(case: Case, original: Shape) -> bool:
    """Return whether a user's message is in the view, or a summary quotes its beginning, has its entry, or
    says that it is left out because new messages take the room. Signs of the beginning do not count, because quotes
    escape some.
    """
    said = _plain(original.text[:_QUOTED])
    for message in filter(lambda shown: shown.is_summary, case.view):
        if (said and said in _plain(message.text)) or _is_left_out(message, original) or _is_named(message, original):
            return True
    return any(represents(message, original) for message in case.view)


def _is_left_out(summary: Shape, original: Shape) -> bool:
    named = summary.text.rpartition("\nLeft out: ")[2] if "\nLeft out: " in summary.text else ""
    return any(first <= original.place <= last for first, last in references(named))


def _is_named(summary: Shape, original: Shape) -> bool:
    """Return whether the entry of a message has the words that a user typed in it, or names what a host inserted."""
    whole = _plain(original.text)
    for entry in summary.text.split("\n[ref:")[1:]:
        head, *more = entry.split("\n")
        if any(first <= original.place <= last for first, last in list(references("[ref:" + head))[:1]):
            lines = (head.partition("] ")[2], *map(str.strip, more))
            typed = [_plain(line.removeprefix("user: ")[:_QUOTED]) for line in lines if line.startswith("user: ")]
            return "\n  with it: " in entry or any(said and said in whole for said in typed)
    return False


def _plain(text: str) -> str:
    return "".join(filter(str.isalnum, unescape(text)))


def _compactions(case: Case) -> Iterator[str]:
    known = {message.sameness for message in case.history if message.is_compaction}
    for at, message in enumerate(case.view if case.is_native else ()):
        if message.is_compaction and message.sameness not in known:
            yield f"view[{at}]: a second compaction by the provider"


def _needed(case: Case) -> Iterator[str]:
    shown = {message.sameness for message in case.view}
    for message in case.history:
        if message.is_needed and message.sameness not in shown:
            yield f"an item of history[{message.place}] that every view must hold is missing"


def _own(case: Case) -> list[tuple[str, Shape]]:
    """Return the user's first and last message. One that says nothing need not be shown. Words next to results may be
    the last.
    """
    own = [message for message in case.history if message.is_users and not message.is_nothing]
    last = next((message for message in reversed(case.history) if message in own[-1:] or _has_words(message)), None)
    return [("first", own[0]), ("last", last or own[-1])] if own else []


def _has_words(message: Shape) -> bool:
    """Return whether a user's message says something next to its results."""
    is_users = message.role == "user" and bool(message.results) and not is_injected(message.held)
    return is_users and message.rest is not None


def represents(shown: Shape, original: Shape) -> bool:
    """Return whether a message equals the original or is its excerpt: both ends of a long text, or its reference."""
    if shown.role != original.role or (shown.results and shown.rest is None):
        return False
    said = original.rest if original.results else original.sameness
    if said in (shown.sameness, shown.rest):
        return True
    if original.results and original.text.strip() and original.text in shown.text:
        return True  # the words next to a result that is shown as text
    cut, whole = shown.text, original.text
    if not any(first == original.place for first, _ in references(cut)):
        return False
    return cut[:_SHARED] == whole[:_SHARED] or cut[-_SHARED:] == whole[-_SHARED:] or len(whole) < _SHARED


RULES = (
    Rule("compactions", _compactions),
    Rule("quoted", _quoted),
    Rule("leading", _leading),
    Rule("users", _users),
    Rule("begins", _begins),
    Rule("needed", _needed, is_kept=False),
)
