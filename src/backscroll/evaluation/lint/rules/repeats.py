"""`repeated-read`: the same text returned by tools again and again.

Source: what each copy costs: it is sent with every later request. What a compaction took out may be read again.
"""

from collections.abc import Iterator

from backscroll.evaluation.lint.costs import Costs
from backscroll.evaluation.lint.finding import Found, Rule
from backscroll.evaluation.lint.talk import Said, Talk

_SHORTEST = 400  # characters of a result that may be a file; "ok" and "no matches" repeat for good reason
_WORTH = 1_000  # tokens of all copies but the first, below which a change earns nothing

_SHOWN = 60  # characters of the arguments of a call


def _check(talk: Talk, costs: Costs) -> Iterator[Found]:
    copies: dict[str, list[Said]] = {}
    names: dict[str, str] = {}
    calls: dict[str, str] = {}
    for said in talk.said:
        for part in said.reading.parts:
            if part.kind == "call" and part.id:
                calls[part.id] = _called(part.name, part.text)
            elif part.kind == "result" and len(part.text) >= _SHORTEST:
                copies.setdefault(part.text, []).append(said)
                names.setdefault(part.text, calls.get(part.id or "", "a tool"))
    for text, found in copies.items():
        pairs = ((later, found[:at]) for at, later in enumerate(found) if at)
        again = [later for later, earlier in pairs if any(talk.together(each, later) for each in earlier)]
        tokens = costs.text(text) if again else 0
        if tokens * len(again) >= _WORTH:
            sent = sum(tokens * said.sends for said in again)
            cost = sum(costs.kept(tokens, said.sends) for said in again)
            what = f"{names[text]} returned the same {tokens:,} tokens {len(again) + 1} times"
            yield Found(
                place=again[0].place, what=what, tokens=tokens * len(again), sent=sent, cost=cost, count=len(again)
            )


def _called(name: str | None, arguments: str) -> str:
    """Return a call in one line; of long arguments both ends, as paths differ in their last part."""
    shown = arguments if len(arguments) <= _SHOWN else f"{arguments[: _SHOWN // 3]}…{arguments[-2 * _SHOWN // 3 :]}"
    return f"{name or 'a tool'} {shown}".strip()


RULES = (
    Rule(
        "repeated-read",
        "note",
        "Keep the newest copy: the strategy `deduplicate` replaces the older ones by a reference.",
        _check,
    ),
)
