"""The commands for stored sessions, which drive stores and the public manager.

- `commands.py`: the commands: options, tables, messages and exit codes
- `locate.py`: finds the store that a user names, and turns errors into exit codes
- `transfer.py`: export and import, also of other programs' recordings
- `render.py`: reads a session and formats it
- `context_bar.py`: formats the window of a session
"""
