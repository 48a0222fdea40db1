"""Split a text into its blocks: headings, items, rows, paragraphs and code."""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Literal, NamedTuple

from backscroll.messages.prose.lines import BULLET, tidy

BlockKind = Literal["heading", "lead", "item", "row", "paragraph", "code"]
_FENCE = re.compile(r"\s*(?:(`{3,})[^`]*$|(~{3,}))")
_RULE = re.compile(r"([-=*_])(?:\s*\1){2,}$")
_BORDER = re.compile(r"[\s|:+-]+$")
_HEADING = re.compile(r"#{1,6} ")
_BOLD = re.compile(r"\*\*[^*]+\*\*:?$")
_CLOSES = ".?!…\u3002\uff1f\uff01\uff1a"
_CLOSED = re.compile(r" #+$")
_NUMBER = re.compile(r"(?:[^\W\d]+ )?\(?\d{1,3}(?:\.\d{1,3}){0,3}\b")
_TITLED = re.compile(r"[^\W\d_](?:[^.!?:]|\.\w)*\w:")
_WRAPPED = 50  # characters: a line of a paragraph wrapped by hand is longer; shorter ones are names, paths or verses
NUMBERS = -1  # the group of headings that count
_TITLE = 90  # characters of a heading without marks at most: a longer line says more than a title
_NESTED = 2  # spaces from which a line belongs to the item above it
_TAB = 4


class Block(NamedTuple):
    """A line of a text, a paragraph wrapped by hand, or a block of code."""

    kind: BlockKind
    """`lead`: a line that ends in a colon before items, rows or code, or the head of a table."""
    text: str
    """Tidied; code unchanged, with its fences."""
    begins: bool = True
    """An empty line, or a block of another kind, is before it."""
    nested: bool = False
    """It is indented: an item below another one, or a paragraph of an item."""
    written: str = ""
    """The same as the lines of a text that is kept whole."""

    @property
    def numbered(self) -> bool:
        """A heading that counts, such as "2. Tests" or "Step 3": one of a list of headings."""
        return self.kind == "heading" and _NUMBER.match(self.text) is not None


def blocks_of(text: str) -> list[Block]:
    """Return the blocks of a text, in order. Empty lines, rules and borders of tables are left out."""
    blocks: list[Block] = []
    gap = True
    for block in _parsed(text.split("\n")):
        if block is None:
            gap = True
            continue
        before = None if gap else blocks[-1]
        if before is not None and _goes_on(before, block):
            blocks[-1] = _joined(before, block)
            continue
        blocks.append(block._replace(begins=before is None or before.kind != block.kind))
        gap = False
    blocks = [block if block.written else block._replace(written=block.text) for block in blocks]
    around = zip_longest([None, *blocks], blocks, blocks[1:])
    return [_by_neighbors(before, block, after) for before, block, after in around if block is not None]


def _parsed(lines: Sequence[str]) -> Iterator[Block | None]:
    """Yield the block of each line, or of each fence; None for a line that says nothing."""
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if fence:
            end = _end_of_code(lines, at + 1, fence[1] or fence[2])
            yield Block("code", "\n".join(line.rstrip() for line in lines[at:end]).rstrip())
            at = end
            continue
        is_head = at + 1 < len(lines) and "-" in lines[at + 1] and _BORDER.match(lines[at + 1]) is not None
        yield _of_line(lines[at], is_head=is_head)
        at += 1


def _end_of_code(lines: Sequence[str], at: int, fence: str) -> int:
    """Return where a block of code is over: behind its closing fence, or at the end of the text."""
    for end in range(at, len(lines)):
        closing = lines[end].strip()
        if closing.startswith(fence) and not closing.strip(fence[0]):
            return end + 1
    return len(lines)


def _of_line(line: str, *, is_head: bool) -> Block | None:
    text = tidy(line)
    if _FENCE.match(text.lstrip("# ")):  # behind marks, where it begins no code
        text = tidy(text.replace("`", "").replace("~", ""))
    if not text or _RULE.match(text) or _BORDER.match(text):
        return None
    if text.startswith("|"):
        return Block("lead" if is_head else "row", text)
    if _HEADING.match(text) or _BOLD.match(line.strip()):
        return _heading(text)
    nested = len(line[: len(line) - len(line.lstrip())].expandtabs(_TAB)) >= _NESTED
    kind: BlockKind = "item" if BULLET.match(text) else "paragraph"
    return Block(kind, text, nested=nested, written=f"  {text}" if nested else text)


def _heading(text: str) -> Block | None:
    title = _CLOSED.sub("", text.lstrip("# ")).rstrip(":").rstrip()
    if not any(map(str.isalnum, title)):
        return None
    block = Block("heading", title)
    return block if block.numbered or title[-1] in _CLOSES else block._replace(text=f"{title}:")


def _goes_on(before: Block, block: Block) -> bool:
    """Return whether a line continues the sentence of the line before it."""
    wrapped = before.kind in ("paragraph", "item") and block.kind == "paragraph" and len(before.text) >= _WRAPPED
    return wrapped and (before.text[-1].isalpha() or before.text[-1] == ",") and block.text[0].islower()


def _joined(before: Block, block: Block) -> Block:
    return before._replace(text=f"{before.text} {block.text}", written=f"{before.written}\n{block.written}")


def _by_neighbors(before: Block | None, block: Block, after: Block | None) -> Block:
    """Return a block as what it is between its neighbors: a line leads what follows, and a short line with a
    colon, or an item that counts alone, above text is the heading that it was before its marks went.
    """
    if after is None:
        return block
    if block.kind == "paragraph" and block.text[-1] in ":\uff1a" and after.kind in ("item", "row", "code"):
        return block._replace(kind="lead")
    above_text = not after.nested and after.kind in ("paragraph", "code") and len(block.text) <= _TITLE
    if before is not None and above_text and block.kind == "paragraph" and _TITLED.fullmatch(block.text):
        return block._replace(kind="heading")
    return block._replace(kind="heading") if above_text and _counts(block) and not _counts(before) else block


def _counts(block: Block | None) -> bool:
    return block is not None and block.kind == "item" and not block.nested and block.text.lstrip("(")[:1].isdigit()


class Place(NamedTuple):
    """Where a block is."""

    above: int | None
    """The position of the heading, the lead or the item that it needs before it."""
    group: int | None
    """The list or table of which it is an item."""
    topic: str
    """The headings above it."""


class Lists:
    """The heading, the lead and the lists at one place of a text, which is read from its beginning."""

    def __init__(self) -> None:
        self._heading: int | None = None
        self._lead: int | None = None
        self._run: int | None = None
        self._item: int | None = None
        """The last item that is not below another one."""
        self._topics = "", "", ""

    def place(self, block: Block, here: int) -> Place:
        """Return the place of the next block, whose first passage will be at the position `here`."""
        leads = block.kind in ("heading", "lead")
        if leads or (block.kind == "paragraph" and block.begins and not block.nested):
            self._lead = self._run = self._item = None
            self._topics = self._topics[0], "", ""
        elif block.kind in ("item", "row") and self._run is None:
            self._run = here
        if block.kind == "heading":
            self._heading, self._topics = here, (block.text, "", "")
            return Place(None, NUMBERS if block.numbered else None, "")
        above = self._heading if self._lead is None else self._lead
        topic = " ".join(self._topics[:2])
        if block.kind == "lead":
            self._lead, self._topics = here, (self._topics[0], block.text, "")
            return Place(above, None, topic)
        below = self._item is not None and (block.nested or block.kind == "code")
        if below and self._item is not None:
            group = 2 * self._item + 1 if block.kind == "item" else None
            return Place(self._item, group, f"{topic} {self._topics[2]}")
        if block.kind == "item" and not block.nested:
            self._item, self._topics = here, (*self._topics[:2], block.text)
        listed = self._run is not None and block.kind in ("item", "row")
        return Place(above, 2 * self._run if listed and self._run is not None else None, topic)
