"""The structure of long texts: how JSON and other results are split, and cut as what they are.

- `json_tree.py`     values of JSON and of JSON lines, as positions
- `json_excerpt.py`  JSON cut to some of its values, which is valid JSON
- `pieces.py`        the pieces of a text that can stay by themselves, and what stays with each
- `outline.py`       kinds of lines: tables, logs, diffs, listings and others, and their headings
- `line_pieces.py`   the lines of such a text as pieces, and the text cut to some of them
- `borders.py`       where a page of a text ends
"""

from backscroll.messages.structure.borders import border
from backscroll.messages.structure.json_excerpt import cut_json
from backscroll.messages.structure.line_pieces import KINDS as LINE_KINDS
from backscroll.messages.structure.line_pieces import cut_lines, line_pieces
from backscroll.messages.structure.pieces import JSON, Piece, Pieces, at_ends, frames_of, joined, next_pieces, pieces_of

__all__ = [
    "JSON",
    "LINE_KINDS",
    "Piece",
    "Pieces",
    "at_ends",
    "border",
    "cut_json",
    "cut_lines",
    "frames_of",
    "joined",
    "line_pieces",
    "next_pieces",
    "pieces_of",
]
