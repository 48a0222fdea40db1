"""What stays as it is while code is moved and renamed: hashes of views, of events and of stored bytes, by session.

`python -m tests.frozen.write` writes the files again, for a change that is meant to change them.
"""
