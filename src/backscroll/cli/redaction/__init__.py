"""What commands that store the messages of others take out of them before: `--redact` and `--redact-pattern`.

- `options.py`: the two options
- `redaction.py`: takes texts out of messages
- `secret_patterns.py`: the forms of keys, tokens and passwords, and of addresses for mail
"""
