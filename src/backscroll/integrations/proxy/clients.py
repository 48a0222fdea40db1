"""The clients of a proxy, by their user agents: how many requests of each are managed, and what is said of it once."""

from dataclasses import dataclass, field

from backscroll.integrations.proxy.request_budget import RequestBudget

_MOST = 100
"""Clients that are counted apart, and budgets of each that are printed: names come from outside, and memory must not
grow with them.
"""
_LONGEST = 60
"""Characters of the name of a client or a model."""
_OTHERS = "other clients"
_CERTAIN = 3
"""Requests left alone after which a client counts as unmanaged. Fewer would judge it by a single odd body, more would
let short sessions pass without a word.
"""


@dataclass(slots=True)
class _Client:
    managed: int = 0
    left_alone: int = 0
    is_warned: bool = False
    noted: dict[str, str] = field(default_factory=dict)
    """The notes of its budget, by model."""

    @property
    def is_unmanaged(self) -> bool:
        return self.managed == 0 and self.left_alone >= _CERTAIN


class Clients:
    """The clients since the start."""

    def __init__(self) -> None:
        self._clients: dict[str, _Client] = {}

    def managed(self, name: str) -> None:
        """Count a request of which a view was made."""
        self._client(name).managed += 1

    def left_alone(self, name: str) -> None:
        """Count a request that was left alone."""
        self._client(name).left_alone += 1

    def budget_note(self, name: str, model: str, budget: RequestBudget) -> str:
        """Return a client's budget and the reason at its first request; later only if another model has another one."""
        noted, model = self._client(name).noted, model[:_LONGEST]
        if model in noted or len(noted) >= _MOST:
            return ""
        tokens = "the default budget" if budget.tokens is None else f"a budget of {budget.tokens:,} tokens"
        note = f"{name} has {tokens}: {budget.why}"
        is_new = note not in noted.values()
        noted[model] = note
        return note if is_new else ""

    def warning(self, name: str, why: str) -> str:
        """Return a warning of a client whose requests are all left alone; empty if there is none, or it was given.

        Args:
            name: The client.
            why: Why its newest request was left alone.
        """
        client = self._client(name)
        if client.is_warned or not client.is_unmanaged:
            return ""
        client.is_warned = True
        return (
            f"no request of {name} is managed: {why}. Its conversations grow as they would without the proxy. Change "
            "that in its settings"
        )

    def unmanaged(self) -> dict[str, int]:
        """Return how many requests were left alone of each client of which all were."""
        return {name: each.left_alone for name, each in self._clients.items() if each.is_unmanaged}

    def as_json(self) -> dict[str, dict[str, int]]:
        """Return how many requests of each client were managed and left alone."""
        counts = {
            name: {"managed": each.managed, "left alone": each.left_alone} for name, each in self._clients.items()
        }
        return dict(sorted(counts.items()))

    def _client(self, name: str) -> _Client:
        is_known = name in self._clients or len(self._clients) < _MOST
        return self._clients.setdefault(name if is_known else _OTHERS, _Client())


def client_name(agent: str) -> str:
    """Return a client's name in lines and totals: the first word of its user agent, such as `claude-cli/2.1.197`."""
    return agent.partition(" ")[0][:_LONGEST] or "a client without a user agent"
