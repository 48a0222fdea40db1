"""Choosing what a view leaves out, and what its summary tells of that.

Deciding:

- `window.py`     what a strategy is shown, and the edits it can make of it
- `draft.py`      a plan in the making, and what it wins
- `ladder.py`     the first trigger: the order of strategies, when to stop, and the last resort
- `batch.py`      the second trigger: a batch of old results whose masking pays at cache prices
- `floor.py`      clipping what must stay, where that alone does not fit
- `strategies.py` names of strategies, and the default order of harm
- `supersede.py`, `clip.py`, `mask.py`, `digest.py`, `importance.py`, `drop.py`   one strategy each

Telling:

- `words.py`      what a text mentions, and its lines
- `salience.py`   what weighs in a window
- `cover.py`      choosing lines that together mention most of it
- `staleness.py`  lines that an edit took out
- `rules.py`      sentences in which a user states a rule
- `notes.py`      what is said of one turn
- `writer.py`     the digest
"""
