"""What can be done with a session: operations that yield effects instead of calling out.

`state.py` applies events, and `store_sync.py` loads and commits them. `append.py` adds messages, `request.py` makes
views, `branching.py` rewinds and forks, and `given.py` recognizes what a caller handed over before. `lane.py` keeps a
view up to date, `request_log.py` lists what was sent, `past.py` reads earlier states.
"""
