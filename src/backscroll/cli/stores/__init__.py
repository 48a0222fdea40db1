"""The command line for stored sessions. An edge: everything here drives stores and the public manager.

- `commands.py` the commands: options in, tables, messages and exit codes out
- `locate.py`   from what a user names to a store, and from errors to exit codes
- `transfer.py`   export and import, also of what other programs recorded
- `render.py`  a session read for showing it, and how that looks
"""
