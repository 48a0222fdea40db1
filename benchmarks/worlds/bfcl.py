"""The multi-turn sets of BFCL: file systems, tickets, trades, bookings and more, each entry with objects of its own.

Many entries are one session, in rounds: the first turn of every entry, then the second of every entry, and so on. So
what a turn needs was said or read a whole round before. `base` has short results, `long` the same entries with results
of up to 70,000 characters. The other two sets have the calls of `base` and are left out.
"""

import ast
import copy
import inspect
import json
import random
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import import_module, resources
from typing import Any, NamedTuple

from worlds.script import Action, Said, Session, World

PACKAGE = "bfcl_eval"
SETS = {"base": "multi_turn_base", "long": "multi_turn_long_context"}
ENTRIES = {"base": 80, "long": 25}
"""Entries of one session, so that its history is longer than the largest budget."""
SYSTEM = "You do many cases at once. Use names and ids exactly as they are written."
Call = tuple[str, dict[str, Any]]


class Entry(NamedTuple):
    """One entry: its classes with their data, and its turns."""

    classes: tuple[str, ...]
    config: Mapping[str, Any]
    long: bool
    turns: tuple[tuple[str, tuple[Call, ...]], ...]


class Case:
    """The objects of one entry."""

    def __init__(self, entry: Entry) -> None:
        paths, stateless = _backends()
        self._made: dict[str, Any] = {}
        for name in entry.classes:
            made = getattr(import_module(paths[name]), name)()
            if name not in stateless:
                made._load_scenario(copy.deepcopy(entry.config.get(name, {})), long_context=entry.long)
            self._made[name] = made

    def method(self, name: str) -> Any:
        """Return the tool of this name."""
        return next(getattr(made, name) for made in self._made.values() if hasattr(made, name))

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Run a tool."""
        try:
            return self.method(name)(**copy.deepcopy(dict(arguments)))
        except Exception as error:
            return f"Error during execution: {error}"

    def state(self) -> dict[str, Any]:
        """Return what BFCL's own judge compares: all public attributes."""
        return {
            f"{name}.{key}": value
            for name, made in self._made.items()
            for key, value in vars(made).items()
            if not key.startswith("_")
        }


class Bfcl(World):
    """The objects of all entries of a session."""

    def __init__(self, entries: list[Entry]) -> None:
        self._cases = [Case(entry) for entry in entries]

    def call(self, action: Action) -> Any:
        """Run the tool on the objects of the action's entry."""
        return self._cases[action.task].call(action.name, action.arguments)

    def outcome(self, task: int) -> Any:
        """Return the state of an entry's objects."""
        return self._cases[task].state()


@cache
def _backends() -> tuple[Mapping[str, str], list[str]]:
    config = import_module(f"{PACKAGE}.constants.executable_backend_config")
    return config.CLASS_FILE_PATH_MAPPING, config.STATELESS_CLASSES


def _read(name: str) -> list[dict[str, Any]]:
    text = (resources.files(PACKAGE) / "data" / f"{name}.json").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line.strip()]


@cache
def _described() -> str:
    folder = resources.files(PACKAGE) / "data/multi_turn_func_doc"
    return "\n".join(file.read_text(encoding="utf-8") for file in sorted(folder.iterdir(), key=str))


@cache
def entries(kind: str) -> list[Entry]:
    """Return the entries of a set that change something."""
    answers = {one["id"]: one["ground_truth"] for one in _read(f"possible_answer/BFCL_v4_{SETS[kind]}")}
    found = [_entry(raw, answers[raw["id"]], kind == "long") for raw in _read(f"BFCL_v4_{SETS[kind]}")]
    return [entry for entry in found if _changes(entry)]


def _entry(raw: dict[str, Any], answer: list[list[str]], long: bool) -> Entry:
    bare = Entry(tuple(raw["involved_classes"]), raw["initial_config"], long, ())
    case = Case(bare)
    words = [" ".join(message["content"] for message in turn) for turn in raw["question"]]
    calls = [tuple(parsed(written, case.method) for written in turn) for turn in answer]
    return bare._replace(turns=tuple(zip(words, calls, strict=True)))


def parsed(written: str, method: Callable[[str], Callable[..., Any]]) -> Call:
    """Read a call as BFCL writes it, in Python; arguments without a name get the tool's own names."""
    call = ast.parse(written, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Name)
    names = inspect.signature(method(call.func.id)).parameters
    given = dict(zip(names, map(ast.literal_eval, call.args), strict=False))
    return call.func.id, given | {one.arg: ast.literal_eval(one.value) for one in call.keywords if one.arg}


def _changes(entry: Entry) -> bool:
    before, after = Case(entry), Case(entry)
    for _, calls in entry.turns:
        for name, arguments in calls:
            after.call(name, arguments)
    return before.state() != after.state()


def rounds(kind: str, seed: int) -> Session:
    """Draw entries, and take their turns in rounds; each round in another order."""
    chance = random.Random(seed)
    mine = chance.sample(entries(kind), ENTRIES[kind])
    steps: list[Said | Action] = [Said("system", SYSTEM)]
    for number in range(max(len(entry.turns) for entry in mine)):
        having = [case for case, entry in enumerate(mine) if number < len(entry.turns)]
        for case in chance.sample(having, len(having)):
            said, calls = mine[case].turns[number]
            words = f"Case {case + 1}: {said}"
            steps.append(Said("user", words, case))
            steps += [Action(case, name, arguments, words) for name, arguments in calls]
            steps.append(Said("assistant", "That is what I could do."))
    return Session(len(mine), steps, partial(Bfcl, mine), described=_described())
