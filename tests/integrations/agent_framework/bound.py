"""Chat clients over the fake providers that bind reasoning to what came before it.

They map contents as the framework's own clients do (agent-framework-anthropic 1.0.0b261022, agent-framework-openai
1.17, read in November 2026).
"""

from collections.abc import Iterator
from typing import Any

from agent_framework import Content, Message

from backscroll.evaluation.fake_providers import FakeAnthropic, FakeOpenAIResponses
from tests.bound_agent import BETAS, BINDING
from tests.integrations.agent_framework.scripted import Scripted

Item = dict[str, Any]


class BoundClient(Scripted):
    """A client whose answers come from a fake provider.

    Args:
        replies: What the fake model answers to a request.
    """

    provider: Any
    items: str

    def __init__(self, replies: Any) -> None:
        super().__init__()
        self.dropped: list[Any] = []
        """Reasons for which the provider left out reasoning by itself."""
        self.sealed = 0
        """Requests with reasoning."""

    def _create(self, messages: Any) -> Any:
        raise NotImplementedError

    @staticmethod
    def _content(item: Item) -> Content:
        raise NotImplementedError

    def _answer(self, messages: Any) -> Any:
        response = self._create(messages)
        self.answered += 1
        self.dropped += [each["reason"] for each in self.provider.transformations]
        return [self._content(item) for item in response[self.items]], False


class BoundAnthropic(BoundClient):
    """The Messages API."""

    OTEL_PROVIDER_NAME = "anthropic"
    items = "content"

    def __init__(self, replies: Any) -> None:
        super().__init__(replies)
        self.model = "claude-opus-5-5"
        self.provider = FakeAnthropic(replies=replies)

    def _create(self, messages: Any) -> Any:
        said = [{"role": "assistant" if each.role == "assistant" else "user", "content": list(self._blocks(each))}
                for each in messages]  # fmt: skip  # one list
        self.sealed += "signature" in str(said)
        options = {"thinking": BINDING, "betas": BETAS, "max_tokens": 1_000}
        tools = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters()}
            for tool in self.options[-1]["tools"]
        ]
        system = self.options[-1]["instructions"]
        return self.provider.create(model=self.model, messages=said, system=system, tools=tools, **options)

    @staticmethod
    def _blocks(message: Message) -> Iterator[Item]:
        for content in message.contents:
            if content.type == "text":
                yield {"type": "text", "text": content.text}
            elif content.type == "text_reasoning":
                yield {"type": "thinking", "thinking": content.text, "signature": content.protected_data}
            elif content.type == "function_call":
                parsed = content.parse_arguments()
                yield {"type": "tool_use", "id": content.call_id, "name": content.name, "input": parsed}
            elif content.type == "function_result":
                yield {"type": "tool_result", "tool_use_id": content.call_id, "content": content.result}

    @staticmethod
    def _content(block: Item) -> Content:
        if block["type"] == "thinking":
            return Content.from_text_reasoning(text=block["thinking"], protected_data=block["signature"])
        if block["type"] == "tool_use":
            return Content.from_function_call(block["id"], block["name"], arguments=block["input"])
        return Content.from_text(block["text"])


class BoundOpenAI(BoundClient):
    """The Responses API, which is asked to store nothing."""

    OTEL_PROVIDER_NAME = "openai"
    items = "output"

    def __init__(self, replies: Any) -> None:
        super().__init__(replies)
        self.model = "gpt-6.2-sol"
        self.provider = FakeOpenAIResponses(replies=replies, on_mismatch="error")

    def _create(self, messages: Any) -> Any:
        items = [item for each in messages for item in self._items(each)]
        self.sealed += "encrypted_content" in str(items)
        tools = [
            {"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.parameters()}
            for tool in self.options[-1]["tools"]
        ]
        instructions = self.options[-1]["instructions"]
        return self.provider.create(
            model=self.model, input=items, tools=tools, instructions=instructions, store=False, include=[SEALED]
        )

    @staticmethod
    def _items(message: Message) -> Iterator[Item]:
        replayed = "_attribution" in message.additional_properties
        for content in message.contents:
            if content.type == "text":
                kind = "output_text" if message.role == "assistant" else "input_text"
                marks = {"annotations": []} if message.role == "assistant" else {}
                said = {"type": kind, "text": content.text, **marks}
                yield {"type": "message", "role": message.role, "content": [said]}
            elif content.type == "text_reasoning":
                sealed = {"encrypted_content": content.protected_data}
                yield {"type": "reasoning", "id": content.id, "summary": [], **sealed}
            elif content.type == "function_call":
                known = f"fc_{content.call_id}" if replayed else content.additional_properties["fc_id"]
                call = {"type": "function_call", "call_id": content.call_id, "name": content.name, "id": known}
                yield call | {"arguments": content.arguments}
            elif content.type == "function_result":
                yield {"type": "function_call_output", "call_id": content.call_id, "output": content.result}

    @staticmethod
    def _content(item: Item) -> Content:
        if item["type"] == "reasoning":
            return Content.from_text_reasoning(id=item["id"], text="", protected_data=item["encrypted_content"])
        if item["type"] == "function_call":
            name: dict[str, Any] = {"additional_properties": {"fc_id": item["id"]}}
            return Content.from_function_call(item["call_id"], item["name"], arguments=item["arguments"], **name)
        return Content.from_text("".join(part["text"] for part in item["content"]))


SEALED = "reasoning.encrypted_content"
