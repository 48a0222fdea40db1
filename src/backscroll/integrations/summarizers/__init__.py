"""Models that write summaries, through the official clients of their providers. Only asking may live here: what is
asked, and what is taken of an answer, is decided in `compaction/summarization.py`.
"""
