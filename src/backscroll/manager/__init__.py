"""The public managers, and the shell that runs the core.

- `async_manager.py`: one manager; `async_reading.py` what it reads of a session. From them `docs/write_sync_manager.py`
  writes the other, `sync_manager.py` and `sync_reading.py`
- `base.py`: what both share
- `options.py`: the options: names, types and type checks; `options_file.py` options as a file
- `assembly.py`: builds a session from names and options
- `importing.py`: managers for conversations that exist already
- `driver.py`: runs a session's operations; `lock.py` runs them one at a time
- `background.py`: runs one operation in the background; `threads.py` work in threads of their own
- `lease.py`: the exclusive-writer lease of a session
- `recalling.py`: searches, and is loaded by the first `recall`; `regex.py` limits expressions that models write
- `telemetry.py`: spans and metrics through the OpenTelemetry API
"""
