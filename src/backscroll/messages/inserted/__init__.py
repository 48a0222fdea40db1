"""What a user's message holds that its user did not type.

- `shapes.py`  the shapes by which hosts insert text, as data
- `pieces.py`  a text split into what was typed, what was pasted and what was inserted

Only what was typed can state a rule. What may be either counts as pasted: it is kept as the user's, and states none.
"""
