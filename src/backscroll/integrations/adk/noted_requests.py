"""Which agent of which session makes a request: models see the request only."""

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote
from weakref import finalize

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.models.llm_request import LlmRequest
from google.adk.sessions import Session
from google.genai import types

_ENDS = 32
"""Contents at each end of a request that are noted: callbacks add theirs there."""


class NotedRequest(NamedTuple):
    """What is known of a request before callbacks of others see it."""

    key: str
    """The key of the conversation."""
    invocation: InvocationContext
    """The run that makes it."""
    length: int
    """How many contents the framework made."""
    ends: frozenset[int]
    """The `id` of the first and last contents of these. All of them would be too many to note for each request."""
    held: Sequence[types.Content]
    """The same contents, so that no other object gets their `id`."""


class NotedRequests:
    """The requests under way. One that is never sent is removed together with its object."""

    def __init__(self) -> None:
        self._noted: dict[int, NotedRequest] = {}

    def note(self, request: LlmRequest, context: CallbackContext) -> None:
        """Note a request of an agent."""
        key = key_of(context.session, context.agent_name, context.branch)
        if id(request) not in self._noted:
            finalize(request, self._noted.pop, id(request), None)
        held = [*request.contents[:_ENDS], *request.contents[-_ENDS:]]
        self._noted[id(request)] = NotedRequest(
            key=key,
            invocation=context.get_invocation_context(),
            length=len(request.contents),
            ends=frozenset(map(id, held)),
            held=held,
        )

    def of(self, request: LlmRequest) -> NotedRequest | None:
        """Return what was noted of a request; `None` for one that no agent made."""
        return self._noted.get(id(request))


def key_of(session: Session, agent: str, branch: str | None = None) -> str:
    """Return the key of a conversation: users may give sessions the same id, agents share a
    session, and an agent may have several tasks in it.

    Args:
        session: The session.
        agent: The agent's name.
        branch: The branch of the session that the agent sees, such as the one of a task; `None` for the session itself.
    """
    names = (session.app_name, session.user_id, session.id, agent, *([branch] if branch else ()))
    return "/".join(quote(name, safe="") for name in names)
