"""Summarizers that call models through the official clients of their providers.

`client.py` holds what they share; `openai.py` and `anthropic.py` build the requests and read the responses. The prompt,
and the checks of a summary, are in `compaction/summarization.py`.
"""
