"""The command `backscroll mcp`, and the import of the logs that other clients write.

- `command.py`: the command
- `log_files.py`: where the logs are, and which session each is
- `log_lines.py`: what a log got since it was read
- `log_messages.py`: its lines as messages
- `log_import.py`: new and grown logs into the store
- `redaction.py`, `secret_patterns.py`: what an import takes out of messages, and the texts that it knows
- `unredacted.py`: sessions that were imported with less redaction
- `log_session.py`: one session that a log is appended to
"""
