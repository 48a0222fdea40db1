"""Replaying recorded conversations. An edge that drives the public manager; only the command line imports it.

- `transcript.py` what a recorded conversation is, and the one error for files that hold none
- `folders.py`    which files of a folder may hold transcripts
- `readers.py`    from bytes to values: decoding, JSON, JSON Lines, and telling the format by its content
- `formats.py`    from values to messages: one function a format
- `codex.py`      the same for Codex, whose items are put together to messages
- `run.py`        asks for a view before each assistant message and adds up what it would cost
- `summarizers.py` summaries by a model in a replay, and what they cost; `cli/summary_options.py`: its options
- `validity.py`   an oracle that says what a provider would refuse; shares no code with the view that it judges
- `dialects.py`     the oracle's own reading of messages
- `facts.py`      what a fact is, and where it stands
- `retention.py`  recall and reachable recall of the views of one replay; docs/compare.md defines them
- `compare/`      strategies compared over many transcripts at once, in many processes
"""
