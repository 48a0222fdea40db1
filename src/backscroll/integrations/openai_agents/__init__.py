"""Backscroll for the OpenAI Agents SDK: each model call gets a view, and the SDK's own items are never changed.

- `managed_models.py`: models, providers and filters that share one table of conversations
- `model.py`: a model that sends views
- `provider.py`: a provider of such models for one session
- `input_filter.py`: views for models that cannot be wrapped
- `session.py`: a session of the SDK whose items are in a store of Backscroll
- `conversation.py`: the conversation of one history
- `lines.py`: which conversation a request belongs to
- `exchange.py`: one request and its answer
- `model_request.py`: what goes with the items, and what is refused
- `streaming.py`: events that wait until it is sure that a stream was accepted
- `recall.py`: the tool `recall`
- `runs.py`: items in runs, one for each stored message
- `translation.py`: how runs are read, compared and written
"""

from backscroll.errors import ConfigurationError

try:
    import agents as _agents  # noqa: F401  # reports a missing extra before other imports fail
except ImportError as error:
    raise ConfigurationError(
        "The OpenAI Agents SDK is not installed: pip install 'backscroll[openai-agents]'"
    ) from error

from backscroll.integrations.openai_agents.conversation import ItemConversation
from backscroll.integrations.openai_agents.input_filter import InputFilter
from backscroll.integrations.openai_agents.managed_models import ManagedModels, managed
from backscroll.integrations.openai_agents.model import ManagedModel
from backscroll.integrations.openai_agents.provider import ManagedProvider
from backscroll.integrations.openai_agents.session import BackscrollSession

__all__ = [
    "BackscrollSession",
    "InputFilter",
    "ItemConversation",
    "ManagedModel",
    "ManagedModels",
    "ManagedProvider",
    "managed",
]
