"""The command line.

`main.py` is the entry point; `group.py` holds the command group, its errors and shared options. `stores/` manages
stored sessions, `inspect/` serves the inspector's page. `replay.py`, `view.py` and `compare.py` run evaluations;
`transcripts.py` loads transcripts for the first two. All output goes through `screen.py`.
"""
