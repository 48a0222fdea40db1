"""Stores for sessions, and the search over them. Each folder is one technology.

- `sqlite/`: sessions in an SQLite file
- `jsonl/`: sessions in a folder of JSON Lines, and the file format for export and import
- `postgres/`: sessions in a PostgreSQL database
- `memory.py`: sessions in memory
- `blobs/`: large bodies outside of the store, in a folder or an S3 bucket
- `encryption/`: a layer that encrypts all records
- `search/`: full-text search over stored messages
- `conformance/`: the contract of a store as a test suite

Opening and combining stores:

- `addresses.py`: open the store of an address
- `wrappers.py`: put the layers that options ask for around a store
- `options.py`: options for these layers
- `transfer.py`: copy sessions from one store to another

Shared parts:

- `wrapper.py`: base class of layers
- `queued_store.py`: base class of stores that write through a queue
- `group_commit.py`: one thread that batches queued writes
- `keyed_executor.py`: jobs in threads, in order for each session
- `fork_lock.py`: keep the process from forking while a connection is open, and reset objects in the child of a fork
- `commit_counter.py`: the number of acknowledged commits, in a file next to the database
- `turns.py`: a writer's exclusive turn to append
- `names.py`: validate names of sessions, keys and blobs
- `problems.py`: findings of `verify` and actions of `repair`
"""
