"""The command `backscroll serve`, and what it prints.

- `command.py`: the command
- `server.py`: the HTTP server: says when it listens, and ends connections whose request never comes
- `request_log.py`: a line a request, and what all of them came to
- `advice.py`: warnings in words for a user who passes no arguments to a manager
"""
