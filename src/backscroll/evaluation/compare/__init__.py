"""Comparison of strategies over many transcripts: `backscroll compare`.

- `pricing.py`: token prices, by a provider's name or from a file
- `jobs.py`: one transcript, one strategy, one budget: the function that a process runs
- `process_pool.py`: runs jobs in processes of this machine
- `ray_pool.py`: runs jobs on Ray
- `inputs.py`: which files hold transcripts
- `aggregate.py`: sums of rows, and the recommended strategy with its reasons
"""
