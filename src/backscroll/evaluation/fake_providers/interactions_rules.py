"""What Gemini's Interactions API refuses: steps and their data, calls without results, results without calls.

Sources: `Step`, `Content` and `CreateModelInteractionParam` of google-genai 3.6 for types, required fields and ids, and
the rules of `generateContent`, which serves the same models, for order and empty texts. The texts of errors are ours.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from backscroll.evaluation.fake_providers.errors import FakeProviderError, gemini_error
from backscroll.evaluation.fake_providers.rules import Rule, is_blank, is_encodable

Step = dict[str, Any]

SPOKEN = ("user_input", "model_output")
_TOOLS = (
    "code_execution", "file_search", "google_maps", "google_search", "mcp_server_tool", "processing", "retrieval",
    "tool_search", "url_context",
)  # fmt: skip
_SERVER_CALLS = {f"{tool}_call" for tool in _TOOLS}
_SERVER_RESULTS = {f"{tool}_result" for tool in _TOOLS}
_OF_SERVER = {"type", "arguments", "id", "call_id", "name", "server_name", "result", "is_error", "signature"}
_FIELDS: dict[str, set[str]] = {
    "user_input": {"type", "content"},
    "model_output": {"type", "content", "error"},
    "thought": {"type", "signature", "summary"},
    "function_call": {"type", "id", "name", "arguments"},
    "function_result": {"type", "call_id", "name", "result", "is_error"},
    **dict.fromkeys(_SERVER_CALLS, _OF_SERVER | {"search_type", "retrieval_type"}),
    **dict.fromkeys(_SERVER_RESULTS, _OF_SERVER),
}
"""The fields of each type of step."""
_REQUIRED = {"function_call": ("id", "name", "arguments"), "function_result": ("call_id", "result")}
_CONTENTS = ("text", "image", "audio", "video", "document")


class StepsRequest(NamedTuple):
    """A request, read once."""

    raw: Mapping[str, Any]
    steps: list[Step]
    signatures: Callable[[list[Step]], Iterator[FakeProviderError]]
    """What the server says of the signatures."""


def steps_of(given: Any) -> list[Step]:
    """Return the steps of `input`: a text or contents are one step of the user."""
    if isinstance(given, str):
        given = [{"type": "text", "text": given}]
    listed = list(given) if isinstance(given, list) else [given]
    if listed and all(isinstance(each, dict) and each.get("type") in _CONTENTS for each in listed):
        return [{"type": "user_input", "content": listed}]
    return [dict(each) if isinstance(each, Mapping) else {"type": None} for each in listed if each is not None]


def is_of_model(step: Step) -> bool:
    """Return whether the model or its provider made a step."""
    return step["type"] not in ("user_input", "function_result")


def _at(request: StepsRequest, *kinds: str) -> Iterator[tuple[str, Step]]:
    for number, step in enumerate(request.steps):
        if not kinds or step.get("type") in kinds:
            yield f"input[{number}]", step


def _surrogates(request: StepsRequest) -> Iterator[FakeProviderError]:
    if not is_encodable(request.raw):
        yield gemini_error("Invalid JSON payload received. Invalid character in a string.")


def _stateless(request: StepsRequest) -> Iterator[FakeProviderError]:
    if request.raw.get("previous_interaction_id"):
        yield gemini_error("Previous interaction not found: this server stores none.", status_code=404)


def _given(request: StepsRequest) -> Iterator[FakeProviderError]:
    if not request.steps:
        yield gemini_error("Invalid request: input is not specified.")


def _types(request: StepsRequest) -> Iterator[FakeProviderError]:
    for where, step in _at(request):
        if step.get("type") not in _FIELDS:
            yield gemini_error(f"Invalid value at '{where}.type': {step.get('type')!r} is no type of a step.")


def _fields(request: StepsRequest) -> Iterator[FakeProviderError]:
    for where, step in _at(request):
        unknown = sorted(step.keys() - _FIELDS.get(str(step.get("type")), step.keys()))
        if unknown:
            yield gemini_error(f"Unknown name \"{unknown[0]}\" at '{where}': Cannot find field.")
        for name in _REQUIRED.get(str(step.get("type")), ()):
            if step.get(name) is None or (name != "result" and step[name] == ""):
                yield gemini_error(f"Missing required field '{where}.{name}'.")


def _contents(request: StepsRequest) -> Iterator[FakeProviderError]:
    for where, step in _at(request, *SPOKEN):
        content = step.get("content", [])
        listed = content if isinstance(content, list) else [content]
        if not all(isinstance(block, dict) and block.get("type") in _CONTENTS for block in listed):
            yield gemini_error(f"Invalid value at '{where}.content': it takes a list of contents.")


def _empty_texts(request: StepsRequest) -> Iterator[FakeProviderError]:
    for where, step in _at(request, *SPOKEN, "function_result"):
        held = step.get("result") if step["type"] == "function_result" else step.get("content")
        blocks = held if isinstance(held, list) else []
        is_empty = step["type"] in SPOKEN and not held and not step.get("error")
        if is_empty or any(isinstance(block, dict) and is_blank(block.get("text")) for block in blocks):
            yield gemini_error(f"Unable to submit request because it has an empty text parameter at '{where}'.")


def _arguments(request: StepsRequest) -> Iterator[FakeProviderError]:
    for where, step in _at(request, "function_call"):
        if not isinstance(step.get("arguments", {}), dict):
            yield gemini_error(f"Invalid value at '{where}.arguments': it takes an object.")


def _results(request: StepsRequest) -> Iterator[FakeProviderError]:
    for where, step in _at(request, "function_result"):
        result = step.get("result", "")
        is_list = isinstance(result, list) and all(isinstance(block, dict) and "type" in block for block in result)
        if not (is_list or isinstance(result, str | dict)):
            yield gemini_error(f"Invalid value at '{where}.result': it takes a text, an object or a list of contents.")


def _ends(request: StepsRequest) -> Iterator[FakeProviderError]:
    steps = request.steps
    if steps and (is_of_model(steps[0]) or is_of_model(steps[-1])):
        yield gemini_error("Please ensure that the input starts and ends with a step of the user or a function result.")


def _answered(request: StepsRequest) -> Iterator[FakeProviderError]:
    """Each run of results answers all calls of the model's steps before it."""
    waiting: set[str] = set()
    is_answering = False
    for step in [*request.steps, {"type": "user_input"}]:
        if step["type"] == "function_result":
            is_answering = True
            waiting.discard(str(step.get("call_id")))
            continue
        if waiting and (is_answering or not is_of_model(step)):
            yield gemini_error(f"Function call {min(waiting)} has no function result directly behind its turn.")
            waiting = set()
        is_answering = False
        if step["type"] == "function_call":
            waiting.add(str(step.get("id")))


def _asked(request: StepsRequest) -> Iterator[FakeProviderError]:
    """Each result names a call of the model's steps directly before its run, which no other result answers."""
    open_calls: set[str] = set()
    before = "user_input"
    for where, step in _at(request):
        if step["type"] == "function_result":
            known = str(step.get("call_id"))
            if known not in open_calls:
                yield gemini_error(f"The function result at '{where}' has no function call {known} directly before it.")
            open_calls.discard(known)
        else:
            if before == "function_result" or not is_of_model(step):
                open_calls = set()
            if step["type"] == "function_call":
                open_calls.add(str(step.get("id")))
        before = str(step["type"])


def _server_pairs(request: StepsRequest) -> Iterator[FakeProviderError]:
    """Call and result of a server's tool are in the model's steps of one turn."""
    waiting: set[str] = set()
    for where, step in _at(request):
        if step["type"] in _SERVER_CALLS:
            waiting.add(str(step.get("id")))
        elif step["type"] in _SERVER_RESULTS:
            if str(step.get("call_id")) not in waiting:
                yield gemini_error(f"The result at '{where}' has no call of a server's tool before it.")
            waiting.discard(str(step.get("call_id")))
        elif step["type"] == "user_input":
            if waiting:
                yield gemini_error(f"Call {min(waiting)} of a server's tool has no result.")
            waiting = set()


def _signatures(request: StepsRequest) -> Iterator[FakeProviderError]:
    yield from request.signatures(request.steps)


RULES: tuple[Rule[StepsRequest], ...] = (
    Rule("surrogates", _surrogates, ("lone_surrogate",)),
    Rule("stateless", _stateless),
    Rule("given", _given),
    Rule("types", _types),
    Rule("fields", _fields),
    Rule("contents", _contents),
    Rule("empty-texts", _empty_texts, ("empty_text",)),
    Rule("arguments", _arguments, ("cut_arguments",)),
    Rule("results", _results, ("result_not_text",)),
    Rule("ends", _ends, ("prefill",)),
    Rule("answered", _answered, ("open_call", "late_result", "second_result")),
    Rule("asked", _asked, ("second_result", "late_result", "unknown_call")),
    Rule("server-pairs", _server_pairs, ("server_pair",)),
    Rule("signatures", _signatures),
)
"""What `FakeInteractions` refuses, in the order in which it looks."""
