"""The agent of `bound_agent` on a fake of Gemini, which refuses a step of the current turn without its signature."""

import json
from typing import Any

from backscroll import BudgetError
from backscroll.evaluation.fake_providers import FakeGemini
from tests.bound_agent import BoundAgent, Message
from tests.builders import PNG


class GeminiAgent(BoundAgent):
    """The agent.

    Args:
        ids: `both`: calls and responses have ids; `calls`: only calls have them; `none`: neither.
    """

    def __init__(self, *args: Any, ids: str = "both", **options: Any) -> None:
        self.ids = ids
        super().__init__("gemini", *args, **options)

    def made_provider(self, account_created: str) -> Any:
        return FakeGemini(replies=self.reply_to, ids=self.ids != "none")

    def ask(self) -> None:
        try:
            view = self.manager.get_messages_for_request(self.budget, lane=self.model, tools=self.tools)
        except BudgetError:
            return
        self.judge(view)
        system = "\n".join(message["content"] for message in view if message["role"] == "system")
        contents = [
            {key: value for key, value in message.items() if key != "metadata"}
            for message in view
            if message["role"] != "system"
        ]
        response = self.provider.generate_content(
            model=self.model, contents=contents, system_instruction=system or None, tools=self.tools
        )
        answer = json.loads(json.dumps(response))
        parts = answer["candidates"][0]["content"]["parts"]
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        self.open = [(call.get("id", ""), call["name"]) for call in calls]
        self.manager.append(answer)
        self.requests += 1
        self.sealed += "thoughtSignature" in str(view)

    def _tools(self) -> None:
        self.numbers += 1
        declared = [{"name": name, "description": self._text(9)} for name in ("read", f"tool{self.numbers}")]
        self.tools = self.chance.choice((None, [{"functionDeclarations": declared}]))

    def _answer(self, calls: list[tuple[str, str]]) -> None:
        if self.ids == "both":
            self.chance.shuffle(calls)
        parts = [part for call in calls for part in self._result(*call)["parts"]]
        self.manager.append({"role": "user", "parts": parts})
        self.open = []

    def _late(self) -> None:
        """Without ids, a late response would answer the newest calls of its function."""
        if self.ids == "both" or not self.open:
            super()._late()

    def _result(self, call: str, kind: str) -> Message:
        text = self._text(self.chance.choice((5, 100, 400, 900)))
        value = self.chance.choice(({"output": text}, {"error": text}, {"found": [text, 1], "more": None}))
        response: Message = {"name": kind, "response": value}
        if self.ids == "both":
            response["id"] = call
        if self.chance.random() < 0.1:
            response["parts"] = [{"inlineData": {"mimeType": "image/png", "data": PNG}}]
        return {"role": "user", "parts": [{"functionResponse": response}]}

    def _said(self, text: str) -> Message:
        picture = [{"inlineData": {"mimeType": "image/png", "data": PNG}}] if self.chance.random() < 0.1 else []
        return {"role": "user", "parts": [{"text": text}, *picture]}

    def _is_said(self, message: Message) -> bool:
        return message["role"] == "user" and "text" in message["parts"][0]
