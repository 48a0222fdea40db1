"""Replays of recorded conversations with the public manager. Only the command line imports it, but for the fake
providers, which are for callers.

- `transcript.py`: a recorded conversation, and the error for files without one
- `folders.py`: which files of a folder may hold transcripts
- `readers.py`: bytes to values: decoding, JSON, JSON Lines, and detecting the format by content
- `formats.py`: values to messages: one function per format
- `codex.py`: the same for Codex, whose items are gathered by response
- `run.py`: requests a view before each assistant message and sums up the cost
- `summarizers.py`: summaries by a model in a replay, and their cost; `cli/summary_options.py` has the options
- `validity.py`: an oracle that reports what a provider would reject; it shares no code with the view it checks
- `validity_rules/`: the rules of the oracle, one idea a file
- `dialects.py`, `items.py`, `odd_parts.py`: the oracle's own reader of messages
- `rank.py`: a judge of who may say what in a view
- `authors.py`: what the oracle knows of messages that no user wrote
- `strangers.py`: texts of a view that no message of its history holds
- `facts.py`: what a fact is, and finding it in texts
- `retention.py`: recall and reachable recall of the views of one replay; docs/evaluate/compare.md defines them
- `fake_providers/`: fakes of Anthropic, OpenAI, Gemini and Bedrock that accept or refuse a view as these do
- `lint/`: what is wrong with transcripts, and with requests as sent
- `compare/`: comparison of strategies over many transcripts, in many processes
- `tune/`: options for one's own transcripts
"""
