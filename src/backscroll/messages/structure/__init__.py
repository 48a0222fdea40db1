"""The structure of long texts: how JSON and other results are split, and cut as what they are.

- `json_tree.py`     values of JSON and of JSON lines, as positions
- `json_excerpt.py`  JSON cut to some of its values, which is valid JSON
- `pieces.py`        the pieces of a text that can stay by themselves, and what stays with each
"""

from backscroll.messages.structure.json_excerpt import cut_json
from backscroll.messages.structure.pieces import JSON, Piece, Pieces, at_ends, frames_of, joined, pieces_of

__all__ = ["JSON", "Piece", "Pieces", "at_ends", "cut_json", "frames_of", "joined", "pieces_of"]
