"""The inspector: a page, on this machine only, that shows what was sent and why. An edge over the public manager.

- `command.py`   the command: options in, a server or a file out
- `server.py`    who may ask, and what is answered
- `export.py`    the same page as one file that needs no server
- `data.py`   a store, or a replayed transcript, as values of JSON
- `page/`        the page itself; what messages hold is put into it as text, never as HTML
"""
