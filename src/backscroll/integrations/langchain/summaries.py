"""Summaries by a chat model of LangChain."""

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from backscroll.compaction.summarization import SummaryRequest, SummaryResponse
from backscroll.integrations.langchain.models import counted_in, lane_of

_ALONE: RunnableConfig = {"callbacks": []}
"""Keeps the words of a summary out of the stream of the graph that runs."""


class SummaryFromModel:
    """A summarizer over a chat model, for the option `summarizer` and for `backscroll.Summarizer`.

    It calls the model without an event loop, in a thread: clients of many partners belong to the loop that made them.

    Args:
        model: The model.
    """

    def __init__(self, model: BaseChatModel) -> None:
        self._model: Any = model

    def __call__(self, request: SummaryRequest) -> SummaryResponse:
        """Call the model once. Raises the model's errors."""
        answer = self._model.invoke([SystemMessage(request.system), HumanMessage(request.prompt)], _ALONE)
        counted = counted_in(answer)
        return SummaryResponse(
            str(answer.text), lane_of(self._model), counted and counted.prompt, counted and counted.answer
        )
