"""Backscroll for agents of Microsoft's Agent Framework: a context provider that gives each model call a view.

- `provider.py`: the context provider, which gives each run its middleware and the recall tool
- `view_middleware.py`: the model calls of one run, each with a view, sent again after a refusal
- `request_parts.py`: which messages of a request belong to the conversation, and which to this request only
- `overhead.py`: what a request holds outside the conversation, in tokens
- `translation.py`: messages of the framework as messages of Anthropic's dialect, and back
- `contents.py`, `media.py`: one content as one block, and a changed block as a content
- `recall_tool.py`: the tool that reads what views left out
- `usage.py`: what a provider counted for a call, in the framework's form
- `refusals.py`: what cannot work together with Backscroll
"""

from backscroll.errors import ConfigurationError

try:
    import agent_framework as _agent_framework  # noqa: F401  # reports a missing extra before other imports fail
except ImportError as error:
    raise ConfigurationError("Agent Framework is not installed: pip install 'backscroll[agent-framework]'") from error

from backscroll.integrations.agent_framework.provider import BackscrollProvider

__all__ = ["BackscrollProvider"]
