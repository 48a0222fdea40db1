"""Fuzzers of whole sessions: what they do follows from chance, and what comes of it is judged by `judge.py`, which
shares nothing with the library.

- `judge.py`      what a provider takes, and what of a history a view may show
- `talking.py`    a history as a plain list: what random rounds add to it, and which numbers its messages have
- `test_twins.py` everything that a session can do, in memory and in an SQLite file that is opened again and again
- `test_two_managers.py` two managers that write to one session
- `test_kills.py` processes that are killed while they write
"""
