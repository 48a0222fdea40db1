"""The demo: an agent at work is killed in the middle, and its session goes on.

`tools.py` holds what the agent can do, `recording.py` the messages it makes, `turns.py` what its user asks for, and
`agent.py` runs it as a process of its own. `crash.py` starts, kills and resumes that process; `command.py` explains
each step.
"""
