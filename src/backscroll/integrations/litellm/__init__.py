"""Backscroll for LiteLLM: calls that send a view of the conversation, and a callback that does so for the Router.

- `handler.py`: `BackscrollHandler`, the callback, and `acompletion` and `completion` around LiteLLM's
- `conversation.py`: the conversation of one session key: views, refusals, usage
- `sent_view.py`: the messages of one request, with the history that they show
- `call_arguments.py`: what a call's arguments say: session key, model, tools, and what cannot be managed
- `windows.py`: lane and budget of a model
- `translation.py`: LiteLLM's messages to ours and back
- `stream.py`, `async_stream.py`: streamed answers
- `reported_usage.py`: what the provider counted
- `errors.py`: the error of a request that cannot be made to fit
"""

from backscroll.errors import ConfigurationError

try:
    import litellm as _litellm  # noqa: F401  # reports a missing extra before other imports fail
except ImportError as error:
    raise ConfigurationError("LiteLLM is not installed: pip install 'backscroll[litellm]'") from error

from backscroll.integrations.litellm.errors import RequestTooLarge
from backscroll.integrations.litellm.handler import BackscrollHandler

__all__ = ["BackscrollHandler", "RequestTooLarge"]
