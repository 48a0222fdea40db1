"""Responses as the streams of events in which each API sends them. A text comes in two pieces, and so do arguments."""

import json
from collections.abc import Iterator
from typing import Any


def event(data: Any, name: str | None = None) -> bytes:
    """One event on the wire."""
    return (f"event: {name}\n" if name else "").encode() + f"data: {json.dumps(data)}\n\n".encode()


def halves(text: str) -> tuple[str, str]:
    """Two pieces of a text."""
    return text[: len(text) // 2], text[len(text) // 2 :]


def _named(data: dict[str, Any]) -> bytes:
    return event(data, data["type"])


def anthropic_events(response: dict[str, Any], _: Any) -> Iterator[bytes]:
    usage = {**response["usage"], "output_tokens": 1}
    begun = {**response, "content": [], "stop_reason": None, "usage": usage}
    yield _named({"type": "message_start", "message": begun})
    yield _named({"type": "ping"})
    for index, block in enumerate(response["content"]):
        started, deltas = _anthropic_block(block)
        yield _named({"type": "content_block_start", "index": index, "content_block": started})
        for delta in deltas:
            yield _named({"type": "content_block_delta", "index": index, "delta": delta})
        yield _named({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": response["stop_reason"], "stop_sequence": None}
    usage = {"output_tokens": response["usage"]["output_tokens"]}
    yield _named({"type": "message_delta", "delta": delta, "usage": usage})
    yield _named({"type": "message_stop"})


def _anthropic_block(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """How a block begins, and what it grows by."""
    if block["type"] == "text":
        return {**block, "text": ""}, [{"type": "text_delta", "text": text} for text in halves(block["text"])]
    if block["type"] == "thinking":
        pieces = [{"type": "thinking_delta", "thinking": text} for text in halves(block["thinking"])]
        sealed = {"type": "signature_delta", "signature": block["signature"]}
        return {**block, "thinking": "", "signature": ""}, [*pieces, sealed]
    if block["type"] == "tool_use":
        halved = halves(json.dumps(block["input"]))
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": text} for text in halved]
    return block, []


def chat_events(response: dict[str, Any], request: dict[str, Any]) -> Iterator[bytes]:
    about = {**response, "object": "chat.completion.chunk", "usage": None}
    message, finish = response["choices"][0]["message"], response["choices"][0]["finish_reason"]

    def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
        return event({**about, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    yield chunk({"role": "assistant", "content": "" if message["content"] else None})
    for text in halves(message["content"] or ""):
        yield chunk({"content": text}) if text else b""
    for index, call in enumerate(message.get("tool_calls") or ()):
        first, second = halves(call["function"]["arguments"])
        begun = {**call, "index": index, "function": {**call["function"], "arguments": first}}
        yield chunk({"tool_calls": [begun]})
        yield chunk({"tool_calls": [{"index": index, "function": {"arguments": second}}]})
    yield chunk({}, finish)
    if (request.get("stream_options") or {}).get("include_usage"):
        yield event({**about, "choices": [], "usage": response["usage"]})
    yield b"data: [DONE]\n\n"


def responses_events(response: dict[str, Any], _: Any) -> Iterator[bytes]:
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    events: list[dict[str, Any]]
    events = [{"type": "response.created", "response": begun}, {"type": "response.in_progress", "response": begun}]
    for index, item in enumerate(response["output"]):
        events.append({"type": "response.output_item.added", "output_index": index, "item": item})
        for part in item.get("content") or ():
            where = {"output_index": index, "content_index": 0, "item_id": item["id"], "logprobs": []}
            events += [{"type": "response.output_text.delta", "delta": text, **where} for text in halves(part["text"])]
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": response})
    for number, each in enumerate(events):
        yield _named({**each, "sequence_number": number})


def gemini_events(response: dict[str, Any], _: Any) -> Iterator[bytes]:
    candidate = response["candidates"][0]
    pieces: list[dict[str, Any]] = []
    for part in candidate["content"]["parts"]:
        if "text" in part and "thoughtSignature" not in part:
            pieces += [{**part, "text": text} for text in halves(part["text"])]
        else:
            pieces.append(part)
    for at, piece in enumerate(pieces):
        shown = {"content": {"role": "model", "parts": [piece]}, "index": 0}
        last = at == len(pieces) - 1
        more = {"finishReason": candidate["finishReason"]} if last else {}
        yield event({**response, "candidates": [{**shown, **more}]})


def interactions_events(response: dict[str, Any], _: Any) -> Iterator[bytes]:
    about = {key: value for key, value in response.items() if key not in ("steps", "usage")}
    events: list[dict[str, Any]] = [
        {"event_type": "interaction.created", "interaction": {**about, "status": "in_progress"}}
    ]
    for index, step in enumerate(response["steps"]):
        begun, deltas = _step(step)
        events.append({"event_type": "step.start", "index": index, "step": begun})
        events += [{"event_type": "step.delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"event_type": "step.stop", "index": index})
    events.append({"event_type": "interaction.completed", "interaction": {**about, "usage": response["usage"]}})
    for each in events:
        yield event(each, each["event_type"])
    yield b"event: done\ndata: [DONE]\n\n"


def _step(step: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """How a step begins, and what it grows by."""
    if step["type"] == "function_call":
        halved = halves(json.dumps(step["arguments"]))
        return {**step, "arguments": {}}, [{"type": "arguments_delta", "arguments": text} for text in halved]
    if step["type"] == "thought":
        texts = [text for block in step.get("summary") or () for text in halves(block["text"])]
        pieces: list[dict[str, Any]] = [
            {"type": "thought_summary", "content": {"type": "text", "text": text}} for text in texts
        ]
        sealed = {"type": "thought_signature", "signature": step["signature"]}
        return {"type": "thought"}, [*pieces, sealed]
    said = [text for block in step["content"] for text in halves(block["text"])]
    return {"type": step["type"]}, [{"type": "text", "text": text} for text in said]


STREAMS = {
    "anthropic": anthropic_events,
    "chat": chat_events,
    "responses": responses_events,
    "gemini": gemini_events,
    "interactions": interactions_events,
}
