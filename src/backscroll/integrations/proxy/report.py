"""What a proxy reports of each request, and the totals of all."""

from dataclasses import dataclass, field
from typing import Any

from backscroll.integrations.proxy.clients import Clients
from backscroll.integrations.proxy.request_budget import RequestBudget

AS_IT_CAME, COMPACTED, SHADOW, LEFT_ALONE, PASSED_ON, COUNTED, FAILED, REFUSED = (
    "as it came", "compacted", "would be compacted", "left alone", "passed on", "counted", "not managed", "refused",
)  # fmt: skip  # one thought
_OF_A_CONVERSATION = 3
"""Messages from which a request shows that its client is managed: it holds an answer of the model. Titles and quota
checks have fewer, and are managed also where the client's conversations are not.
"""


@dataclass(slots=True)
class Report:
    """One request, as far as it is known when its answer ends."""

    method: str
    path: str
    client: str = ""
    """The client, by its user agent."""
    what: str = PASSED_ON
    """What was done with it: one of the words above."""
    why: str = ""
    """Why it was left alone or not managed."""
    session: str = ""
    model: str = ""
    messages: int = 0
    """That the client sent. 0: they cannot be read."""
    budget: RequestBudget | None = None
    """Input tokens of the view. `None`: there is none."""
    client_note: str = ""
    """The budget of the client, at its first request to a model."""
    received_bytes: int = 0
    """Of the body that the client sent, unpacked."""
    sent_bytes: int = 0
    """Of the body that went on, unpacked, with those of further round trips."""
    view_bytes: int = 0
    """In shadow, of the body that would have gone on, unpacked. 0: it is the one that did."""
    refusals: int = 0
    """How often the provider refused it as too long before it accepted a shorter one."""
    status: int = 0
    """Of the answer. 0: there was none."""
    input_tokens: int = 0
    """As the provider counted them, including cached ones. 0: it did not."""
    lookups: int = 0
    """How often the model called our recall tool; each round trip for such calls was a request of its own."""
    cached_tokens: int = 0
    """Of these, read from the provider's cache."""


@dataclass(slots=True)
class Totals:
    """All requests since the start."""

    requests: int = 0
    by_outcome: dict[str, int] = field(default_factory=dict)
    refusals: int = 0
    received_bytes: int = 0
    """Of the bodies of requests that are managed."""
    sent_bytes: int = 0
    view_bytes: int = 0
    """As many as would have been sent with views; without shadow, as were sent."""
    input_tokens: int = 0
    cached_tokens: int = 0
    lookups: int = 0
    clients: Clients = field(default_factory=Clients)

    def add(self, report: Report) -> None:
        """Add a request."""
        self.requests += 1
        self.by_outcome[report.what] = self.by_outcome.get(report.what, 0) + 1
        self.refusals += report.refusals
        if report.what in (AS_IT_CAME, COMPACTED, SHADOW):
            self.received_bytes += report.received_bytes
            self.sent_bytes += report.sent_bytes
            self.view_bytes += report.view_bytes or report.sent_bytes
            if report.messages >= _OF_A_CONVERSATION:
                self.clients.managed(report.client)
        elif report.what == LEFT_ALONE:
            self.clients.left_alone(report.client)
        self.lookups += report.lookups
        self.input_tokens += report.input_tokens
        self.cached_tokens += report.cached_tokens

    def as_json(self) -> dict[str, Any]:
        """Return the totals for `GET /backscroll/status`."""
        return {
            "requests": self.requests,
            "outcomes": dict(sorted(self.by_outcome.items())),
            "refusals": self.refusals,
            "lookups": self.lookups,
            "bytes": {"received": self.received_bytes, "sent": self.sent_bytes, "views": self.view_bytes},
            "tokens": {"input": self.input_tokens, "cached": self.cached_tokens},
            "clients": self.clients.as_json(),
        }
