"""Recall what a view leaves out.

`retrieval.py` finds messages by reference, query or pattern, `pages.py` cuts a text into pages, `tool.py` is the tool
that a model calls, `outdated.py` marks what the user replaced, and `all_sessions.py` searches every session of a store.
"""
