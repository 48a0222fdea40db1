"""The digest: what the summary of a view says of the messages that it leaves out.

`writer.py` composes it from the lines of `notes.py`, `tallies.py` merges turns, and `shrinking.py` shortens it.
`relevance.py` and `line_selection.py` choose lines. `user_rules.py` finds users' rules by `rule_markers.py`, and
`repeated.py` lines that hosts repeat. `outdated.py` leaves out what the user replaced, `stale_lines.py` finds lines
that edits removed, and `terms.py` splits texts into terms.
"""
