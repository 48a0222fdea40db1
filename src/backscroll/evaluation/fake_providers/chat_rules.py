"""What OpenAI's chat completions refuse: fields by role, contents, calls and their results.

Sources: `ChatCompletionMessageParam` of the openai client 3.54, OpenAI's reference of chat completions, and error texts
as users of the API reported them. OpenAI takes arguments that are no JSON; vLLM, Mistral and the converters of LiteLLM
refuse them, so the rule `cut-arguments` does, with a text of ours. The text of `call-ids` is ours as well.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from backscroll.evaluation.fake_providers.errors import FakeProviderError, openai_error
from backscroll.evaluation.fake_providers.rules import Rule, is_encodable, parses

Raw = Mapping[str, Any]

_FIELDS = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "refusal", "tool_calls", "audio", "function_call"},
    "tool": {"role", "content", "tool_call_id"},
    "function": {"role", "content", "name"},
}
"""Every field of a message, by its role."""
_PARTS = {
    "user": {"text", "image_url", "input_audio", "file"},
    "assistant": {"text", "refusal"},
}
"""Types of content parts, by role; all others take texts."""
_PAYLOADS = {"text": str, "refusal": str, "image_url": dict, "input_audio": dict, "file": dict}
_INSTEAD = ("tool_calls", "function_call", "refusal", "audio")
"""Fields of an answer that carry something without a content."""


def messages_of(raw: Raw) -> list[dict[str, Any]]:
    """Return the messages of a request.

    Raises:
        FakeProviderError: `messages` is missing, empty or holds something else than objects.
    """
    messages = raw.get("messages")
    if not isinstance(messages, list):
        raise openai_error(
            "Missing required parameter: 'messages'.", code="missing_required_parameter", param="messages"
        )
    if not messages:
        raise _empty("messages")
    for at, message in enumerate(messages):
        if not isinstance(message, dict):
            raise _wrong_type(f"messages[{at}]", "an object", message)
    return messages


def _empty(where: str) -> FakeProviderError:
    return openai_error(
        f"Invalid '{where}': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        code="empty_array",
        param=where,
    )


def _wrong_type(where: str, expected: str, value: Any) -> FakeProviderError:
    return openai_error(
        f"Invalid type for '{where}': expected {expected}, but got {_kind(value)} instead.",
        code="invalid_type",
        param=where,
    )


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "an array", bool: "a boolean", int: "an integer", float: "a number"}
    return names.get(type(value), "null" if value is None else "a string")


def _invalid(where: str, value: Any, known: set[str]) -> FakeProviderError:
    listed = ", ".join(f"'{each}'" for each in sorted(known))
    return openai_error(f"Invalid value: '{value}'. Supported values are: {listed}.", code="invalid_value", param=where)


def _calls(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    listed = message.get("tool_calls")
    return [call for call in listed if isinstance(call, dict)] if isinstance(listed, list) else []


def _surrogates(raw: Raw) -> Iterator[FakeProviderError]:
    """The client of Python fails before it sends; a server that gets such a text answers this."""
    if not is_encodable(raw):
        yield openai_error(
            "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP"
            " library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)",
            param=None,
        )


def _roles(raw: Raw) -> Iterator[FakeProviderError]:
    for at, message in enumerate(messages_of(raw)):
        if message.get("role") not in _FIELDS:
            yield _invalid(f"messages[{at}].role", message.get("role"), set(_FIELDS))


def _fields(raw: Raw) -> Iterator[FakeProviderError]:
    for at, message in enumerate(messages_of(raw)):
        for key in sorted(message.keys() - _FIELDS.get(str(message.get("role")), message.keys())):
            where = f"messages[{at}].{key}"
            yield openai_error(f"Unknown parameter: '{where}'.", code="unknown_parameter", param=where)


def _contents(raw: Raw) -> Iterator[FakeProviderError]:
    """A content is a text or a list of parts; only an answer that carries something else may be without."""
    for at, message in enumerate(messages_of(raw)):
        role, content, where = str(message.get("role")), message.get("content"), f"messages[{at}].content"
        if content is None:
            if role not in ("assistant", "function"):
                yield _wrong_type(where, "one of a string or array of objects", None)
        elif not isinstance(content, str | list):
            yield _wrong_type(where, "one of a string or array of objects", content)
        elif isinstance(content, list):
            yield from _parts(role, content, where)


def _parts(role: str, content: list[Any], where: str) -> Iterator[FakeProviderError]:
    known = _PARTS.get(role, {"text"})
    for number, part in enumerate(content):
        path = f"{where}[{number}]"
        if not isinstance(part, dict):
            yield _wrong_type(path, "an object", part)
            continue
        kind = part.get("type")
        if kind not in known:
            yield _invalid(f"{path}.type", kind, known)
        elif not isinstance(part.get(kind), _PAYLOADS[kind]):
            yield openai_error(
                f"Missing required parameter: '{path}.{kind}'.", code="missing_required_parameter", param=path
            )


def _nothing(raw: Raw) -> Iterator[FakeProviderError]:
    """An answer without a content and without anything else, an empty list of parts, an empty list of calls."""
    for at, message in enumerate(messages_of(raw)):
        content = message.get("content")
        if content == []:
            yield _empty(f"messages[{at}].content")
        if message.get("tool_calls") == []:
            yield _empty(f"messages[{at}].tool_calls")
        is_answer = message.get("role") == "assistant"
        if is_answer and content is None and not any(message.get(key) for key in _INSTEAD):
            yield openai_error(
                "Invalid value for 'content': expected a string, got null.", param=f"messages.[{at}].content"
            )


def _call_fields(raw: Raw) -> Iterator[FakeProviderError]:
    for at, message in enumerate(messages_of(raw)):
        for number, call in enumerate(_calls(message)):
            where = f"messages[{at}].tool_calls[{number}]"
            kind = call.get("type")
            if kind not in ("function", "custom"):
                yield _invalid(f"{where}.type", kind, {"function", "custom"})
                continue
            inner = call.get(kind)
            if not call.get("id"):
                yield openai_error(f"Missing required parameter: '{where}.id'.", code="missing_required_parameter")
            if not isinstance(inner, dict) or not inner.get("name"):
                yield openai_error(
                    f"Missing required parameter: '{where}.{kind}.name'.", code="missing_required_parameter"
                )


def _arguments(raw: Raw) -> Iterator[tuple[str, Any]]:
    for at, message in enumerate(messages_of(raw)):
        for number, call in enumerate(_calls(message)):
            inner = call.get("function")
            if isinstance(inner, dict):
                yield f"messages[{at}].tool_calls[{number}].function.arguments", inner.get("arguments")


def _text_arguments(raw: Raw) -> Iterator[FakeProviderError]:
    for where, arguments in _arguments(raw):
        if not isinstance(arguments, str):
            yield _wrong_type(where, "a string", arguments)


def _cut_arguments(raw: Raw) -> Iterator[FakeProviderError]:
    for where, arguments in _arguments(raw):
        if isinstance(arguments, str) and not parses(arguments):
            yield openai_error(f"Invalid '{where}': the string is not the JSON of an object.", param=where)


def _call_ids(raw: Raw) -> Iterator[FakeProviderError]:
    for at, message in enumerate(messages_of(raw)):
        for known, count in Counter(str(call.get("id")) for call in _calls(message)).items():
            if count > 1:
                where = f"messages[{at}].tool_calls"
                yield openai_error(f"Duplicate value for 'tool_call_id' of '{known}' in '{where}'.", param=where)


def _answered(raw: Raw) -> Iterator[FakeProviderError]:
    """Each call is answered before any message that is no result."""
    waiting: Counter[str] = Counter()
    for message in [*messages_of(raw), {}]:
        if message.get("role") == "tool":
            waiting[str(message.get("tool_call_id"))] -= 1
            continue
        missing = list((+waiting).elements())
        if missing:
            yield openai_error(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
                f" 'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(missing)}",
                param="messages",
            )
        waiting = Counter(str(call.get("id")) for call in _calls(message))


def _asked(raw: Raw) -> Iterator[FakeProviderError]:
    """Each result answers a call of the answer directly before it, and each call has one."""
    waiting: list[str] = []
    for at, message in enumerate(messages_of(raw)):
        if message.get("role") != "tool":
            waiting = [str(call.get("id")) for call in _calls(message)]
        elif str(message.get("tool_call_id")) in waiting:
            waiting.remove(str(message.get("tool_call_id")))
        else:
            yield openai_error(
                "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with"
                " 'tool_calls'.",
                param=f"messages.[{at}].role",
            )


def _tools(raw: Raw) -> Iterator[FakeProviderError]:
    if raw.get("tools") == []:
        yield _empty("tools")
    for at, tool in enumerate(raw.get("tools") or ()):
        if tool.get("type") == "function" and not (tool.get("function") or {}).get("name"):
            yield openai_error(f"Missing required parameter: 'tools[{at}].function.name'.", param="tools")


RULES: tuple[Rule[Raw], ...] = (
    Rule("surrogates", _surrogates, ("lone_surrogate",)),
    Rule("roles", _roles),
    Rule("fields", _fields),
    Rule("contents", _contents, ("result_not_text",)),
    Rule("nothing", _nothing, ("empty_text",)),
    Rule("call-fields", _call_fields),
    Rule("text-arguments", _text_arguments, ("result_not_text",)),
    Rule("cut-arguments", _cut_arguments, ("cut_arguments",)),
    Rule("call-ids", _call_ids),
    Rule("answered", _answered, ("open_call", "late_result")),
    Rule("asked", _asked, ("second_result", "late_result", "unknown_call")),
    Rule("tools", _tools),
)
"""What `FakeOpenAIChat` refuses, in the order in which it looks."""
