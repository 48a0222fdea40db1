"""What the scripted model does: a prompt `RUN=a STEPS=60` begins a run of so many steps, each with calls of its own.

A run is known by the ids of its calls, so that a request says by itself where it is, and all that follows depends on
the request alone. A client that compacts its history takes the ids away: then the run goes on behind the last step that
was answered.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from backscroll.evaluation.fake_providers import Reply, reply
from tests.clients.calls import Wish, call_for
from tests.clients.reading import Turn, system_of, tools_of, turns

PROMPT = re.compile(r"RUN=(\w+) STEPS=(\d+)(?: KIND=(\w+))?")
SUMMARY = "SUMMARY OF THE MODEL. All runs so far are done, and nothing is left to do."
_ASKS_FOR_SUMMARY = re.compile(
    r"detailed summary of (the|this|our) conversation|CONTEXT CHECKPOINT|state_snapshot|anchored summary"
    r"|summari[sz]e (the|this|our) conversation|structured (context )?(checkpoint )?summary|prompt for continuing",
    re.IGNORECASE,
)
"""How the clients ask the model for a summary of their history."""
_FOLDER = re.compile(r"(/[\w./-]+/repository)\b")


class Step(NamedTuple):
    """Where a run is."""

    run: str
    number: int
    """From 0 on."""
    steps: int
    kind: str
    """`main`, `sub` for a sub-agent, `plain` without sub-agents."""


class Decided(NamedTuple):
    """What the model answers."""

    answer: Reply
    step: Step | None
    """The step that its calls belong to. `None`: it calls nothing."""
    is_summary: bool = False


class ScriptedModel:
    """The model. `answered` says which step each call belongs to, by the id that the provider gave it."""

    def __init__(self) -> None:
        self.answered: dict[str, Step] = {}
        self._last: dict[str, int] = {}

    def decide(self, body: Mapping[str, Any]) -> Decided:
        """Return what the model does after a request."""
        spoken = turns(body)
        if _ASKS_FOR_SUMMARY.search(_newest(spoken)) or _ASKS_FOR_SUMMARY.search(system_of(body)[:400]):
            return Decided(reply(f"<summary>{SUMMARY}</summary>"), None, is_summary=True)
        tools, step = tools_of(body), self._step(spoken)
        if step is None or not tools:
            return Decided(reply('{"title": "Run the task"}'), None)
        if step.number >= step.steps:
            return Decided(reply(f"DONE {step.run} after {step.steps} steps."), None)
        self._last[step.run] = step.number
        found = _FOLDER.search("\n".join([system_of(body), *(turn.text for turn in spoken[:4])]))
        wanted = wishes(step)[: 1 if body.get("parallel_tool_calls") is False else None]
        calls = [call_for(wish, tools, found[1] if found else "") for wish in wanted]
        return Decided(reply(f"Step {step.number} of {step.run}.", thinking=_thought(body, step), calls=calls), step)

    def _step(self, spoken: Sequence[Turn]) -> Step | None:
        """The next step of the run that a request belongs to; `None` if it belongs to none."""
        known = [(at, self.answered[call]) for at, turn in enumerate(spoken) for call in turn.calls
                 if call in self.answered]  # fmt: skip
        at, last = known[-1] if known else (-1, None)
        later = [match for turn in spoken[at + 1 :] if turn.role == "user" for match in PROMPT.finditer(turn.text)]
        if later and (last is None or later[-1][1] != last.run):
            name, steps, kind = later[-1].groups()
            return Step(name, self._last.get(name, -1) + 1, int(steps), kind or "main")
        return None if last is None else last._replace(number=last.number + 1)


def _newest(spoken: Sequence[Turn]) -> str:
    """What was said after the newest answer."""
    answered = max((at for at, turn in enumerate(spoken) if turn.role == "assistant"), default=-1)
    return "\n".join(turn.text for turn in spoken[answered + 1 :] if turn.role != "tool")


def _thought(body: Mapping[str, Any], step: Step) -> str:
    """Reasoning, where the request lets the model think."""
    is_on = (body.get("thinking") or {}).get("type") in ("enabled", "adaptive") or body.get("reasoning") is not None
    return f"What does step {step.number} of {step.run} need? " * 6 if is_on else ""


def wishes(step: Step) -> list[Wish]:
    """Return the calls of a step."""
    n, name = step.number, step.run
    said, file = f"; echo 'step {n} of {name}'", f"src/module_{n % 17:02d}.py"
    if step.kind == "sub":
        return [Wish("shell", f"head -c {900 + 150 * n} {file}{said}")]
    if step.kind == "main":
        if n in (7, 31):
            return [Wish("task", f"RUN={name}sub{n} STEPS=5 KIND=sub")]
        if n == 19:
            return [Wish("task", f"RUN={name}sub{n}{each} STEPS=4 KIND=sub") for each in "xy"]
        if n == 16:  # behind a pause: by then the server of the tool has started
            return [Wish("load", "select:mcp__backscroll__search")]
        if n in (17, step.steps - 2) and n > 16:
            return [Wish("loaded", "zebra")]
        if n in (8, 20, 32):
            return [Wish("wait", name)]
        if n in PAUSES:
            return [
                Wish(
                    "shell",
                    f"touch pauses/pause-{name}-{n}; until [ -e pauses/go-{name}-{n} ]; do sleep 0.2; done{said}",
                )
            ]
    return _USUAL[n % len(_USUAL)](n, file, said)


PAUSES = (15, 38)
"""Steps of a main run whose command waits until the test says that it may go on."""
_USUAL = (
    lambda n, file, said: [Wish("read", file)],
    lambda n, file, said: [Wish("search", f"def function_{n % 9}")],
    lambda n, file, said: [Wish("shell", f"head -c {2500 + 211 * (n % 23)} logs/run_{n % 5}.log{said}")],
    lambda n, file, said: [Wish("edit", file)],
    lambda n, file, said: [Wish("shell", f"head -c 1500 {file}{said}"), Wish("shell", f"tail -c 1800 {file}{said}"),
                           Wish("read", "README.md")],
    lambda n, file, said: [Wish("shell", f"grep -rn 'needle-{n % 7}' . | head -5{said}")],
    lambda n, file, said: [Wish("shell", f"cat missing-{n}.txt{said}")],
    lambda n, file, said: [Wish("shell", f"head -c 9000 logs/run_{n % 5}.log{said}")],
    lambda n, file, said: [Wish("shell", f"head -c {3000 + 97 * n} logs/run_{n % 3}.log{said}")],
)  # fmt: skip  # one kind of step a line
