"""What `generateContent` refuses: parts and their data, order of turns, responses of functions, tools of the server.

Sources: the types of the google-genai client, "Function calling" and "Thought signatures" (Gemini API), and error texts
as users of the API reported them. The texts of `surrogates` and `server-pairs` are ours.
"""

import base64
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from backscroll.evaluation.fake_providers.errors import FakeProviderError, gemini_error
from backscroll.evaluation.fake_providers.rules import Rule, is_encodable

DATA = frozenset({
    "text", "inlineData", "fileData", "functionCall", "functionResponse", "toolCall", "toolResponse",
    "executableCode", "codeExecutionResult",
})  # fmt: skip
_PART = DATA | {"thought", "thoughtSignature", "mediaResolution", "videoMetadata"}

Part = dict[str, Any]


class Content(NamedTuple):
    """One turn, with the names of the wire."""

    at: int
    role: str
    parts: list[Part]

    @property
    def calls(self) -> list[Part]:
        """The parts that call functions."""
        return [part for part in self.parts if "functionCall" in part]

    @property
    def responses(self) -> list[Part]:
        """The parts with responses of functions."""
        return [part for part in self.parts if "functionResponse" in part]


class ContentsRequest(NamedTuple):
    """A request, read once."""

    raw: Mapping[str, Any]
    turns: list[Content]
    signatures: Callable[[list[Content]], Iterator[FakeProviderError]]
    """What the server says of the signatures."""


def contents_of(given: Sequence[Mapping[str, Any]] | str) -> list[Content]:
    """Return the turns of `contents`: a text is one turn of the user."""
    contents = [{"role": "user", "parts": [{"text": given}]}] if isinstance(given, str) else given
    return [
        Content(at, str(content.get("role") or "user"), [_camel_case(part) for part in content.get("parts") or ()])
        for at, content in enumerate(contents)
    ]


def _camel_case(part: Mapping[str, Any]) -> Part:
    """Return a part with the wire's names, without nulls, and bytes as base64."""
    found: Part = {}
    for key, value in part.items():
        name = re.sub(r"_([a-z])", lambda letter: letter[1].upper(), key)
        if value is not None:
            found[name] = base64.b64encode(value).decode() if isinstance(value, bytes) else value
    return found


def _parts(request: ContentsRequest) -> Iterator[tuple[str, Content, Part]]:
    for turn in request.turns:
        for number, part in enumerate(turn.parts):
            yield f"contents[{turn.at}].parts[{number}]", turn, part


def _surrogates(request: ContentsRequest) -> Iterator[FakeProviderError]:
    if not is_encodable(request.raw):
        yield gemini_error("Invalid JSON payload received. Invalid character in a string.")


def _given(request: ContentsRequest) -> Iterator[FakeProviderError]:
    if not request.turns:
        yield gemini_error("* GenerateContentRequest.contents: contents is not specified")
    for turn in request.turns:
        if turn.role not in ("user", "model"):
            yield gemini_error("Please use a valid role: user, model.")


def _no_parts(request: ContentsRequest) -> Iterator[FakeProviderError]:
    for turn in request.turns:
        if not turn.parts:
            where = f"GenerateContentRequest.contents[{turn.at}]"
            yield gemini_error(f"* {where}.parts: contents.parts must not be empty.")


def _fields(request: ContentsRequest) -> Iterator[FakeProviderError]:
    for where, _, part in _parts(request):
        unknown = sorted(set(part) - _PART)
        if unknown:
            yield gemini_error(
                f"Invalid JSON payload received. Unknown name \"{unknown[0]}\" at '{where}': Cannot find field."
            )
        if len(DATA & set(part)) != 1:
            yield gemini_error(
                f"* GenerateContentRequest.{where}.data: required oneof field 'data' must have one initialized field"
            )


def _empty_texts(request: ContentsRequest) -> Iterator[FakeProviderError]:
    """A signed part may be empty: the model returns its signature in one."""
    for _, _, part in _parts(request):
        if part.get("text") == "" and "thoughtSignature" not in part:
            yield gemini_error(
                "Unable to submit request because it has an empty text parameter. Add a value to the parameter and try"
                " again."
            )


def _types(request: ContentsRequest) -> Iterator[FakeProviderError]:
    """A text is a string, the response of a function an object."""
    for where, _, part in _parts(request):
        if not isinstance(part.get("text", ""), str):
            yield gemini_error(f"Invalid value at '{where}.text' (TYPE_STRING), {part['text']}")
        if "functionResponse" in part and not isinstance(_held(part, "functionResponse").get("response", {}), dict):
            yield _no_struct(f"{where}.function_response.response", _held(part, "functionResponse")["response"])


def _arguments(request: ContentsRequest) -> Iterator[FakeProviderError]:
    for where, _, part in _parts(request):
        arguments = _held(part, "functionCall").get("args")
        if arguments is not None and not isinstance(arguments, dict):
            yield _no_struct(f"{where}.function_call.args", arguments)


def _no_struct(where: str, value: Any) -> FakeProviderError:
    return gemini_error(f"Invalid value at '{where}' (type.googleapis.com/google.protobuf.Struct), \"{value}\"")


def _held(part: Part, key: str) -> dict[str, Any]:
    held = part.get(key)
    return held if isinstance(held, dict) else {}


def _sides(request: ContentsRequest) -> Iterator[FakeProviderError]:
    for turn in request.turns:
        if turn.calls and turn.role != "model":
            yield gemini_error("Please ensure that function call turn comes from the model.")
        if turn.responses and turn.role != "user":
            yield gemini_error("Please ensure that function response turn comes from the user.")


def _ends(request: ContentsRequest) -> Iterator[FakeProviderError]:
    turns = request.turns
    if turns and (turns[0].role != "user" or turns[-1].role != "user"):
        yield gemini_error(
            "Please ensure that multiturn requests start with a user role and end with a user role or a function"
            " response."
        )


def _answered(request: ContentsRequest) -> Iterator[FakeProviderError]:
    turns = request.turns
    for turn, following in zip(turns, [*turns[1:], None], strict=False):
        answers = following.responses if following else []
        if turn.calls and len(answers) != len(turn.calls):
            yield gemini_error(
                "Please ensure that the number of function response parts is equal to the number of function call"
                " parts of the function call turn."
            )


def _matching(request: ContentsRequest) -> Iterator[FakeProviderError]:
    turns = request.turns
    for turn, following in pairwise(turns):
        if turn.calls and not all(_answers(part, turn.calls) for part in following.responses):
            yield gemini_error("Please ensure that function responses match the function calls of the turn before.")


def _answers(part: Part, calls: list[Part]) -> bool:
    """Return whether a response names one of the calls: by its id, if it has one, and by its name."""
    response = _held(part, "functionResponse")
    return any(
        response.get("id") in (None, _held(call, "functionCall").get("id"))
        and response.get("name") == _held(call, "functionCall").get("name")
        for call in calls
    )


def _before_calls(request: ContentsRequest) -> Iterator[FakeProviderError]:
    for before, turn in zip([None, *request.turns], request.turns, strict=False):
        if turn.calls and (before is None or before.role != "user"):
            yield gemini_error(
                "Please ensure that function call turn comes immediately after a user turn or after a function response"
                " turn."
            )


def _asked(request: ContentsRequest) -> Iterator[FakeProviderError]:
    for before, turn in zip([None, *request.turns], request.turns, strict=False):
        if turn.responses and (before is None or not before.calls):
            yield gemini_error(
                "Please ensure that function response turn comes immediately after a function call turn."
            )


def _server_pairs(request: ContentsRequest) -> Iterator[FakeProviderError]:
    """Call and response of a server's tool are in the answers of one step; between them only functions respond."""
    waiting: set[str] = set()
    for where, turn, part in _parts(request):
        if "toolCall" in part:
            waiting.add(str(_held(part, "toolCall").get("id")))
        elif "toolResponse" in part:
            known = str(_held(part, "toolResponse").get("id"))
            if known not in waiting:
                yield gemini_error(f"Invalid value at '{where}.tool_response': no tool call with the id {known}.")
            waiting.discard(known)
        elif turn.role == "user" and "functionResponse" not in part:
            if waiting:
                yield gemini_error(f"Please ensure that tool call {min(waiting)} is followed by its tool response.")
            waiting = set()


def _signatures(request: ContentsRequest) -> Iterator[FakeProviderError]:
    yield from request.signatures(request.turns)


RULES: tuple[Rule[ContentsRequest], ...] = (
    Rule("surrogates", _surrogates, ("lone_surrogate",)),
    Rule("given", _given),
    Rule("no-parts", _no_parts, ("empty_text",)),
    Rule("fields", _fields),
    Rule("empty-texts", _empty_texts, ("empty_text",)),
    Rule("types", _types, ("result_not_text",)),
    Rule("arguments", _arguments, ("cut_arguments",)),
    Rule("sides", _sides),
    Rule("ends", _ends, ("prefill",)),
    Rule("answered", _answered, ("open_call", "late_result", "second_result")),
    Rule("matching", _matching),
    Rule("before-calls", _before_calls),
    Rule("asked", _asked, ("second_result", "late_result", "unknown_call")),
    Rule("server-pairs", _server_pairs, ("server_pair",)),
    Rule("signatures", _signatures),
)
"""What `FakeGemini` refuses, in the order in which it looks."""
