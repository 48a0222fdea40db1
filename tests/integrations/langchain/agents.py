"""Agents for the tests: real ones of LangChain, with the world's tool and our middleware."""

from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.tools import tool

from backscroll.integrations.langchain import BackscrollMiddleware
from tests.fakes import count_quarter
from tests.integrations import world


@tool
def order(number: int) -> str:
    """Read an order.

    Args:
        number: Its number.
    """
    return world.order(number)


def middleware_of(**options: Any) -> BackscrollMiddleware:
    """Our middleware at the world's budget."""
    return BackscrollMiddleware(**{"budget": world.BUDGET, "tokenizer": count_quarter, **options})


def agent_of(model: BaseChatModel, *middleware: Any, tools: Sequence[Any] = (), **options: Any) -> Any:
    """An agent of the world; with our middleware where none is given."""
    given = list(middleware) or [middleware_of()]
    return create_agent(model, [order, *tools], system_prompt=world.SYSTEM, middleware=given, **options)


def played(agent: Any, config: dict[str, Any] | None = None, *, turns: int = 3) -> list[BaseMessage]:
    """The messages after the world's turns; without a thread they are handed on from turn to turn."""
    messages: list[BaseMessage] = []
    for turn in range(turns):
        said = [HumanMessage(world.asked(turn))]
        messages = agent.invoke({"messages": said if config else [*messages, *said]}, config)["messages"]
    return messages


def config_of(thread: str) -> dict[str, Any]:
    """The config of a thread."""
    return {"configurable": {"thread_id": thread}, "recursion_limit": 100}
