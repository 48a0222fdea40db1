"""The public managers, and the shell that runs the core.

`sync_manager.py` and `async_manager.py` hold the two managers, `base.py` what they share. `assembly.py` builds a
session from names and options, `driver.py` runs its operations, and `lock.py` runs them one at a time.
"""
