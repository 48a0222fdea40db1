"""What can be done with a session: operations that yield effects instead of calling out.

- `state.py`: applies events; `store_sync.py` loads and commits them
- `append.py`: adds messages; `addition.py` is one message to be added; `given.py` recognizes what a caller handed
  over before
- `restoring.py`: recognizes a conversation that a host hands in again
- `branching.py`: rewinds and forks; `past.py` reads earlier states
- `request.py`: makes views; `lane.py` keeps a view up to date
- `system_prompt.py`: calls the system prompt factory, and stores each of its texts once
- `deeds.py`: what the calls of a branch did; `deed_record.py` is one of these
- `tools.py`: the tools of a request; `open_calls.py` the calls that have no result
- `compact_tool.py`: the compact tool: its definition, and its answers
- `summaries.py`: asks for summaries in the background; `natives.py` for providers' own compactions
- `usage_reports.py`: reports on the newest view, kept until the next operation applies them
- `explain.py`: the status of each message in a view
- `breakdown.py`: the tokens of a request by kind; `window_report.py` what a lane's window holds
- `request_log.py`: lists what was sent; `log_replay.py` replays a log once, request by request
- `cache_forecast.py`: what a prompt cache with marks will read of a request
"""
