"""The inspector: a local page that shows what was sent and why.

- `command.py`: the command, which serves the page or writes it to a file
- `server.py`: access control and the server's responses
- `export.py`: the page as one file that needs no server
- `data.py`: a store, or a replayed transcript, as JSON values
- `page/`: the page itself; it inserts messages as text, never as HTML
"""
