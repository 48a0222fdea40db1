"""Backscroll for agents of Strands: plugins that give each model call a view and never change `agent.messages`.

- `settings.py`: every setting of the facade, as pydantic models
- `plugins.py`: the facade and its two parts as plugins
- `registration.py`: what is attached to an agent, and the conversation built from it
- `conversation.py`: loading the agent's messages, and the view for a model call
- `tools.py`: the tools that the model may call
- `models.py`: name, budget and usage of a Strands model, and summaries by one
- `estimator.py`: the estimator for whole requests
- `tool_result_storage.py`: long results in the user's own storage
- `errors.py`: the error of a request that cannot be made to fit
- `serialization.py`: Strands' messages to JSON and back
- `translation.py`: how Strands' messages are read and compared
"""

from backscroll.errors import ConfigurationError

try:
    from strands import Agent as _Agent  # noqa: F401  # reports a missing extra before other imports fail
except ImportError as error:
    raise ConfigurationError("Strands is not installed: pip install 'backscroll[strands]'") from error

from backscroll.integrations.strands.errors import RequestTooLarge
from backscroll.integrations.strands.estimator import TokenEstimate, estimate_input_tokens
from backscroll.integrations.strands.models import DEFAULT_PROMPT
from backscroll.integrations.strands.plugins import ContextCompression, ContextManagerPlugin, ContextOffloader
from backscroll.integrations.strands.tools import pin_message

__all__ = [
    "DEFAULT_PROMPT",
    "ContextCompression",
    "ContextManagerPlugin",
    "ContextOffloader",
    "RequestTooLarge",
    "TokenEstimate",
    "estimate_input_tokens",
    "pin_message",
]
