"""Comparing strategies over many transcripts at once: `backscroll compare`.

- `facts.py` what a fact is for the measure of recall, and where it stands
- `retention.py`   recall and reachable recall of the views of one replay; told in docs/compare.md
- `pricing.py`    what tokens cost: by a provider's name, or from a file
- `jobs.py`      one transcript, one strategy, one budget: the function that is run somewhere
- `process_pool.py`     running jobs in processes of this machine
- `ray_pool.py`   running them on Ray
- `inputs.py`     which files hold transcripts
- `aggregate.py`      rows added up, and which strategy is recommended, with its reasons
- `table.py`     rows as tables and as JSON
- `command.py`   the command line, on click and rich
"""
