"""What Converse refuses: order of roles, blank texts, calls and their results, reasoning without a signature.

Sources: the Amazon Bedrock user guide ("Carry out a conversation with the Converse API operations", "Call a tool with
the Converse API"), botocore's service model, and error texts as users of the API reported them. Where none was reported
the text is ours: `sides`, `ids`, `system-places` and `server-pairs`.
A blank text inside a result is accepted: the Strands client puts one where a result is empty.
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from backscroll.evaluation.fake_providers.bedrock_request import BedrockRequest, holder
from backscroll.evaluation.fake_providers.bedrock_shape import shape
from backscroll.evaluation.fake_providers.errors import FakeProviderError, bedrock_error
from backscroll.evaluation.fake_providers.rules import Rule, is_blank, is_encodable

_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_BY_MODEL = "The model returned the following errors: "


def _surrogates(request: BedrockRequest) -> Iterator[FakeProviderError]:
    """The client escapes them; the server cannot read the body."""
    if not is_encodable(request.raw):
        yield bedrock_error("Unable to parse the request body", kind="SerializationException")


def _roles(request: BedrockRequest) -> Iterator[FakeProviderError]:
    for at in range(len(request.messages)):
        if request.role(at) not in ("user", "assistant", "system"):
            yield bedrock_error(
                f"1 validation error detected: Value '{request.role(at)}' at 'messages.{at + 1}.member.role' failed to"
                " satisfy constraint: Member must satisfy enum value set: [user, assistant, system]"
            )


def _begins(request: BedrockRequest) -> Iterator[FakeProviderError]:
    turns = request.turns()
    if not turns or turns[0] != 0 or request.role(0) != "user":
        yield bedrock_error(
            "A conversation must start with a user message. Try again with a conversation that starts with a user"
            " message."
        )


def _alternates(request: BedrockRequest) -> Iterator[FakeProviderError]:
    turns = request.turns()
    for before, at in pairwise(turns):
        if request.role(before) == request.role(at):
            yield bedrock_error(
                "A conversation must alternate between user and assistant roles. Make sure the conversation alternates"
                " between user and assistant roles and try again."
            )


def _system_places(request: BedrockRequest) -> Iterator[FakeProviderError]:
    roles = [request.role(at) for at in range(len(request.messages))]
    for at, role in enumerate(roles):
        before = next((other for other in reversed(roles[:at]) if other != "system"), None)
        after = next((other for other in roles[at:] if other != "system"), None)
        if role == "system" and ((before and before != "user") or after == "user"):
            yield bedrock_error(
                f"messages.{at}: a system message must follow a user turn, and precede an assistant turn or be last."
            )


def _empty(request: BedrockRequest) -> Iterator[FakeProviderError]:
    for at, message in enumerate(request.messages):
        if not message["content"]:
            yield bedrock_error(
                f"The content field in the Message object at messages.{at} is empty. Add a ContentBlock object to the"
                " content field and try again."
            )


def _blank(request: BedrockRequest) -> Iterator[FakeProviderError]:
    for place in request.places():
        if is_blank(place.block.get("text")):
            yield bedrock_error(
                f"The text field in the ContentBlock object at {place.path} is blank. Add text to the text field, and"
                " try again."
            )
    for at, block in enumerate(request.raw.get("system") or ()):
        if is_blank(block.get("text")):
            yield bedrock_error(
                f"The text field in the SystemContentBlock object at system.{at} is blank. Add text to the text field,"
                " and try again."
            )


def _sides(request: BedrockRequest) -> Iterator[FakeProviderError]:
    for place in request.places():
        is_server = holder(place.block, "toolResult").get("type") is not None
        if "toolUse" in place.block and place.role != "assistant":
            yield bedrock_error(f"The toolUse block at {place.path} is only allowed in messages of the assistant.")
        if "toolResult" in place.block and place.role != "user" and not is_server:
            yield bedrock_error(f"The toolResult block at {place.path} is only allowed in messages of the user.")
        if "reasoningContent" in place.block and place.role != "assistant":
            yield bedrock_error(f"The reasoningContent block at {place.path} is only allowed for the assistant.")


def _inputs(request: BedrockRequest) -> Iterator[FakeProviderError]:
    for place in request.places():
        call = holder(place.block, "toolUse")
        if call and not isinstance(call.get("input"), dict):
            yield bedrock_error(
                f"The format of the value at {place.path}.toolUse.input is invalid. Provide a json object for the field"
                " and try again."
            )
    for place in request.inner():
        if "json" in place.block and not isinstance(place.block["json"], dict):
            yield bedrock_error(
                f"The format of the value at {place.path}.json is invalid. Provide a json object for the field and try"
                " again."
            )


def _ids(request: BedrockRequest) -> Iterator[FakeProviderError]:
    for place in request.places():
        call = holder(place.block, "toolUse")
        if call and not _ID.fullmatch(str(call.get("toolUseId"))):
            yield bedrock_error(
                f"1 validation error detected: Value at '{place.path}.toolUse.toolUseId' failed to satisfy constraint:"
                f" Member must satisfy regular expression pattern: {_ID.pattern}"
            )
        if call and not _NAME.fullmatch(str(call.get("name"))):
            yield bedrock_error(
                f"1 validation error detected: Value at '{place.path}.toolUse.name' failed to satisfy constraint:"
                f" Member must satisfy regular expression pattern: {_NAME.pattern}"
            )
    for at in range(len(request.messages)):
        for found in (request.calls(at), request.results(at)):
            counts = Counter(str(each.get("toolUseId")) for each in found)
            twice = [known for known, count in counts.items() if count > 1]
            if twice:
                yield bedrock_error(f"The blocks at messages.{at}.content contain duplicate Ids: {', '.join(twice)}")


def _answered(request: BedrockRequest) -> Iterator[FakeProviderError]:
    """The next message begins with the results of all calls. Text before a result is refused by Claude."""
    turns = request.turns()
    for at, following in zip(turns, [*turns[1:], None], strict=False):
        expected = [str(call.get("toolUseId")) for call in request.calls(at)]
        given = _leading(request, following) if following is not None else set()
        missing = [known for known in expected if known not in given]
        if missing:
            yield bedrock_error(
                f"Expected toolResult blocks at messages.{at + 1 if following is None else following}.content for the"
                f" following Ids: {', '.join(missing)}"
            )


def _leading(request: BedrockRequest, at: int) -> set[str]:
    found: set[str] = set()
    for block in request.messages[at]["content"]:
        result = holder(block, "toolResult")
        if result:
            found.add(str(result.get("toolUseId")))
        elif "cachePoint" not in block:
            break
    return found


def _asked(request: BedrockRequest) -> Iterator[FakeProviderError]:
    turns = request.turns()
    for before, at in zip([None, *turns], turns, strict=False):
        known = [str(call.get("toolUseId")) for call in request.calls(before)] if before is not None else []
        given = [str(result.get("toolUseId")) for result in request.results(at)]
        if Counter(given) - Counter(known):
            yield bedrock_error(
                f"The number of toolResult blocks at messages.{at}.content exceeds the number of toolUse blocks of"
                " previous turn."
            )


def _server_pairs(request: BedrockRequest) -> Iterator[FakeProviderError]:
    """A server's tool answers in the same message; at the very end the provider goes on."""
    last = len(request.messages) - 1
    for at, message in enumerate(request.messages):
        made: list[str] = []
        for block in message["content"]:
            call, result = holder(block, "toolUse"), holder(block, "toolResult")
            if call.get("type") == "server_tool_use":
                made.append(str(call.get("toolUseId")))
            elif result.get("type") is not None:
                known = str(result.get("toolUseId"))
                if known not in made:
                    yield bedrock_error(f"{_BY_MODEL}messages.{at}: result of the server tool {known} without its call")
                else:
                    made.remove(known)
        if made and at != last:
            yield bedrock_error(f"{_BY_MODEL}messages.{at}: server tool {made[0]} without its result")


def _signatures(request: BedrockRequest) -> Iterator[FakeProviderError]:
    for place in request.places():
        reasoning = holder(holder(place.block, "reasoningContent"), "reasoningText")
        if reasoning and request.is_claude and not reasoning.get("signature"):
            yield bedrock_error(f"{_BY_MODEL}{place.path}.thinking.signature: Field required")


def _prefill(request: BedrockRequest) -> Iterator[FakeProviderError]:
    turns = request.turns()
    if turns and request.role(turns[-1]) == "assistant" and request.claude and request.claude.refuses_prefill:
        yield bedrock_error(
            f"{_BY_MODEL}This model does not support assistant message prefill. The conversation must end with a user"
            " message."
        )


def _tool_config(request: BedrockRequest) -> Iterator[FakeProviderError]:
    holds = any("toolUse" in place.block or "toolResult" in place.block for place in request.places())
    if holds and not holder(request.raw, "toolConfig").get("tools"):
        yield bedrock_error("The toolConfig field must be defined when using toolUse and toolResult content blocks.")


RULES: tuple[Rule[BedrockRequest], ...] = (
    Rule("shape", shape, ("result_not_text",)),
    Rule("surrogates", _surrogates, ("lone_surrogate",)),
    Rule("roles", _roles),
    Rule("begins", _begins),
    Rule("alternates", _alternates),
    Rule("system-places", _system_places),
    Rule("empty", _empty, ("empty_text",)),
    Rule("blank", _blank, ("empty_text",)),
    Rule("sides", _sides),
    Rule("inputs", _inputs, ("cut_arguments",)),
    Rule("ids", _ids),
    Rule("answered", _answered, ("open_call", "late_result")),
    Rule("asked", _asked, ("second_result", "late_result", "unknown_call")),
    Rule("server-pairs", _server_pairs, ("server_pair",)),
    Rule("signatures", _signatures, ("empty_text",)),
    Rule("prefill", _prefill, ("prefill",)),
    Rule("tool-config", _tool_config),
)
"""What `FakeBedrock` refuses, in the order in which it looks."""
