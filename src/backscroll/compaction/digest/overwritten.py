"""Find lines that left a file when a call overwrote it, by what results showed of it before."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from backscroll.compaction.digest.terms import pieces, specific_words
from backscroll.compaction.file_calls import arguments_of, may_write, path_of, written_text


class Call(NamedTuple):
    """A call of any tool."""

    seq: int
    """Its message."""
    id: str | None
    arguments: str
    """As JSON text."""


def overwritten_lines(calls: Sequence[Call], results: Mapping[str | None, str]) -> dict[str, int]:
    """Return lines that results showed of a file, and that a later call left out of it, with the `seq` of that call.

    Only lines with a specific word count. Others, such as an import, are in many files.

    Args:
        calls: Calls in the order of the conversation.
        results: What they returned, by their ids.
    """
    if not any(may_write(call.arguments) for call in calls):
        return {}
    found: dict[str, int] = {}
    shown: dict[str, set[str]] = {}
    for call in calls:
        arguments = arguments_of(call.arguments)
        path, written = path_of(arguments), written_text(arguments)
        if path and written is not None:
            now = set(pieces(written))
            found.update(dict.fromkeys(shown.get(path, set()) - now, call.seq))
            shown[path] = now
        elif path and call.id in results:
            shown.setdefault(path, set()).update(pieces(results[call.id]))
    return {line: seq for line, seq in found.items() if specific_words(line)}
