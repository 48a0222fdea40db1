"""What the Responses API refuses of contents, outputs and arguments that are of another type.

Sources: the types of the openai client, and error texts as users of the API reported them. The API takes arguments that
are no JSON; compatible servers and the converters of hosts refuse them, so the fake does, with a text of ours.
"""

from collections.abc import Iterator
from typing import Any

from backscroll.evaluation.fake_providers.errors import FakeProviderError, openai_error
from backscroll.evaluation.fake_providers.rules import parses

Item = dict[str, Any]

_OF_ANSWERS = ("output_text", "refusal")
_OF_OTHERS = ("input_text", "input_image", "input_file", "input_audio", "summary_text", "computer_screenshot")
_TEXTS = {"output_text": "text", "input_text": "text", "summary_text": "text", "refusal": "refusal"}
_OUTPUTS = ("function_call_output", "custom_tool_call_output")


def not_texts(items: list[Item]) -> Iterator[FakeProviderError]:
    """Yield an error for each content and output that is neither a text nor a list of known parts."""
    for at, item in enumerate(items):
        kind, where = item.get("type"), f"input[{at}]"
        if kind == "message":
            yield from _content(f"{where}.content", item.get("content"), _known(str(item.get("role"))))
        elif kind in _OUTPUTS:
            yield from _content(f"{where}.output", item.get("output"), _OF_OTHERS)
        elif kind == "function_call" and not isinstance(item.get("arguments"), str):
            yield _wrong_type(f"{where}.arguments", "a string", item.get("arguments"))


def cut_arguments(items: list[Item]) -> Iterator[FakeProviderError]:
    """Yield an error for each text of arguments that is not the JSON of an object."""
    for at, item in enumerate(items):
        arguments = item.get("arguments") if item.get("type") == "function_call" else None
        if isinstance(arguments, str) and not parses(arguments):
            where = f"input[{at}].arguments"
            yield openai_error(f"Invalid '{where}': the string is not the JSON of an object.", param=where)


def _known(role: str) -> tuple[str, ...]:
    return _OF_ANSWERS if role == "assistant" else _OF_OTHERS


def _content(where: str, content: Any, known: tuple[str, ...]) -> Iterator[FakeProviderError]:
    if not isinstance(content, str | list):
        yield _wrong_type(where, "one of an array of objects or string", content)
        return
    for number, part in enumerate(content if isinstance(content, list) else ()):
        path = f"{where}[{number}]"
        if not isinstance(part, dict):
            yield _wrong_type(path, "an object", part)
        elif part.get("type") not in known:
            listed = ", ".join(f"'{each}'" for each in known)
            yield openai_error(
                f"Invalid value: '{part.get('type')}'. Supported values are: {listed}.",
                code="invalid_value",
                param=path,
            )
        elif part["type"] in _TEXTS and not isinstance(part.get(_TEXTS[part["type"]]), str):
            yield openai_error(
                f"Missing required parameter: '{path}.{_TEXTS[part['type']]}'.",
                code="missing_required_parameter",
                param=path,
            )


def _wrong_type(where: str, expected: str, value: Any) -> FakeProviderError:
    names = {dict: "an object", list: "an array", bool: "a boolean", int: "an integer", float: "a decimal"}
    found = names.get(type(value), "null" if value is None else "a string")
    return openai_error(
        f"Invalid type for '{where}': expected {expected}, but got {found} instead.", code="invalid_type", param=where
    )
