"""`cache-expired`: pauses after which the whole prompt was written to the cache again.

Source: the usage that Claude Code records with each answer, and "Prompt caching" of Anthropic (an entry lives for five
minutes after its last use, or for an hour).
"""

from collections.abc import Iterator

from backscroll.evaluation.lint.costs import Costs
from backscroll.evaluation.lint.finding import Found, Rule
from backscroll.evaluation.lint.place import Place
from backscroll.evaluation.lint.talk import Talk

_HALF = 0.5  # share of the prompt before the pause that was written again, so that it was no other change


def _check(talk: Talk, costs: Costs) -> Iterator[Found]:
    pauses: list[tuple[Place, int, float]] = []
    before = None
    for at, now in enumerate(talk.recorded):
        if now is None or now.prompt == 0:
            continue
        if before is not None and now.seconds - before.seconds > max(now.life, before.life):
            lost = min(now.written, before.prompt)
            if now.read < _HALF * before.prompt and lost > _HALF * before.prompt:
                pauses.append((Place(f"messages[{at}]"), lost, now.seconds - before.seconds))
        before = now
    if pauses:
        place, _, pause = pauses[0]
        sizes = [each for _, each, _ in pauses]
        what = f"a pause of {pause / 60:,.0f} minutes outlived the cache, and the prompt was written again"
        more = f"; {len(pauses)} such pauses" if len(pauses) > 1 else ""
        yield Found(
            place=place,
            what=what + more,
            tokens=max(sizes),
            sent=sum(sizes),
            cost=costs.again(sum(sizes)),
            count=len(pauses),
        )


RULES = (
    Rule(
        "cache-expired",
        "note",
        "Compact before a long pause, or mark the prompt with a `ttl` of 1h where pauses are common.",
        _check,
    ),
)
