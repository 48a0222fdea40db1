"""The hand-over: what a view says of the messages that it leaves out, so that a colleague could continue from it.

- `appending.py`  continues the one before: the chronicle grows, state and files are replaced
- `turns.py`      folded groups read as turns
- `progress.py`   remarks next to calls that only say that the work goes on
- `entries.py`    the entry of a turn; `user_lines.py` what users wrote, `deed_lines.py` deeds, `wrote.py` what edits
  wrote, `seen.py` look-ups, `questions.py` the question before a short answer; `answers.py` recognizes both
- `levels.py`     how much room each kind of line has; `fitting.py` chooses levels of new entries
- `shrinking.py`  a chronicle without room
- `replaced.py`   leaves out what the user replaced; `with_prose.py` puts a model's summary in its place
- `facts.py`      keeps the ledger, `file_facts.py` the facts of a file; `repository.py` what git does to many
- `state.py`      writes the state from it, with `changes.py`, `checks.py`, `plan_steps.py` and `standing.py`;
  `files.py` the files
- `beginnings.py` how lines begin, by what they say
- `paths.py`      paths in short
"""
