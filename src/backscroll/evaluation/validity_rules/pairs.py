"""Calls and their results: a result for each call directly behind it, and no result without its call."""

from collections import Counter
from collections.abc import Iterator

from backscroll.evaluation.dialects import Shape, blocks
from backscroll.evaluation.odd_parts import server_call, server_result
from backscroll.evaluation.validity_rules.case import Case, Rule

_ASKS_OTHERS = ("mcp_approval_request", "program")
"""Items that the user or the provider answers, so that a request may end with them."""


def _unasked(case: Case) -> Iterator[str]:
    yield from (what for is_asked, what in _walk(case) if not is_asked)


def _unanswered(case: Case) -> Iterator[str]:
    yield from (what for is_asked, what in _walk(case) if is_asked)


def _walk(case: Case) -> Iterator[tuple[bool, str]]:
    """Yield what is wrong with the pairs, and whether it is a call, not a result."""
    waiting: Counter[str] = Counter()
    view, asked = case.view, -1
    programs = Counter(call.id for message in view if message.is_program for call in message.calls)
    for at, message in enumerate(view):
        answered, asks = message.results, message.calls
        for known in answered:
            if not waiting[known]:
                yield False, f"view[{at}]: result for call {known!r} without that call before it"
            else:
                waiting[known] -= 1
        if not answered and not _joined(view, at, asked):
            running = waiting & programs if message.is_made else Counter[str]()
            yield from _open(waiting - running, asked, f"before view[{at}]")
            waiting = running
        if asks:
            yield from _open(waiting, asked, f"before view[{at}]") if answered else ()
            waiting.update(call.id for call in asks)
            asked = at
    others = Counter(call.id for each in view if each.held.get("type") in _ASKS_OTHERS for call in each.calls)
    yield from _open(waiting - (others & _pending(case.history)), asked, "at the end")


def _joined(view: list[Shape], at: int, asked: int) -> bool:
    """Return whether a message is one turn with the one before it, so that calls of both wait for their results."""
    message = view[at]
    if at > 0 and message.is_made and view[at - 1].is_made:
        return True  # one response is several items
    # for the provider, adjacent assistant messages of block dialects are one turn with all their calls
    joined = bool(message.calls) and asked == at - 1 and message.in_blocks and view[at - 1].in_blocks
    return joined and not message.is_gemini


def _open(waiting: Counter[str], asked: int, where: str) -> Iterator[tuple[bool, str]]:
    for known in +waiting:
        yield True, f"view[{asked}]: call {known!r} has no result {where}"


def _pending(history: list[Shape]) -> Counter[str]:
    """Return the calls without a result in the last round of calls, if no assistant message follows it."""
    answered: Counter[str] = Counter()
    for message in dict.fromkeys(piece.whole for piece in reversed(history)):
        asks = message.calls
        if asks:
            running = {piece.program for piece in message.pieces if piece.program} - {call.id for call in asks}
            return Counter([*(call.id for call in asks), *running]) - answered - Counter(message.results)
        if message.role == "assistant":
            break
        answered.update(message.results)
    return Counter()


def _blocks(case: Case) -> Iterator[str]:
    """Check results in blocks: after their calls, and first in their message; with Bedrock and Gemini in one message.
    Anthropic merges messages of one role itself.
    """
    view = case.view
    for at, message in enumerate(view):
        answered = message.block_results
        if not answered:
            continue
        if not all(answered[: sum(answered)]):
            yield f"view[{at}]: results come after other content"
        before = view[at - 1] if at else None
        if before is not None and before.block_results:
            if message.is_strict:
                yield f"view[{at}]: the results of one round are in two messages"
        elif before is None or not before.calls:
            yield f"view[{at}]: results that do not directly follow their calls"


def _server_pairs(case: Case) -> Iterator[str]:
    """Check that tools which the provider runs have call and result in one turn; an open call ends the request.

    Between two messages of one turn only results of other tools may come.
    """
    waiting: dict[str, int] = {}
    for at, message in enumerate(case.view):
        if message.role == "user" and not (message.results and message.rest is None):
            yield from _cut(waiting)
            waiting = {}
        for block in blocks(message.held):
            if (known := server_call(block)) is not None:
                waiting[known] = at
            elif (known := server_result(block)) is not None and waiting.pop(known, None) is None:
                yield f"view[{at}]: result of the server's tool {known!r} without its call before it"


def _cut(waiting: dict[str, int]) -> Iterator[str]:
    for known, at in waiting.items():
        yield f"view[{at}]: call {known!r} of a server's tool has no result"


RULES = (
    Rule("unasked", _unasked, ("second_result", "unknown_call")),
    Rule("unanswered", _unanswered, ("open_call", "late_result")),
    Rule("blocks", _blocks),
    Rule("server-pairs", _server_pairs, ("server_pair",)),
)
