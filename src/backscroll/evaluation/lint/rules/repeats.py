"""`repeated-read`: the same text returned by tools again and again.

Source: what each copy costs: it is sent with every later request.
"""

from collections.abc import Iterator

from backscroll.evaluation.lint.costs import Costs
from backscroll.evaluation.lint.finding import Found, Rule
from backscroll.evaluation.lint.talk import Said, Talk

_SHORTEST = 400  # characters of a result that may be a file; "ok" and "no matches" repeat for good reason
_WORTH = 1_000  # tokens of all copies but the first, below which a change earns nothing


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
        again = (len(found) - 1) * costs.text(text) if len(found) > 1 else 0
        if again >= _WORTH:
            tokens = costs.text(text)
            sent = sum(tokens * said.sends for said in found[1:])
            cost = sum(costs.kept(tokens, said.sends) for said in found[1:])
            what = f"{names[text]} returned the same {tokens:,} tokens {len(found)} times"
            yield Found(found[1].place, what, again, sent, cost, len(found) - 1)


def _called(name: str | None, arguments: str) -> str:
    return f"{name or 'a tool'} {arguments if len(arguments) <= 60 else arguments[:57] + '…'}".strip()


RULES = (
    Rule(
        "repeated-read",
        "note",
        "Keep the newest copy: the strategy `deduplicate` replaces the older ones by a reference.",
        _check,
    ),
)
