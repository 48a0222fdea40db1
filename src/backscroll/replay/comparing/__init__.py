"""Comparing strategies over many transcripts at once: `backscroll compare`.

- `specifics.py` what a fact is for the measure of recall, and where it stands
- `measure.py`   recall and reachable recall of the views of one replay; told in docs/compare.md
- `prices.py`    what tokens cost: by a provider's name, or from a file
- `jobs.py`      one transcript, one strategy, one budget: the function that is run somewhere
- `pools.py`     running jobs in processes of this machine
- `cluster.py`   running them on Ray
- `files.py`     which files hold transcripts
- `sums.py`      rows added up, and which strategy is recommended, with its reasons
- `table.py`     rows as tables and as JSON
- `command.py`   the command line, on click and rich
"""
