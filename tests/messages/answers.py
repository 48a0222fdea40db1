"""What the APIs of OpenAI, Anthropic and Bedrock answer, as JSON with every null that they write."""

from typing import Any

USAGE = {"prompt_tokens": 90, "completion_tokens": 12, "total_tokens": 102}


def chat(message: dict[str, Any], *others: dict[str, Any]) -> dict[str, Any]:
    """A chat completion, with one choice for each message."""
    said = [
        {"index": number, "finish_reason": "stop", "logprobs": None, "message": _said(each)}
        for number, each in enumerate((message, *others))
    ]
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_790_000_000, "model": "gpt-6.1-sol",
        "choices": said, "usage": USAGE, "service_tier": "default", "system_fingerprint": None,
    }  # fmt: skip  # one thought


def _said(message: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "refusal": None, "annotations": [], **message}


def called(*ids: str, arguments: str = '{"path": null}') -> dict[str, Any]:
    """The calls of a chat message."""
    return {
        "tool_calls": [{"id": one, "type": "function", "function": {"name": "read", "arguments": arguments}}
        for one in ids]
    }  # fmt: skip  # one thought


CHAT: dict[str, dict[str, Any]] = {
    "text": {"content": "It is red."},
    "nulls": {"content": "It is red.", "audio": None, "function_call": None, "tool_calls": None},
    "no calls": {"content": "It is red.", "tool_calls": []},
    "calls": called("c1", "c2"),
    "refusal": {"refusal": "I cannot."},
    "own tool": {"tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "run", "input": "ls"}}]},
    "old call": {"function_call": {"name": "read", "arguments": "{}"}},
    "sources": {
        "content": "It is red.",
        "annotations": [{
            "type": "url_citation",
            "url_citation": {"start_index": 0, "end_index": 2, "title": "Red", "url": "https://example.org"},
        }],
    },
    "speech": {"audio": {"id": "audio_1", "data": "UklGRg==", "expires_at": 1_790_003_600, "transcript": "Red."}},
}  # fmt: skip  # a table


def spoken(*blocks: dict[str, Any]) -> dict[str, Any]:
    """An answer of Anthropic's Messages API."""
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5", "content": list(blocks),
        "container": None, "context_management": None, "diagnostics": None, "stop_details": None,
        "stop_reason": "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 90, "output_tokens": 12, "cache_read_input_tokens": 0, "service_tier": "standard"},
    }  # fmt: skip  # one thought


def text(said: str, citations: Any = None) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": said, "citations": citations}


def use(id: str, **input: Any) -> dict[str, Any]:
    """A call."""
    return {"type": "tool_use", "id": id, "name": "read", "input": input, "caller": None, "toolset_name": None}


def _of_server(name: str, result: str, content: Any) -> list[dict[str, Any]]:
    """A call that the provider answers itself, and its result."""
    return [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": name, "input": {"query": None}, "caller": None},
        {"type": result, "tool_use_id": "srvtoolu_1", "content": content, "caller": None},
    ]


_PLACE = {"cited_text": "red", "document_index": 0, "document_title": None, "file_id": None}
_RAN = {"stdout": "3", "stderr": "", "return_code": 0, "content": []}
BLOCKS: dict[str, list[dict[str, Any]]] = {
    "text": [text("It is red.")],
    "call": [text("I look."), use("toolu_1", path=None, lines=[None, {"a": None}])],
    "thinking": [
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        text("It is red."),
    ],
    "cited characters": [
        text("Red.", [{"type": "char_location", "start_char_index": 0, "end_char_index": 3, **_PLACE}])
    ],
    "cited pages": [
        text("Red.", [{"type": "page_location", "start_page_number": 1, "end_page_number": 2, **_PLACE}])
    ],
    "cited blocks": [
        text("Red.", [{"type": "content_block_location", "start_block_index": 0, "end_block_index": 1, **_PLACE}])
    ],
    "cited result": [
        text("Red.", [{
            "type": "search_result_location", "cited_text": "red", "search_result_index": 0, "source": "a",
            "start_block_index": 0, "end_block_index": 1, "title": None,
        }])
    ],
    "searched": _of_server("web_search", "web_search_tool_result", [
        {"type": "web_search_result", "url": "https://example.org", "title": "Red", "encrypted_content": "eA==",
         "page_age": None},
    ]),
    "fetched": _of_server("web_fetch", "web_fetch_tool_result", {
        "type": "web_fetch_result", "url": "https://example.org", "retrieved_at": None,
        "content": {
            "type": "document", "title": None, "citations": None,
            "source": {"type": "text", "media_type": "text/plain", "data": "red"},
        },
    }),
    "not found": _of_server("web_search", "web_search_tool_result", {
        "type": "web_search_tool_result_error", "error_code": "unavailable",
    }),
    "ran": [
        {key: value for key, value in block.items() if key != "caller" or "input" in block}
        for block in _of_server(
            "bash_code_execution", "bash_code_execution_tool_result", {"type": "bash_code_execution_result", **_RAN}
        )
    ],
    "uploaded": [{"type": "container_upload", "file_id": "file_1"}, text("Here it is.")],
}  # fmt: skip  # a table
BETA: dict[str, list[dict[str, Any]]] = {
    "compacted": [
        {"type": "compaction", "content": None, "encrypted_content": None, "signature": None},
        text("It is red."),
    ],
    "fell back": [
        {"type": "fallback", "from": {"model": "claude-opus-5-5"}, "to": {"model": "claude-opus-5"},
         "trigger": {"type": "refusal", "category": None}},
        text("It is red."),
    ],
    "remote call": [
        {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "read", "server_name": "files", "input": {"path": None}},
        {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False, "content": [text("red")]},
    ],
}  # fmt: skip  # a table
CONVERSE: dict[str, Any] = {
    "ResponseMetadata": {"HTTPStatusCode": 200, "RetryAttempts": 0},
    "output": {
        "message": {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}},
                {"text": "I look."},
                {"toolUse": {"toolUseId": "t1", "name": "read", "input": {"path": None}}},
            ],
        }
    },
    "stopReason": "tool_use",
    "usage": {"inputTokens": 90, "outputTokens": 12, "totalTokens": 102},
    "metrics": {"latencyMs": 900},
}
