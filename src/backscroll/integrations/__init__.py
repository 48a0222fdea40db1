"""Backscroll inside other people's frameworks. One room each; nothing here is imported by `import backscroll`.

What the rooms share:
- `translation.py`: what an adapter has to know of its framework's messages
- `following.py`: load what is new in a framework's history
- `conversation.py`: one conversation, and its view in the framework's own messages
- `conversations.py`: the conversations of one adapter, by the framework's own key
- `overflow_errors.py`, `overflow_retry.py`: how providers reject a request as too long, and what is sent then
- `background.py`: summaries for callers with an event loop and without one
- `settings.py`: settings as strict pydantic models
- `item_runs.py`: items of the Responses API, one run for each stored message; `item_translation.py` reads and writes
  them
- `same_messages.py`: whether two lists hold the same messages

One room each:
- `clients/`: a loop of your own over a provider's client; `summarizers/`: summaries by these clients
- `amplifier/`, `strands/`, `langchain/`, `openai_agents/`, `pydantic_ai/`, `adk/`, `agent_framework/`, `litellm/`:
  frameworks
- `proxy/`: agents that cannot be changed; `mcp/`: stored sessions for clients of MCP
"""
