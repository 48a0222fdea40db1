"""Comparing strategies over many transcripts at once: `backscroll compare`.

- `pricing.py`    what tokens cost: by a provider's name, or from a file
- `jobs.py`      one transcript, one strategy, one budget: the function that is run somewhere
- `process_pool.py`     running jobs in processes of this machine
- `ray_pool.py`   running them on Ray
- `inputs.py`     which files hold transcripts
- `aggregate.py`      rows added up, and which strategy is recommended, with its reasons
"""
