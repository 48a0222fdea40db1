"""What can be done with a session: operations that yield effects instead of calling out.

`state.py` applies events and commits them, `session.py` appends and requests, `timeline.py` rewinds and forks,
`lane.py` keeps a view and decides on compactions, `request_log.py` shows what was sent.
"""
