"""Choosing what a view leaves out, and what its summary tells of that.

Deciding:

- `candidates.py`     what a strategy is shown, and the edits it can make of it
- `plan_builder.py`      a plan in the making, and what it wins
- `pipeline.py`     the first trigger: the order of strategies, when to stop, and the last resort
- `cache_pricing.py`      the second trigger: a batch of old results whose masking pays at cache prices
- `last_resort.py`      clipping what must stay, where that alone does not fit
- `strategies/`    one strategy each, their names, and the default order of harm

Telling:

- `digest/terms.py`      what a text mentions, and its lines
- `digest/relevance.py`   what weighs in a window
- `digest/line_selection.py`      choosing lines that together mention most of it
- `digest/stale_lines.py`  lines that an edit took out
- `digest/user_rules.py`      sentences in which a user states a rule
- `digest/notes.py`      what is said of one turn
- `digest/writer.py`     the digest
"""
