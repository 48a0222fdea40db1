"""The agent of `bound_agent` on a fake of the Interactions API, which refuses a call without its thought."""

import json
from typing import Any

from backscroll import BudgetError
from backscroll.evaluation.fake_providers import FakeInteractions
from backscroll.integrations.clients import interactions_request
from tests.bound_agent import BoundAgent, Message
from tests.builders import PNG


class InteractionsAgent(BoundAgent):
    """The agent."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__("gemini", *args, **options)

    def made_provider(self, account_created: str) -> Any:
        return FakeInteractions(replies=self.reply_to)

    def ask(self) -> None:
        try:
            view = self.manager.get_messages_for_request(self.budget, lane=self.model, tools=self.tools)
        except BudgetError:
            return
        self.judge(view)
        response = self.provider.create(model=self.model, tools=self.tools, **interactions_request(view))
        answer = json.loads(json.dumps(response))
        calls = [step for step in answer["steps"] if step["type"] == "function_call"]
        self.open = [(call["id"], call["name"]) for call in calls]
        self.manager.append(answer)
        self.requests += 1
        self.sealed += "signature" in str(view)

    def _tools(self) -> None:
        self.numbers += 1
        declared = [
            {"type": "function", "name": name, "description": self._text(9)} for name in ("read", f"tool{self.numbers}")
        ]
        self.tools = self.chance.choice((None, declared))

    def _answer(self, calls: list[tuple[str, str]]) -> None:
        """One step each, in any order."""
        self.chance.shuffle(calls)
        self.manager.append(*[self._result(*call)["content"][0] for call in calls])
        self.open = []

    def _result(self, call: str, kind: str) -> Message:
        text = self._text(self.chance.choice((5, 100, 400, 900)))
        picture = {"type": "image", "data": PNG, "mime_type": "image/png"}
        value = self.chance.choice(
            (text, {"found": [text, 1], "more": None}, [{"type": "text", "text": text}, picture])
        )
        step = {"type": "function_result", "call_id": call, "name": kind, "result": value}
        return {"role": "user", "content": [step]}

    def _said(self, text: str) -> Message:
        picture = [{"type": "image", "data": PNG, "mime_type": "image/png"}] if self.chance.random() < 0.1 else []
        step = {"type": "user_input", "content": [{"type": "text", "text": text}, *picture]}
        return {"role": "user", "content": [step]}

    def _is_said(self, message: Message) -> bool:
        return message["role"] == "user" and message["content"][0]["type"] == "user_input"
