"""A local proxy for agents that cannot be changed: requests that grow too long go on as views.

It speaks Anthropic's Messages API, OpenAI's chat completions and its Responses API. What needs no view, and all other
requests, go on byte for byte.

- `application.py`    the server and its totals
- `gate.py`           who may use it; `trailers.py` trailers are no headers
- `handing_on.py`     one request and its answer, which is handed on as it comes
- `managing.py`       finds the conversation of a request and makes its view
- `store_rest.py`     when a store that failed is asked again
- `managed_request.py` what is managed of a request; `exchange.py` what is sent for it, and shorter if it is refused
- `request_budget.py` how many tokens a request may have; `client_limits.py` what clients count on
- `competing.py`      settings by which a provider shortens a conversation, so that it is left alone
- `conversation.py`   one conversation; `lines.py` which one a request belongs to
- `agent.py`          which agent sends a request
- `seals.py`          by which reasoning is known again
- `protocol.py`       what the proxy has to know of an API; `anthropic.py` and `openai.py` know it
- `request_body.py`   the client's bytes with other messages, `seen.py` what need not be read again
- `unpacking.py`      bodies that a client compressed
- `json_text.py`      where values are in a JSON text; `given.py` and `spelling.py` keep the client's spelling
- `translation.py`    how messages are read and compared; `shown.py` a message of a view that is not the client's own
- `noting.py`          when a message came, and where its agent works
- `marks.py`          marks for Anthropic's prompt cache
- `offered_recall.py`   whether a request offers a tool that reads what is left out
- `recall_form.py`      our recall tool in an API, `recall_anthropic.py`, `recall_chat.py` and `recall_responses.py`
- `recall_rounds.py`    the round trips for its calls; `recall_answers.py` the answer that the client gets
- `recall_stream.py`    a stream without its calls, `recall_stream_anthropic.py`, `recall_stream_chat.py` and
  `recall_stream_responses.py`; `server_events.py` the events of a stream
- `recall_turns.py`     puts back what the client did not see
- `observing.py`        what a provider said of a request
- `answer.py`         usage and refusals, read from a copy of an answer
- `pieces.py`         the bytes of an answer, and how long to wait for them
- `destinations.py`   to which provider a request goes, by its path (`paths.py`) and its keys (`credentials.py`)
- `refusal.py`        what is sent nowhere
- `upstream.py`       the providers' servers; `incoming.py` a request as it arrives; `headers.py` what is handed on
- `report.py`         what is reported of each request; `clients.py` of each client
- `settings.py`       what a proxy is set up with
"""

from backscroll.errors import ConfigurationError

try:
    import httpx as _httpx  # noqa: F401  # reports a missing extra before other imports fail
    import starlette as _starlette  # noqa: F401
except ImportError as error:
    raise ConfigurationError("The proxy is not installed: pip install 'backscroll[serve]'") from error

from backscroll.integrations.proxy.application import make_app
from backscroll.integrations.proxy.report import Report, Totals
from backscroll.integrations.proxy.settings import ProxySettings
from backscroll.integrations.proxy.trailers import http_protocol

__all__ = ["ProxySettings", "Report", "Totals", "http_protocol", "make_app"]
