"""What is sent: history and plan, rendered as messages.

`view.py` keeps the view of one lane up to date, `rendering.py` writes each of its messages, `tool_pairs.py` rejects
what a provider would reject, and `escaping.py` keeps text from imitating a view's own notation.
"""
