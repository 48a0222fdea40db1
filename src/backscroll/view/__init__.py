"""What is sent: history and plan, rendered as messages.

`view.py` keeps the view of one lane up to date, `rendering.py` writes each message of it, `tool_pairs.py` refuses
what a provider would refuse, and `escaping.py` keeps text from imitating a view's own notation.
"""
