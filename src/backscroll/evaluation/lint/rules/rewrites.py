"""`tools-changed`, `prefix-rewritten` and `small-compaction`: edits of what was sent before, by what they cost
and free.

Sources: "Prompt caching" of Anthropic (a changed tool invalidates everything) and of OpenAI (any change of tools,
instructions or input). An edit pays if what it frees, read by each later request, is worth more than writing the rest
again.
"""

import json
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from backscroll.evaluation.lint.breaks import Break, breaks_of, volatile_kinds
from backscroll.evaluation.lint.costs import Costs
from backscroll.evaluation.lint.finding import Found, Rule
from backscroll.evaluation.lint.place import Place
from backscroll.evaluation.lint.request import name_of
from backscroll.evaluation.lint.talk import Step, Talk

_SMALL = 0.1  # share of a request that a compaction frees; below it, the next one is due soon


def _edits(talk: Talk, costs: Costs) -> Iterator[Break]:
    return (each for each in breaks_of(talk, costs) if not volatile_kinds(each.old, each.new))


def _tools(talk: Talk, costs: Costs) -> Iterator[Found]:
    changes = [each for each in _edits(talk, costs) if each.kind == "tools"]
    if not changes:
        return
    lost = [each.lost for each in changes]
    what = f"{_difference(changes[0].step)}, in {len(changes)} of {len(talk.requests)} requests"
    place = Place("tools", changes[0].step.after.number)
    yield Found(
        place=place, what=what, tokens=max(lost), sent=sum(lost), cost=costs.again(sum(lost)), count=len(changes)
    )


def _difference(step: Step) -> str:
    olds, news = ([name_of(tool) for _, tool in request.shown_tools] for request in (step.before, step.after))
    added, removed = [name for name in news if name not in olds], [name for name in olds if name not in news]
    said = [f"tools added: {', '.join(added[:3])}"] if added else []
    said += [f"tools removed: {', '.join(removed[:3])}"] if removed else []
    if said:
        return "; ".join(said)
    if sorted(step.before.tool_keys) == sorted(step.after.tool_keys):
        return "the order of the tools changed"
    pairs = zip(step.before.tool_keys, step.after.tool_keys, news, strict=False)
    return f"the definition of {next((name for old, new, name in pairs if old != new), 'a tool')} changed"


class _Edit(NamedTuple):
    change: Break
    freed: int
    """Tokens that the later request no longer holds."""
    size: int
    """Tokens of the messages of the earlier request."""
    later: int
    """Requests that hold the edit, itself included, up to the next one."""


def _weighed(talk: Talk, costs: Costs) -> list[_Edit]:
    changes = [each for each in _edits(talk, costs) if each.kind != "tools" and each.lost]
    found = []
    for at, each in enumerate(changes):
        end = changes[at + 1].step.after.number if at + 1 < len(changes) else talk.requests[-1].number + 1
        later = sum(each.step.after.number <= request.number < end for request in talk.requests)
        size = costs.messages(each.step.before.messages)
        found.append(_Edit(each, _freed(each, costs), size, later))
    return found


def _freed(change: Break, costs: Costs) -> int:
    """Return the tokens of what left, less those of what replaced it; new turns at the end replace nothing."""
    before, after = change.step.before, change.step.after
    if change.kind == "system":
        return sum(map(costs.value, before.system)) - sum(map(costs.value, after.system))
    kept, had = Counter(after.message_keys), Counter(before.message_keys)
    left = sum(
        costs.message(m) for m, known in zip(before.messages, before.message_keys, strict=True) if not kept[known]
    )
    last = max(at for at, known in enumerate(after.message_keys) if had[known])
    pairs = zip(after.messages[:last], after.message_keys[:last], strict=True)
    return left - sum(costs.message(message) for message, known in pairs if not had[known])


def _rewritten(talk: Talk, costs: Costs) -> Iterator[Found]:
    edits = [edit for edit in _weighed(talk, costs) if edit.freed <= 0]
    if not edits:
        return
    lost = [edit.change.lost for edit in edits]
    first = edits[0].change
    what = f"{_named(first)} changed and nothing was freed, in {len(edits)} of {len(talk.requests)} requests"
    place = Place(first.where, first.step.after.number)
    yield Found(place=place, what=what, tokens=max(lost), sent=sum(lost), cost=costs.again(sum(lost)), count=len(edits))


def _named(change: Break) -> str:
    if change.kind == "system":
        return "the system prompt"
    role = json.loads(change.new).get("role")
    return f"an earlier message ({role})" if isinstance(role, str) else "an earlier item"


def _small(talk: Talk, costs: Costs) -> Iterator[Found]:
    for change, freed, size, later in _weighed(talk, costs):
        cost, won = costs.again(change.lost), freed * costs.read * later
        if 0 < freed < _SMALL * size and won < cost:
            what = (
                f"an edit freed {freed:,} of {size:,} tokens for {later} requests, and the first of them wrote "
                f"{change.lost:,} tokens again"
            )
            yield Found(
                place=Place(change.where, change.step.after.number),
                what=what,
                tokens=change.lost,
                sent=change.lost,
                cost=cost - won,
            )


RULES = (
    Rule(
        "tools-changed",
        "warning",
        "Send the same tools in the same order in every request; narrow a turn by `tool_choice`, and add tools by "
        "appending where the provider can.",
        _tools,
    ),
    Rule(
        "prefix-rewritten",
        "warning",
        "Only append between compactions: never edit, reorder or render again what was sent.",
        _rewritten,
    ),
    Rule(
        "small-compaction",
        "warning",
        "Compact rarely and far: a compaction that frees less than a tenth is due again before it has paid.",
        _small,
    ),
)
