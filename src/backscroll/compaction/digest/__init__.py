"""The digest: what the summary of a view says of the messages that it leaves out.

- `writer.py`: composes it; `notes.py` has the lines of one turn; `tallies.py` merges turns
- `appending.py`: continues the one before, unchanged; `shrinking.py` shortens it
- `relevance.py`: the weight of terms; `line_selection.py` chooses lines; `terms.py` splits texts into terms
- `user_rules.py`: finds users' rules by `rule_markers.py`; `repeated.py` finds lines that hosts repeat
- `squeezing.py`: which rules go where nothing else is left
- `outdated.py`: leaves out what the user replaced
- `stale_lines.py`: lines that edits removed; `overwritten.py` lines that an overwritten file lost
"""
