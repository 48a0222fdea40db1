"""A server of the Model Context Protocol over stored sessions: `backscroll mcp STORE`.

- `server.py`: what a client asks, answered in threads
- `tools.py`, `resources.py`, `continuing.py`: the tools, the resources and the prompt
- `arguments.py`: what a model passed, checked
- `answers.py`: answers framed as quotations and bounded in tokens
- `archive.py`: the sessions that may be shown
- `catching_up.py`: import and index in a thread, while answers go on
- `index.py`: one search index over all sessions
- `session_texts.py`, `indexed_session.py`, `facts.py`: one session in it
- `index_file.py`, `index_memory.py`: where it is kept
- `reader.py`: a session open for reading
"""

from backscroll.errors import ConfigurationError

try:
    import mcp.server.lowlevel as _mcp  # noqa: F401  # reports a missing extra before other imports fail
except ImportError as error:
    raise ConfigurationError("The SDK mcp is not installed: pip install 'backscroll[mcp]'") from error

from backscroll.integrations.mcp.archive import Archive
from backscroll.integrations.mcp.server import make_server

__all__ = ["Archive", "make_server"]
