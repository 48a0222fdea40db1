"""Models that write summaries, through the official clients of their providers.

`client.py` holds what the summarizers share; `openai.py` and `anthropic.py` say what is sent and where the text stands.
What is asked, and what is taken of an answer, is decided in `compaction/summarization.py`.
"""
