"""What users hold, and the shell that drives the core.

`sync_manager.py` and `async_manager.py` are the two managers, `base.py` what they share. `assembly.py` builds a session
from names and options; `driver.py` runs its operations, waiting or awaiting; `lock.py` keeps one of them at a time.
"""
