"""`lookback` and `short-prefix`: marks of Anthropic's prompt cache that find or write nothing.

Source: "Prompt caching" of Anthropic: from each mark, a request looks back over 20 blocks, the marked one included, for
a prefix that an earlier request wrote; a prefix below the model's minimum is never written.
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import Any, NamedTuple

from backscroll.evaluation.lint.breaks import cache_minimum
from backscroll.evaluation.lint.costs import Costs
from backscroll.evaluation.lint.finding import Found, Rule
from backscroll.evaluation.lint.place import Place
from backscroll.evaluation.lint.request import Request
from backscroll.evaluation.lint.same import MARK, blocks_of, key
from backscroll.evaluation.lint.talk import Talk
from backscroll.tokens.known_models import find_model

_REACH = 20
_THINKING = ("thinking", "redacted_thinking")
_SURE = 2  # estimates of tokens may be wrong by less than this factor


class _Unit(NamedTuple):
    """A block of the prompt: tools, system, messages."""

    where: str
    prefix: str
    """The hash of the prompt up to it."""
    tokens: int
    """Tokens of the prompt up to it."""
    marked: bool


def _units(request: Request, costs: Costs) -> list[_Unit]:
    rows: list[tuple[str, str, Any, bool]] = []
    rows += [(f"tools[{at}]", "", tool, MARK in tool) for at, tool in request.shown_tools]
    rows += [(f"system[{at}]", "system", block, _marked(block)) for at, block in enumerate(request.system)]
    for at, message in enumerate(request.messages):
        for number, block in enumerate(blocks_of(message.get("content"))):
            role = f"{message.get('role')} {number == 0}"
            rows.append((f"messages[{at}].content[{number}]", role, block, _marked(block)))
    automatic = _bearer(rows) if request.body.get(MARK) else -1
    digest, total = sha256(), 0
    units = []
    for at, (where, role, block, marked) in enumerate(rows):
        digest.update(key([role, block]).encode())
        total += _tokens(role, block, costs)
        units.append(_Unit(where, digest.hexdigest(), total, marked or at == automatic))
    return units


def _tokens(role: str, block: Any, costs: Costs) -> int:
    if role in ("", "system"):
        return costs.value(block)
    return costs.message({"role": role.partition(" ")[0], "content": [block]})


def _marked(block: Any) -> bool:
    if not isinstance(block, dict):
        return False
    inner = block.get("content")
    return block.get(MARK) is not None or (isinstance(inner, list) and any(map(_marked, inner)))


def _bearer(rows: list[tuple[str, str, Any, bool]]) -> int:
    """Return the block that the automatic mark is on."""
    kinds = [block.get("type") if isinstance(block, dict) else "text" for _, _, block, _ in rows]
    return max((at for at, kind in enumerate(kinds) if kind not in _THINKING), default=-1)


def _check(talk: Talk, costs: Costs) -> Iterator[Found]:
    written: set[str] = set()
    missed: list[tuple[Place, int, int]] = []
    for request in talk.requests:
        if not request.takes_marks or not request.marks:
            continue
        units = _units(request, costs)
        marks = [at for at, unit in enumerate(units) if unit.marked]
        reached = [
            at for mark in marks for at in range(mark, max(mark - _REACH, -1), -1) if units[at].prefix in written
        ]
        had = max((at for at, unit in enumerate(units) if unit.prefix in written), default=-1)
        read = max(reached, default=-1)
        lost = (units[had].tokens if had >= 0 else 0) - (units[read].tokens if read >= 0 else 0)
        after = next((mark for mark in marks if mark > had), None)
        if lost >= cache_minimum(request) and after is not None:
            missed.append((Place(units[after].where, request.number), after - had + 1, lost))
        written |= {units[at].prefix for at in marks if units[at].tokens >= cache_minimum(request)}
    if missed:
        place, blocks, _ = missed[0]
        sizes = [each for _, _, each in missed]
        what = f"the mark is {blocks} blocks from the last one that was written, and it reaches {_REACH}"
        yield Found(
            place=place, what=what, tokens=max(sizes), sent=sum(sizes), cost=costs.again(sum(sizes)), count=len(missed)
        )


def _short(talk: Talk, costs: Costs) -> Iterator[Found]:
    """Report conversations in which no mark ever reached the minimum of the model."""
    longest, place = 0, None
    for request in talk.requests:
        row = find_model(request.model)
        if not request.takes_marks or row is None or not row.cache_minimum:
            return
        for unit in _units(request, costs):
            if unit.marked:
                place = place or Place(unit.where, request.number)
                longest = max(longest, unit.tokens)
    if place is not None and len(talk.requests) > 1 and longest * _SURE < cache_minimum(talk.requests[0]):
        minimum = cache_minimum(talk.requests[0])
        what = f"no marked prefix has more than {longest:,} tokens, and the model caches from {minimum:,} on"
        yield Found(place, what, longest)


RULES = (
    Rule(
        "lookback",
        "warning",
        "Mark a block at least every 20 blocks: a step with many parallel calls needs a second mark before its end.",
        _check,
    ),
    Rule("short-prefix", "note", "Leave the marks out: nothing is cached below the model's minimum.", _short),
)
