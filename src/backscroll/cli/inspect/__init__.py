"""The inspector: a local page that shows what was sent and why.

- `command.py`: the command, which serves the page or writes it to a file
- `server.py`: access control and the server's responses
- `export.py`: the page as one file that needs no server
- `data.py`: a store, or a replayed transcript, as JSON values
- `scan.py`: one pass over a session's records, for the first page and what went wrong
- `money.py`, `times.py`: dollars where prices are known, times where messages name them
- `page/`: the page itself; it inserts messages as text, never as HTML
"""
