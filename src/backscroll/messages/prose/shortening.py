"""Shorten prose by its structure: headings, lists, first sentences, reasons, places and questions, in order."""

from collections.abc import Mapping, Sequence

from backscroll.messages.prose.blocks import blocks_of
from backscroll.messages.prose.lines import READ, cut
from backscroll.messages.prose.passage import Passage
from backscroll.messages.prose.passages import passages_of
from backscroll.messages.prose.selection import MARK, selected


def short(text: str, room: int, *, document: bool = False) -> str:
    """Return prose in at most `room` characters: all of it, tidied, if it fits; else what leads its paragraphs and
    lists, what gives reasons, places and questions, and its first and last paragraph.

    Args:
        text: A report, a message or a document, as Markdown or without marks.
        room: The most characters of what is returned. Below 1 nothing is.
        document: The text instructs its reader, as a template or a skill does: orders and commands weigh more.
    """
    if room < 1:
        return ""
    if len(text) <= max(room, 2 * READ):
        blocks = blocks_of(text)
        whole = "\n".join(block.written for block in blocks)
        if len(whole) <= room:
            return whole
        passages = passages_of(blocks, document=document)
    else:
        passages = _of_ends(text, document=document)
    kept = selected(passages, room)
    if kept:
        return _printed(passages, kept)
    best = max(passages, key=lambda passage: passage.weight).text if passages else ""
    return cut(f"{best} {MARK}", room)


def _of_ends(text: str, *, document: bool) -> list[Passage]:
    """Return the passages of the ends of a long text, without the lines that are cut."""
    head, tail = text[:READ], text[-READ:]
    head = head[: head.rfind("\n") + 1] or head
    tail = tail[tail.find("\n") + 1 :] or tail
    passages = [*passages_of(blocks_of(head), document=document), Passage("", 0)]  # never kept: marks the gap
    return passages + passages_of(blocks_of(tail), document=document, start=len(passages))


def _printed(passages: Sequence[Passage], kept: Mapping[int, str]) -> str:
    """Return what is kept, in order, with each gap marked."""
    printed, before = "", -1
    for position in sorted(kept):
        if position > before + 1:
            printed = f"{_marked(printed)}\n" if printed else f"{MARK} "
        elif printed and passages[position].begins:
            printed = f"{printed.rstrip()}\n"
        printed += kept[position]
        before = position
    return _marked(printed) if before < len(passages) - 1 else printed.rstrip()


def _marked(printed: str) -> str:
    """Return a text with a mark behind it, one where it was shortened before."""
    printed = printed.rstrip()
    return printed if printed.endswith(MARK) else f"{printed} {MARK}"
