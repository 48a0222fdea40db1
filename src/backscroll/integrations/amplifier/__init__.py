"""Backscroll as a context module of Amplifier, for the context contract 2.1.0 and the older 1.x.

- `settings.py`: every option of the contract and of its reference modules, as a pydantic model
- `context.py`: the context managers of both contracts
- `old_context.py`: the contract 1.x
- `wire.py`: the form in which a loop receives a view
- `errors.py`: the error of a request that cannot be made small enough
- `hooks.py`: events to the host; usage and rejections from it
- `providers.py`: calls to the host's providers, for the model's name and for summaries
- `transcript.py`: the transcript on disk, and memory files
- `restoration.py`: recognizes messages in transcripts that hosts write
- `tool.py`: `recall` as a tool of the session
- `mount.py`: `mount()`

Nothing here imports amplifier-core before a session runs: the host brings it.
"""
