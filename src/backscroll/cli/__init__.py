"""The command line. All output goes through `screen.py`.

- `main.py`: the entry point; `group.py` the command group, its errors and shared options
- `commands.py`: where each command is; a start imports only the one that runs
- `stores/`: manages stored sessions
- `inspect/`: serves the inspector's page
- `serve/`: serves a proxy
- `mcp/`: serves stored sessions to clients of MCP, and imports the logs of other clients
- `demo/`: an agent at work is killed in the middle, and its session goes on
- `view.py`: shows the view of a transcript
- `replay.py`: replays transcripts; `replaying.py` runs replays with their progress; `replay_table.py` shows their
  outcomes
- `compare.py`: compares strategies; `compare_table.py` shows rows and sums
- `tune.py`: searches options; `tune_table.py` shows what was found
- `lint.py`: lints transcripts and requests; `lint_inputs.py` finds what is read; `lint_table.py` shows findings
- `transcripts.py`: loads transcripts
- `summary_options.py`: the options for summaries, and the summarizer that they select
- `redaction/`: what commands that store the messages of others take out of them before
- `screen.py`: writes to the terminal
"""
