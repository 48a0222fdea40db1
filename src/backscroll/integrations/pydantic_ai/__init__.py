"""Backscroll for agents of Pydantic AI: a capability that gives each model request a view of the run's messages.

- `capability.py`: the capability, with the conversations of all runs
- `run.py`: the capability in one run: the view, the rejections and the usage of each request
- `conversation.py`: the manager of one conversation
- `shortening_model.py`: the model that asks for a shorter view where its provider rejects one as too long
- `history.py`: the run's messages, in which consecutive requests are one, as they are sent
- `request.py`: the lane, budget, instructions, tools and usage of a request
- `refusals.py`: what keeps or changes the history as well, and is refused
- `recall_tool.py`: the `recall` tool
- `translation.py`: how messages are read, compared and rebuilt
- `blocks.py`: parts of messages as content blocks
- `rebuilding.py`: content blocks as parts of messages
- `sayings.py`: what a part says, by which messages are compared
- `errors.py`: the error of a request that cannot be made to fit
"""

from backscroll.errors import ConfigurationError

try:
    from pydantic_ai import Agent as _Agent  # noqa: F401  # reports a missing extra before other imports fail
except ImportError as error:
    raise ConfigurationError("Pydantic AI is not installed: pip install 'backscroll[pydantic-ai]'") from error

from backscroll.integrations.pydantic_ai.capability import Backscroll
from backscroll.integrations.pydantic_ai.errors import RequestTooLarge

__all__ = ["Backscroll", "RequestTooLarge"]
