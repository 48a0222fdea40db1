"""The digest: what the summary of a view says of the messages that it leaves out.

`writer.py` composes it from `notes.py`; `relevance.py` and `line_selection.py` choose its lines, `user_rules.py` finds
what users ruled, `stale_lines.py` what edits took out, `terms.py` the words that these go by.
"""
