"""The public managers, and the shell that runs the core.

`async_manager.py` holds one manager, from which `docs/write_sync_manager.py` writes the other, `sync_manager.py`;
`base.py` holds what they share. `assembly.py` builds a session from names and options, `driver.py` runs its operations,
and `lock.py` runs them one at a time. `recalling.py` searches, and is loaded by the first `recall`.
"""
