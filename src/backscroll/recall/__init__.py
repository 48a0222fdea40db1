"""Recall what a view leaves out.

`retrieval.py` finds messages by reference, query or pattern, `pages.py` cuts a text into pages, `tool.py` is the tool
that a model calls, and `all_sessions.py` searches every session of a store. For a query, `names.py` takes words apart,
`passages.py` cuts texts, `ranking.py` puts in order what an index found, and `outdated.py` marks what the user
replaced.
"""
