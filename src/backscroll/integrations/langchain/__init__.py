"""Backscroll for LangChain and LangGraph: each model call gets a view, and the graph's state is never changed.

- `middleware.py`: the middleware for `create_agent`
- `graphs.py`: the same for plain graphs, whose nodes call a model themselves
- `behind_system.py`: the messages of a graph's state behind its system messages
- `options.py`: the options of both, and those that are refused
- `threads.py`: the conversations of one adapter, by thread, agent and first message
- `conversation.py`: one conversation
- `sending.py`: one request, sent until the provider accepts it
- `requests.py`: what a request holds outside the messages: lane, budget, tools, system prompt
- `models.py`: name, window and usage of a chat model, and what it must not do
- `foreign_edits.py`: what other middleware did to the messages of one request
- `translation.py`: LangChain's messages to stored ones and back
- `blocks.py`: content blocks to stored ones and back
- `summaries.py`: summaries by a chat model
- `recall.py`: the tool that reads what a view left out
- `errors.py`: the error of a request that cannot be made to fit
"""

from backscroll.errors import ConfigurationError

try:
    from langchain.agents import create_agent as _create_agent  # noqa: F401  # reports a missing extra first
except ImportError as error:
    raise ConfigurationError("LangChain is not installed: pip install 'backscroll[langchain]'") from error

from backscroll.integrations.langchain.conversation import LangChainConversation
from backscroll.integrations.langchain.errors import RequestTooLarge
from backscroll.integrations.langchain.graphs import LangGraphContext
from backscroll.integrations.langchain.middleware import BackscrollMiddleware
from backscroll.integrations.langchain.summaries import SummaryFromModel

__all__ = ["BackscrollMiddleware", "LangChainConversation", "LangGraphContext", "RequestTooLarge", "SummaryFromModel"]
