"""What the model does in a session: turns of a user's prompt and the model's steps. Nothing here runs anything."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Use:
    """One use of a tool."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """One answer of the model: words, tools to use at once, or both. An answer without tools ends the turn."""

    text: str = ""
    uses: tuple[Use, ...] = ()
    thinking: str = ""


@dataclass(frozen=True)
class Turn:
    """A prompt, and what the model does about it."""

    prompt: str
    steps: tuple[Step, ...]


def use(tool: str, text: str = "", **arguments: Any) -> Step:
    """A step that uses one tool."""
    return Step(text, (Use(tool, arguments),))


def say(text: str) -> Step:
    """A step of words, which ends its turn."""
    return Step(text)


def reading(files: int, lines: int, prompt: str = "Read every file and tell me what they do.") -> list[Turn]:
    """One turn that reads files of so many lines, one after the other."""
    steps = [use("read_file", path=f"src/part_{number}.py", lines=lines) for number in range(files)]
    return [Turn(prompt, (*steps, say("They are parts of one parser.")))]


def work(turns: int, rounds: int, seed: int = 0) -> list[Turn]:
    """Turns of mixed work: files, logs, queries, failures, now and then two or three tools at once, and thinking."""
    chance = random.Random(f"work {seed}")
    return [_turn(number, rounds, chance) for number in range(turns)]


def _turn(number: int, rounds: int, chance: random.Random) -> Turn:
    steps = tuple(_step(f"{number}.{at}", chance) for at in range(rounds))
    prompt = f"Task {number}: make the failing test of module m{number} pass. Never touch settings_{number}.toml."
    return Turn(prompt, (*steps, say(f"Task {number} is done: module m{number} passes.")))


def _step(mark: str, chance: random.Random) -> Step:
    thinking = f"I look at {mark} next." if chance.random() < 0.3 else ""
    text = f"Looking at {mark}." if chance.random() < 0.6 else ""
    together = chance.choices((1, 2, 3), (6, 2, 1))[0]
    return Step(text, tuple(_uses(mark, together, chance)), thinking)


def _uses(mark: str, together: int, chance: random.Random) -> Iterator[Use]:
    for at in range(together):
        tool = chance.choices(("read_file", "run_tests", "query", "list_files", "broken"), (5, 3, 2, 2, 1))[0]
        size = {"read_file": (20, 200), "run_tests": (30, 300), "query": (2, 60), "list_files": (3, 20)}.get(
            tool, (1, 1)
        )
        yield Use(tool, {"path": f"src/m{mark}.{at}.py", "lines": chance.randint(*size)})
