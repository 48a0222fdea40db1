"""Backscroll for agents of Google's Agent Development Kit: a plugin, and models that send views.

- `plugin.py`: the plugin, which notes the agent of each request, and makes managed models
- `managed_model.py`: a model that passes its requests through Backscroll
- `sending.py`: one model call: the view, what answers a refusal, and the usage
- `conversation.py`: the manager of one conversation
- `noted_requests.py`: which agent of which session makes a request
- `request_parts.py`: which contents of a request belong to the conversation, and which to this request only
- `request.py`: the lane, system prompt, tools and recall of a request
- `translation.py`, `parts.py`: contents as messages of Gemini's dialect, and changed ones as contents
- `recall_tool.py`: the tool that reads what views left out
- `usage.py`: what a provider counted for a call
- `refusals.py`: what cannot work together with Backscroll
"""

from backscroll.errors import ConfigurationError

try:
    import google.adk as _google_adk  # noqa: F401  # reports a missing extra before other imports fail
except ImportError as error:
    raise ConfigurationError("Google ADK is not installed: pip install 'backscroll[adk]'") from error

from backscroll.integrations.adk.plugin import BackscrollPlugin

__all__ = ["BackscrollPlugin"]
