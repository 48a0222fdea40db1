"""What commands that store the messages of others take out of them before: `--redact` and `--redact-pattern`."""
