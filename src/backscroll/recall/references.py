"""References as a model writes them, and the messages that they name."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from backscroll.errors import ReferenceNotFoundError
from backscroll.history.history import History

_REF = re.compile(r"^\s*(?:\[?ref:)?(\d{1,15})(?:-(\d{1,15})|\.(\d{1,15}))?\]?\s*$")
_MOST = 100  # references of one list: more than a page has room to open, and few enough to look each one up


@dataclass(frozen=True, slots=True)
class Reference:
    """A parsed reference: an entry, a range of entries, or a part of an entry."""

    first: int
    last: int
    part: int | None = None


def parse(ref: str | int) -> Reference:
    """Parse `12`, `12-40` or `12.1`, each also as `ref:...` or `[ref:...]`.

    Raises:
        ReferenceNotFoundError: It is none of these.
    """
    found = _REF.match(str(ref))
    if not found:
        raise ReferenceNotFoundError(f"{ref!r:.80} is no reference; they read 12, 12-40 or 12.1, as in [ref:12-40]")
    first, last = int(found[1]), int(found[2] or found[1])
    if last < first:
        raise ReferenceNotFoundError(f"the range {first}-{last} ends before it begins; write {last}-{first}")
    return Reference(first, last, None if found[3] is None else int(found[3]))


def parse_all(ref: str | int) -> list[Reference]:
    """Parse one reference, or several messages and ranges with commas, such as `12,15,20-31`.

    Raises:
        ReferenceNotFoundError: One of them is no reference, or names a part where there are several.
    """
    written = [each for each in str(ref).split(",") if each.strip()] or [str(ref)]
    if len(written) > _MOST:
        raise ReferenceNotFoundError(f"a list has at most {_MOST} references, not {len(written):,}")
    found = [parse(each) for each in written]
    for each in found if len(found) > 1 else ():
        if each.part is not None:
            raise ReferenceNotFoundError(f"a list has messages and ranges only: read {each.first}.{each.part} alone")
    return found


def named(history: History, refs: Sequence[Reference]) -> list[int]:
    """Return the `seq`s that references name, each once and ascending; without any, those of the whole branch.

    Raises:
        ReferenceNotFoundError: One of them names none.
    """
    branch = history.branch
    if not refs:
        return list(branch.between(0, len(branch)))
    seqs: set[int] = set()
    for ref in refs:
        seqs.update(_named(history, ref))
    return sorted(seqs)


def _named(history: History, ref: Reference) -> list[int]:
    branch = history.branch
    if ref.first == ref.last:
        found = [ref.first] if ref.first < history.next_seq else []
    else:
        found = list(branch.between(branch.position(ref.first), branch.position(ref.last + 1)))
    if not found:
        raise ReferenceNotFoundError(
            f"nothing is kept under [ref:{ref.first}]; messages 0 to {history.next_seq - 1} are in this session"
        )
    return found


def rest_of(refs: Iterable[Reference], left: Sequence[int]) -> str:
    """Return references to those of the messages that are left, as `parse_all` reads them; empty if there are none.

    Args:
        refs: What was asked for.
        left: The ascending `seq`s that are still to be read.
    """
    found = []
    for ref in refs:
        inside = [seq for seq in left if ref.first <= seq <= ref.last]
        if inside:
            found.append(str(inside[0]) if len(inside) == 1 else f"{inside[0]}-{inside[-1]}")
    return ",".join(found)
