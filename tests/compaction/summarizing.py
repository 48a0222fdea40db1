"""Sessions whose older messages a scripted model summarizes, step by step."""

from typing import Any

import pytest

from backscroll import Summarizer
from tests.builders import MessageFactory
from tests.fakes import RecordingSession

TALK = MessageFactory("openai")
may_fail = pytest.mark.filterwarnings("ignore:no summary could be had|the digest of lane")


class SummarizedSession(RecordingSession):
    """A session whose summaries are ready by the next request."""

    def __init__(
        self,
        model: Any,
        context_tokens: int = 32_000,
        wait_seconds: float = 0.0,
        reuse_prefix: bool = False,
        **options: Any,
    ) -> None:
        summarizer = None if model is None else Summarizer(model, context_tokens, wait_seconds, reuse_prefix)
        super().__init__(**{"budget": 4_000, "clear_at_least_tokens": None, "summarizer": summarizer} | options)

    def view(self, **options: Any) -> list[dict[str, Any]]:  # type: ignore[override]  # it takes all options of a request, and raises
        self.manager._background.wait(10)
        view = self.manager.get_messages_for_request(**options)
        self.manager._background.wait(10)
        return view

    def rounds(self, count: int, start: int = 0) -> list[dict[str, Any]]:
        """So many tool calls with their results, with a request after each; return the last view."""
        for number in range(start, start + count):
            self.manager.append(TALK.call([f"c{number}"], f"Step {number}.", {"path": f"m{number}.py"}))
            self.manager.append(*TALK.results([(f"c{number}", f"value_{number} = {number * 7919}\n" * 30)]))
            view = self.view()
        return view


def begin_summarized(model: Any, **options: Any) -> SummarizedSession:
    """Such a session, with a user's first message."""
    session = SummarizedSession(model, **options)
    session.manager.append(TALK.say("user", "Never touch config/prod.yaml. Refactor the tests."))
    return session
