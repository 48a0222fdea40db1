"""Models, providers and filters that share one table of conversations."""

import threading
from collections.abc import Mapping
from typing import Any

from agents import FunctionTool, MultiProvider
from agents.models.interface import Model, ModelProvider
from agents.tool_context import ToolContext

from backscroll.errors import ConfigurationError
from backscroll.integrations.conversations import MOST, Conversations
from backscroll.integrations.openai_agents.conversation import ItemConversation
from backscroll.integrations.openai_agents.input_filter import InputFilter
from backscroll.integrations.openai_agents.lines import Lines
from backscroll.integrations.openai_agents.model import ManagedModel
from backscroll.integrations.openai_agents.provider import ManagedProvider
from backscroll.integrations.openai_agents.recall import RecallTool

UNNAMED = "main"
"""The session of a model in memory that names none."""
_REFUSED = {
    "session": "each model, provider or filter names its own: `ManagedModels.provider(session)`, or `managed(model, "
    "session=...)`",
    "cache_marks": "OpenAI's prompt cache needs no marks, and items of the SDK cannot hold them",
    "native": "the items of a provider's compaction belong to that provider, and an agent may change its model",
    "lease": "conversations are opened and closed as they are needed, and agents of one session share them",
}


class ManagedModels:
    """One table of conversations for all sessions of a program. Safe for concurrent runs.

    Args:
        max_conversations: How many conversations stay open, at least 1. Another one closes the one that was not used
            for longest.
        options: Options of `backscroll.AsyncContextManager`, such as `store`, `budget` or `redact`.

    Raises:
        ConfigurationError: An option is unknown, can never work, or makes no sense here.
    """

    def __init__(self, *, max_conversations: int = MOST, **options: Any) -> None:
        for name, reason in _REFUSED.items():
            if options.get(name) is not None:
                raise ConfigurationError(f"`{name}` is not an option here: {reason}")
        self._conversations = Conversations(ItemConversation, options, most=max_conversations)
        self._lines: dict[str, Lines] = {}
        self._lock = threading.Lock()
        self._recall = RecallTool(_lines_of_call)

    @property
    def recall_tool(self) -> FunctionTool:
        """The tool `recall` for all agents of all sessions: it answers from the conversation that called it."""
        return self._recall.tool

    def model(self, model: Model | str, *, session: str) -> ManagedModel:
        """Return a model that sends views, for `Agent(model=...)` or `RunConfig(model=...)`.

        Args:
            model: The model that answers, or its name for the SDK's default provider.
            session: The session: all its models share the conversations.
        """
        return ManagedModel(_answering(model), self._lines_of(_checked(session)), self._recall)

    def provider(self, session: str, provider: ModelProvider | None = None) -> ManagedProvider:
        """Return a provider whose models send views, for `RunConfig(model_provider=...)`.

        Args:
            session: The session of the run.
            provider: Makes the models that answer. `None`: the SDK's default provider.
        """
        return ManagedProvider(provider or MultiProvider(), self._lines_of(_checked(session)), self._recall)

    def input_filter(self, session: str) -> InputFilter:
        """Return a filter that shows views to models that cannot be wrapped, for
        `RunConfig(call_model_input_filter=...)`.

        Args:
            session: The session of the run.
        """
        key = _checked(session)
        return InputFilter(lambda agent: self._lines_of(f"{key}/{agent}"))

    def conversation(self, session: str) -> ItemConversation:
        """Return the conversation of a session, a `backscroll.AsyncContextManager`: for its usage, pins and reports.

        Args:
            session: The session. One of an agent that worked for it has a name of its own, see `conversations`.
        """
        return self._lines_of(_checked(session)).main()

    def conversations(self, session: str) -> Mapping[str, ItemConversation]:
        """Return the open conversations of a session by name: its own, and those of agents that worked for it."""
        return self._lines_of(_checked(session)).all()

    def close(self) -> None:
        """Store what is buffered and close all conversations. They open again when they are used.

        Raises:
            StoreError: The store failed.
        """
        self._conversations.close()

    def _own_model(self, model: Model, session: str) -> ManagedModel:
        """Return a model that closes this table when it is closed."""
        return ManagedModel(model, self._lines_of(_checked(session)), self._recall, self._conversations)

    def _lines_of(self, key: str) -> Lines:
        with self._lock:
            if key not in self._lines:
                self._lines = {name: each for name, each in self._lines.items() if each.all()}
                self._lines[key] = Lines(self._conversations, key)
            return self._lines[key]


def _lines_of_call(context: ToolContext[Any]) -> Lines | None:
    """Return the conversations of the session whose model, provider or filter the run of a call uses."""
    run, agent = context.run_config, context.agent
    given = [] if run is None else [run.model, run.call_model_input_filter, run.model_provider]
    for each in (*given[:1], getattr(agent, "model", None), *given[1:]):
        if isinstance(each, ManagedModel | ManagedProvider):
            return each.lines
        if isinstance(each, InputFilter) and agent is not None:
            return each.lines(agent.name)
    return None


def managed(model: Model | str, *, session: str | None = None, **options: Any) -> ManagedModel:
    """Return a model that sends views, with a table of conversations of its own.

    Args:
        model: The model that answers, or its name for the SDK's default provider.
        session: The session, by which it is found in a `store`. `None`: one in memory.
        options: Options of `ManagedModels`.

    Raises:
        ConfigurationError: An option is unknown, can never work, or makes no sense here.
    """
    models = ManagedModels(**options)
    if session is None and options.get("store") is not None:
        raise ConfigurationError("a `store` needs a `session`, by which the conversation is found again")
    return models._own_model(_answering(model), UNNAMED if session is None else session)  # noqa: SLF001  this file


def _answering(model: Model | str) -> Model:
    if isinstance(model, ManagedModel):
        raise ConfigurationError("this model is managed already: pass the model that answers")
    return MultiProvider().get_model(model) if isinstance(model, str) else model


def _checked(session: object) -> str:
    if not isinstance(session, str) or not session:
        raise ConfigurationError(f"`session` must be a non-empty text, not {session!r:.80}")
    return session
