"""What a user's message holds that its user did not type.

- `shapes.py`      the shapes by which hosts insert text, as data
- `piece.py`       a part of a text, who is behind it, and the parts of a command put together
- `pieces.py`      a text split into what was typed, what was pasted and what was inserted
- `looks.py`       what looks pasted, where no shape is known
- `quotations.py`  paragraphs that were copied from a reviewer, an agent or a page

Only what was typed can state a rule. What may be either counts as pasted: it is kept as the user's, and states none.
"""
