"""Good requests of tool loops, with reasoning that the fake minted."""

from copy import deepcopy
from typing import Any

from backscroll.evaluation.fake_providers import FakeAnthropic, FakeOpenAIResponses, Reply, reply

BINDING = "thinking-binding-controls-2026-08-01"
CLEAR_AT = "mid-conversation-system-clear-at-2026-08-21"
ON_DEMAND = "compact-2026-09-04"
TOOLS = [
    {"name": "read", "description": "Read a file.", "input_schema": {"type": "object", "properties": {}}},
    {"name": "write", "description": "Write a file.", "input_schema": {"type": "object", "properties": {}}},
]
REMINDER = {"role": "system", "content": "Be brief.", "clear_at": "next_user_message"}
OLD, NEW = "2026-01-01", "2026-10-01"


def image(data: str = "aGVsbG8=") -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def thinks(text: str = "", *, number: int = 1, redacted: bool = False, calls: int = 1) -> Reply:
    """A reply with a block of reasoning, and calls unless it has a text."""
    made = [] if text else [("read", {"path": f"{number}.py", "line": at}) for at in range(calls)]
    return reply(text, thinking=f"Thought {number}.", redacted=redacted, calls=made)


def replies() -> list[Reply]:
    return [
        thinks(number=1),
        thinks(number=2, redacted=True),
        thinks("First done.", number=3),
        thinks(number=4, calls=2),
        *(thinks(f"Answer {number}.", number=number) for number in range(5, 40)),
    ]


class Talk:
    """A conversation with a fake of Anthropic; `request` is what is sent next."""

    def __init__(self, fake: Any, **options: Any) -> None:
        self.fake = fake
        self.request = {
            "betas": [BINDING, CLEAR_AT, ON_DEMAND],
            "system": [{"type": "text", "text": "You are an agent."}],
            "tools": deepcopy(TOOLS),
            "messages": [],
            **options,
        }

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.request["messages"]

    def send(self) -> Any:
        """Send, and append the answer."""
        response = self.fake.create(**deepcopy(self.request))
        self.messages.append({"role": "assistant", "content": response["content"]})
        return response

    def say(self, *content: Any) -> None:
        self.messages.append({"role": "user", "content": list(content)})

    def results(self) -> None:
        """Answer the calls of the last message."""
        calls = [block for block in self.messages[-1]["content"] if block["type"] == "tool_use"]
        self.say(*({"type": "tool_result", "tool_use_id": call["id"], "content": "42 " * 30} for call in calls))


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def talk(fake: Any = None, **options: Any) -> Talk:
    """Five answers with reasoning; the request ends with the user and is good."""
    made = Talk(fake or FakeAnthropic(replies=replies()), **options)
    made.messages.append({"role": "user", "content": "Fix the bug."})
    made.messages.append(dict(REMINDER))
    made.send()
    for _ in range(2):
        made.results()
        made.send()
    made.say(text("Look at this."), image(), text("And that."))
    made.send()
    made.results()
    made.send()
    made.say(text("Thanks. Go on."))
    return made


def setting(request: dict[str, Any], behavior: str) -> dict[str, Any]:
    """The request with `prefix_mismatch_behavior`."""
    return {**request, "thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": behavior}}}


def thinking_places(request: dict[str, Any]) -> list[tuple[int, int]]:
    """Message and block of each block of reasoning."""
    return [
        (at, number)
        for at, message in enumerate(request["messages"])
        if message["role"] == "assistant"
        for number, block in enumerate(message["content"])
        if block["type"] in ("thinking", "redacted_thinking")
    ]


def without_thinking(request: dict[str, Any], *numbers: int) -> dict[str, Any]:
    """A copy of the request without these blocks of reasoning, counted from the first; without numbers, all."""
    changed = deepcopy(request)
    places = thinking_places(request)
    for number in sorted(numbers or range(len(places)), reverse=True):
        at, block = places[number]
        del changed["messages"][at]["content"][block]
    return changed


class Items:
    """A conversation with a fake of OpenAI's Responses API."""

    def __init__(self, fake: Any = None, **options: Any) -> None:
        self.fake = fake or FakeOpenAIResponses(replies=replies())
        tools = [{"type": "function", "parameters": {"type": "object"}, "strict": False, "name": n} for n in "ab"]
        self.request = {
            "instructions": "You are an agent.",
            "tools": tools,
            "text": {"format": {"type": "text"}},
            "store": False,
            "input": [{"role": "user", "content": "Fix the bug."}],
            **options,
        }

    @property
    def items(self) -> Any:
        return self.request["input"]

    def send(self) -> Any:
        response = self.fake.create(**deepcopy(self.request))
        self.items.extend(response["output"])
        return response

    def results(self) -> None:
        answered = {item["call_id"] for item in self.items if item.get("type") == "function_call_output"}
        for item in list(self.items):
            if item.get("type") == "function_call" and item["call_id"] not in answered:
                output = {"type": "function_call_output", "call_id": item["call_id"], "output": "42 " * 30}
                self.items.append(output)

    def say(self, words: str) -> None:
        self.items.append({"role": "user", "content": words})


def items(fake: Any = None, **options: Any) -> Any:
    """Five answers with reasoning; the request ends with the user and is good."""
    made = Items(fake, **options)
    made.send()
    for _ in range(2):
        made.results()
        made.send()
    made.say("And now?")
    made.send()
    made.results()
    made.send()
    made.say("Go on.")
    return made
