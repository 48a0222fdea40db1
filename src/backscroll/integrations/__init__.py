"""Backscroll inside other people's frameworks. One room each; nothing here is imported by `import backscroll`.

What the rooms share:
- `translation.py`: what an adapter has to know of its framework's messages
- `following.py`: load what is new in a framework's history
- `conversation.py`: one conversation, and its view in the framework's own messages
- `conversations.py`: the conversations of one adapter, by the framework's own key
- `overflow_errors.py`, `overflow_retry.py`: how providers reject a request as too long, and what is sent then
- `background.py`: summaries for callers with an event loop and without one
- `settings.py`: settings as strict pydantic models
"""
