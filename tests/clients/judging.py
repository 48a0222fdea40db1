"""What must hold after a client was driven: each problem is a sentence, and none is the aim."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

from backscroll import ContextManager
from backscroll.stores.addresses import open_store
from tests.clients.provider import Asked, ScriptedProvider
from tests.clients.proxy import Outcome, Proxy
from tests.clients.reading import names_of
from tests.clients.script import Step

MANAGED = {"as it came", "compacted", "counted"}
LEAST_CACHED = 0.9
"""Of the tokens of all requests. A provider that reads less from its cache costs more than the views save."""
_SAID = re.compile(r"step \d+ of (\w+)")
"""Every command of a run prints it."""


class Figures(NamedTuple):
    """What a run came to."""

    requests: int
    outcomes: dict[str, int]
    summaries: int
    """Of the client's own compaction."""
    sessions: int
    cached: float
    """Share of the tokens."""
    largest: int
    """Tokens of the largest request."""

    def __str__(self) -> str:
        did = ", ".join(f"{count} {what}" for what, count in sorted(self.outcomes.items()))
        return (
            f"{self.requests} requests: {did}; {self.summaries} summaries of its own, {self.sessions} sessions, "
            f"{self.cached:.0%} cached, {self.largest:,} tokens at most"
        )


def figures(provider: ScriptedProvider, proxy: Proxy) -> Figures:
    """Return the figures."""
    asked = provider.asked
    return Figures(
        len(asked), dict(Counter(each.did for each in proxy.outcomes())), sum(each.is_summary for each in asked),
        len(sessions(proxy)), sum(each.cached for each in asked) / sum(each.tokens for each in asked),
        max(each.tokens for each in asked),
    )  # fmt: skip  # one value a line would hide the call


def problems(provider: ScriptedProvider, proxy: Proxy, budget: int) -> list[str]:
    """Return what is wrong.

    Args:
        provider: The provider that the client was driven against.
        proxy: The proxy between them.
        budget: Input tokens of a request.
    """
    found = [f"script: {failure!r}" for failure in provider.failures]
    found += [f"refused: {each.refusal}" for each in provider.asked if each.refusal]
    found += [f"request {at}: reasoning left out" for at, each in enumerate(provider.asked) if each.lost][:3]
    found += _unmanaged(proxy.outcomes())
    found += _steps([each.step for each in provider.asked if each.step])
    found += _mixed(provider.asked)
    found += _unloaded(provider.asked)
    runs = {each.step.run for each in provider.asked if each.step}
    found += _together(sessions(proxy), runs, summaries=sum(each.is_summary for each in provider.asked))
    seen = figures(provider, proxy)
    if seen.cached < LEAST_CACHED:
        found.append(f"only {seen.cached:.1%} of the tokens come from the cache")
    if seen.largest > budget:
        found.append(f"a request of {seen.largest} tokens, where {budget} are allowed")
    return found


def sessions(proxy: Proxy) -> dict[str, set[str]]:
    """The runs of each session in the proxy's store, by their steps. The proxy has ended.

    A session of one message is no conversation: a client asked for a summary of a text.
    """
    found = {}
    with closing(open_store(proxy.store)) as store:
        for name in store.sessions():
            with ContextManager(store=store, session=name) as context:
                messages = context.get_messages()
            if len(messages) > 1:
                found[name] = set(_SAID.findall(json.dumps(messages)))
    return found


def _unmanaged(outcomes: Sequence[Outcome]) -> list[str]:
    counted = Counter((each.did, each.notes) for each in outcomes if each.did not in MANAGED and each.model[:1] != "/")
    return [f"{count} x {did}: {notes}" for (did, notes), count in counted.items()]


def _steps(steps: Sequence[Step]) -> Iterator[str]:
    """Each step of a run is done once, in order, up to its last."""
    for name in dict.fromkeys(step.run for step in steps):
        done = [step for step in steps if step.run == name]
        if [step.number for step in done] != list(range(done[0].steps)):
            yield f"run {name}: steps {[step.number for step in done]} of {done[0].steps}"


def _mixed(asked: Sequence[Asked]) -> Iterator[str]:
    """A sub-agent gets nothing of another agent, and the main agent nothing of what a sub-agent did."""
    for at, each in enumerate(asked):
        if each.step is None:
            continue
        others = {run for run in _SAID.findall(json.dumps(each.body)) if run != each.step.run}
        wrong = others if each.step.kind == "sub" else {run for run in others if "sub" in run}
        if wrong:
            yield f"request {at} of run {each.step.run} has steps of {sorted(wrong)}"


def _unloaded(asked: Sequence[Asked]) -> Iterator[str]:
    """A tool that was loaded stays so, as long as the client offers it as one to be loaded, and until it compacts."""
    known: set[str] = set()
    for at, each in enumerate(asked):
        known = set() if each.is_summary else known | loaded(each)
        is_main = each.step is not None and each.step.kind == "main"
        if is_main and (lost := (known & loadable(each)) - loaded(each)):
            yield f"request {at} lost the loaded tools {sorted(lost)}"


def loadable(asked: Asked) -> set[str]:
    """The tools of a request that work only behind a reference to them. The client leaves out those not yet loaded."""
    return {str(tool["name"]) for tool in asked.body.get("tools") or () if tool.get("defer_loading")}


def loaded(asked: Asked) -> set[str]:
    """The tools that the messages of a request refer to."""
    return set(names_of(asked.body.get("messages")))


def _together(found: dict[str, set[str]], runs: set[str], *, summaries: int) -> Iterator[str]:
    """Each sub-agent has one session of its own; the main agent one, and after each summary one more, or
    two: clients ask for it with other tools or another system prompt.
    """
    for name, each in found.items():
        if len(each) > 1 and any("sub" in run for run in each):
            yield f"session {name} holds the runs {sorted(each)}"
    for run in sorted(runs):
        within = [name for name, each in found.items() if run in each]
        if not within:
            yield f"run {run} is in no session"
        if len(within) > 1 and "sub" in run:
            yield f"run {run} is spread over the sessions {within}"
    main = [name for name, each in found.items() if each and not any("sub" in run for run in each)]
    if len(main) > 1 + 2 * summaries:
        yield f"the main agent has {len(main)} sessions with {summaries} summaries of its own: {main}"
