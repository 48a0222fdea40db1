"""`large-schema`, `unused-tools` and `large-result`: what fills requests.

Source: what they cost: tool definitions and old results are sent with every request.
"""

import re
from collections.abc import Iterator

from backscroll.evaluation.lint.costs import Costs
from backscroll.evaluation.lint.finding import Found, Rule
from backscroll.evaluation.lint.place import Place
from backscroll.evaluation.lint.request import name_of
from backscroll.evaluation.lint.talk import Talk

_LARGE_SCHEMA = 2_000  # tokens; four times what a common tool with examples has
_UNUSED = 1_000  # tokens of unused tools that are worth a change
_REQUESTS = 5  # a shorter conversation says little about the tools it may need
_LARGE_RESULT = 10_000  # tokens
_DOMINANT = 0.2  # share of all messages
_HUGE = 20_000  # tokens, at any share
_OF_SERVERS = re.compile(r"_\d{8}$")  # a provider's own tool, whose definition is its name


def _schemas(talk: Talk, costs: Costs) -> Iterator[Found]:
    sizes: dict[str, tuple[str, Place, int, int]] = {}
    for request in talk.requests:
        for (at, tool), known in zip(request.shown_tools, request.tool_keys, strict=True):
            _, place, tokens, sends = sizes.get(
                known, ("", Place(f"tools[{at}]", request.number), costs.text(known), 0)
            )
            sizes[known] = (name_of(tool), place, tokens, sends + 1)
    for name, place, tokens, sends in sizes.values():
        if tokens >= _LARGE_SCHEMA:
            what = f"the definition of {name} has {tokens:,} tokens"
            yield Found(place=place, what=what, tokens=tokens, sent=tokens * sends, cost=costs.kept(tokens, sends))


def _unused(talk: Talk, costs: Costs) -> Iterator[Found]:
    if len(talk.requests) < _REQUESTS:
        return
    called = {part.name for said in talk.said for part in said.reading.parts if part.kind == "call"}
    newest = talk.requests[-1]
    unused = [
        (name_of(tool), costs.text(known))
        for (_, tool), known in zip(newest.shown_tools, newest.tool_keys, strict=True)
        if name_of(tool) not in called and not _OF_SERVERS.search(str(tool.get("type") or ""))
    ]
    tokens = sum(size for _, size in unused)
    if tokens >= _UNUSED:
        names = [name for name, _ in sorted(unused, key=lambda each: -each[1])]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        what = f"{len(names)} of {len(newest.shown_tools)} tools were never called: {', '.join(names[:3])}{more}"
        sends = len(talk.requests)
        yield Found(
            place=Place("tools", newest.number),
            what=what,
            tokens=tokens,
            sent=tokens * sends,
            cost=costs.kept(tokens, sends),
            count=len(names),
        )


def _results(talk: Talk, costs: Costs) -> Iterator[Found]:
    names = {part.id: part.name for said in talk.said for part in said.reading.parts if part.kind == "call"}
    sums: dict[int, int] = {}
    for said in talk.said:
        for part in said.reading.parts:
            if part.kind != "result" or len(part.text) < _LARGE_RESULT:
                continue  # no tokenizer makes more tokens than characters of a text of this length
            tokens = costs.text(part.text)
            if tokens < _LARGE_RESULT:
                continue
            if said.span not in sums:
                sums[said.span] = sum(costs.message(each.message) for each in talk.said if each.span == said.span)
            everything = sums[said.span]
            if tokens >= min(_HUGE, _DOMINANT * everything):
                name = names.get(part.id) or "a tool"
                what = (
                    f"a result of {name} has {tokens:,} tokens, {tokens / everything:.0%} of the messages sent with it"
                )
                yield Found(
                    place=said.place,
                    what=what,
                    tokens=tokens,
                    sent=tokens * said.sends,
                    cost=costs.kept(tokens, said.sends),
                )


RULES = (
    Rule(
        "large-schema",
        "note",
        "Shorten descriptions and examples, or defer the tool until it is searched for.",
        _schemas,
    ),
    Rule("unused-tools", "note", "Leave out what this agent does not use, or defer it.", _unused),
    Rule(
        "large-result",
        "note",
        "Show a preview before it is first sent: `tool_result_preview` keeps its lines that matter most.",
        _results,
    ),
)
