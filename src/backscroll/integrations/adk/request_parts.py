"""Which contents of a request belong to the conversation, and which to this request only.

The framework makes contents from the events of the session. To one request it adds the instruction (where there is a
static one as well), memories, loaded artifacts and `model_input_context`; callbacks add their own. Most of these come
directly before the newest words of the user, so that their place differs with each request.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from backscroll.integrations.adk.noted_requests import NotedRequest

_RECENT = 64
"""The newest events in which the newest words of the user are looked for."""
_OF_OTHERS = "For context:"
"""How the framework begins what another agent said, which it writes into a content of the user."""


class RequestParts(NamedTuple):
    """The contents of one request."""

    history: Sequence[types.Content]
    """The conversation, oldest first."""
    extra: Sequence[tuple[int, types.Content]]
    """Contents of this request only, each with the number of contents of the conversation before it."""

    def woven(self, view: Sequence[types.Content]) -> list[types.Content]:
        """Return a view together with the contents of this request only, each at its place."""
        found = list(view)
        places = {id(content): place for place, content in enumerate(view)} if self.extra else {}
        for before, content in reversed(self.extra):
            later = (places.get(id(self.history[at])) for at in range(before, len(self.history)))
            place = 0 if before == 0 else next((place for place in later if place is not None), len(view))
            found.insert(place, content)
        return found


def parts_of(request: LlmRequest, noted: NotedRequest) -> RequestParts | None:
    """Return the parts of a request; `None` if a callback removed contents of the conversation from it.

    Args:
        request: The request as callbacks left it.
        noted: What was noted of it before.
    """
    contents = request.contents
    if len(contents) < noted.length:
        return None
    extra = set(_at_the_ends(contents, noted.ends, len(contents) - noted.length))
    extra.update(range(request._static_instruction_prefix_end_index or 0))  # noqa: SLF001  nothing else says it
    extra.update(_input_context(contents, noted.invocation))
    extra.update(_before_the_newest(contents, noted.invocation))
    if not extra or len(extra) == len(contents):
        return RequestParts(contents, ())
    history = [content for at, content in enumerate(contents) if at not in extra]
    return RequestParts(history, [(at - number, contents[at]) for number, at in enumerate(sorted(extra))])


def _at_the_ends(contents: Sequence[types.Content], known: frozenset[int], most: int) -> Iterator[int]:
    """Yield which contents callbacks put before and behind the others, so many at most: the rest are edited ones."""
    front = 0
    while front < most and id(contents[front]) not in known:
        front += 1
    back = len(contents)
    while len(contents) - back < most - front and id(contents[back - 1]) not in known:
        back -= 1
    yield from (*range(front), *range(back, len(contents)))


def _input_context(contents: list[types.Content], invocation: InvocationContext) -> Iterable[int]:
    """Return where the `model_input_context` of a run is."""
    run = invocation.run_config
    given = run.model_input_context if run is not None else None
    if not given:
        return ()
    ends = range(len(contents), len(given) - 1, -1)
    end = next((end for end in ends if contents[end - len(given) : end] == given), None)
    return () if end is None else range(end - len(given), end)


def _before_the_newest(contents: Sequence[types.Content], invocation: InvocationContext) -> list[int]:
    """Return which of the user's newest contents come from no event: their texts are not those of an event."""
    begin = len(contents)
    while begin and _is_said(contents[begin - 1]):
        begin -= 1
    if begin == len(contents):
        return []
    events = invocation.session.events[-_RECENT:]
    known = {id(held) for event in events for held in _held(_parts_of(event))}
    known.update(id(held) for held in _held(invocation.user_content.parts or () if invocation.user_content else ()))
    return [at for at in range(begin, len(contents)) if not _comes_from(contents[at], known)]


def _is_said(content: types.Content) -> bool:
    return content.role == "user" and not any(part.function_response for part in content.parts or ())


def _comes_from(content: types.Content, known: set[int]) -> bool:
    parts: Sequence[types.Part] = content.parts or ()
    by_another = bool(parts) and (parts[0].text or "").startswith(_OF_OTHERS)
    return by_another or any(id(held) in known for held in _held(parts))


def _parts_of(event: Event) -> Sequence[types.Part]:
    return (event.content.parts if event.content is not None else None) or ()


def _held(parts: Iterable[types.Part]) -> Iterator[object]:
    """Yield what parts hold, which the framework shares between an event and the contents made from it."""
    for part in parts:
        for held in (part.text, part.inline_data, part.file_data, part.code_execution_result, part.executable_code):
            if held:
                yield held
