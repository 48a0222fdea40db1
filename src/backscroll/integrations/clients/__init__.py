"""A loop of your own over a provider's client: request arguments from a view, retries of requests that are too long,
and streams.

- `accepted.py`   which messages of a view a provider's API takes
- `anthropic.py`  arguments for Anthropic's Messages API
- `openai.py`     arguments for OpenAI's chat completions and Responses API
- `gemini.py`     arguments for Gemini's `generateContent`
- `interactions.py` arguments for Gemini's Interactions API
- `retry.py`      requests and streams that are sent again with a shorter view
- `steps.py`      what lets one generator serve callers with and without an event loop
- `streams.py`    a stream whose finished response is collected
- `collected.py`  the finished response of a stream, from its events; `anthropic_events.py`, `chat_chunks.py`,
  `gemini_chunks.py` and `interaction_events.py` put the pieces together
- `fields.py`     fields of what a client returned

No client is imported: requests are dicts, and responses are read by their fields.
"""

from backscroll.integrations.clients.anthropic import anthropic_request
from backscroll.integrations.clients.gemini import gemini_request
from backscroll.integrations.clients.interactions import interactions_request
from backscroll.integrations.clients.openai import chat_request, responses_request
from backscroll.integrations.clients.retry import stream_with_retry, with_retry
from backscroll.integrations.clients.streams import AsyncResponseStream, ResponseStream

__all__ = [
    "AsyncResponseStream",
    "ResponseStream",
    "anthropic_request",
    "chat_request",
    "gemini_request",
    "interactions_request",
    "responses_request",
    "stream_with_retry",
    "with_retry",
]
