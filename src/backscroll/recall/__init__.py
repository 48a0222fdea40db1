"""Recall what a view leaves out.

`retrieval.py` finds messages by reference, query or pattern, `references.py` reads references, `entry_texts.py` writes
what a model reads of a message, `pages.py` cuts a text into pages, `tool.py` is the tool that a model calls, and
`all_sessions.py` searches every session of a store. Of a range that is too long for a page, `outline.py` says what each
message is, and `deed_words.py` what its calls did. For a query, `names.py` takes words apart, `passages.py` cuts texts,
`ranking.py` puts in order what an index found, `outdated.py` marks what the user replaced, and `found_texts.py` writes
the answer.
"""
