"""Places where a session can be kept, and the search over it. Each folder is one technology; no deciding happens here.

- `sqlite/`       sessions in an SQLite file
- `jsonl/`        sessions in a folder of JSON Lines, and files of sessions that are sent and brought back
- `postgres/`     sessions in a PostgreSQL database
- `memory.py`     sessions in memory
- `blobs/`        large bodies elsewhere: in a folder, or in a bucket that speaks S3
- `encryption/`   a store whose records nobody can read without a key
- `searching/`    the search over what is stored

Around them:

- `addresses.py`  from an address to a store
- `wrappers.py`     from options to what goes around a store
- `transfer.py`   copying sessions from one store to another

Below them:

- `wrapper.py`      a store around another one
- `group_commit.py`   one thread that does what is queued
- `keyed_executor.py`   jobs in threads, in order for each session
- `fork_lock.py`       no fork while something is open
- `commit_counter.py`      the number of acknowledged commits
- `names.py`      what a session, a key and a blob may be called
- `problems.py`   what a look through a store finds, and what a repair does about it
"""
