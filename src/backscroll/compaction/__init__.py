"""Choosing what a view leaves out.

- `window.py`    what a strategy is shown, and the edits it can make of it
- `draft.py`     a plan in the making, and what it wins
- `ladder.py`    the order of strategies, when to stop, and the last resort
- `floor.py`     clipping what must stay, where that alone does not fit
- `clip.py`, `mask.py`, `drop.py`   one strategy each
- `strategies.py` names of strategies, and the default order of harm
"""
