"""Items of every kind that matters to grouping, and one of a kind that nobody knows yet."""

from typing import Any

from tests.integrations import world

ITEMS: list[Any] = [
    {"role": "user", "content": "hello"},
    {"role": "user", "content": [{"type": "input_image", "image_url": f"data:image/png;base64,{world.PNG}"}]},
    {"type": "message", "role": "assistant", "id": "m", "content": [{"type": "output_text", "text": "hi"}]},
    {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "sealed"},
    {"type": "function_call", "call_id": "c", "name": "order", "arguments": "{}", "id": "fc", "metadata": {"a": 1}},
    {"type": "function_call_output", "call_id": "c", "output": "text"},
    {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search"}},
    {"type": "compaction", "encrypted_content": "sealed"},
    {"type": "from_the_future", "value": [1, {"a": None}]},
    {"role": "assistant", "content": "easy"},
]
