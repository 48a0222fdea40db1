"""A session with every kind of record, and records with right checksums and wrong contents."""

import json
import random
import zlib
from base64 import b64decode, b64encode
from typing import Any

from backscroll import ContextManager
from backscroll.ports import Record
from backscroll.stores.memory import MemoryStore
from tests.builders import MessageFactory

OPTIONS: dict[str, Any] = {"tokenizer": len, "budget": 3_000, "clear_at_least_tokens": 200}
VALUES = [
    None, True, False, 0, 1, -1, 2, 7, 10**6, -(10**6), 2**63, -(2**63), 10**400, 0.5, -2.5, 1e308, "", "x", "user",
    "main", "assistant", "\ud800", "é" * 5, [], [[]], [0], [1, 2], [[0, 1]], ["x"], [None], {}, {"x": 1}, {"at": 0},
    {"at": 10**9, "until": None}, {"role": "user", "content": "x"}, {"role": 1}, {"role": "tool", "content": {}},
    [["excerpt", 0, 0, 1, 1, [1], "x", []]], [["fold", 0, 10**9, "x"]], [["drop", 5, 2, "x"]],
    [["clear", 1, 99, "x", [1], "m"]],
]  # fmt: skip  # a table
KINDS = ["message", "plan", "lane", "checkpoint", "id", "pin", "usage", "rewind", "request", "lost", "nonsense"]
BODIES = [b"", b"null", b"[]", b"{}", b"[" * 5_000, b'{"a":' * 3_000, b"\xff", b"7"]


def crafted(records: list[Record], chance: random.Random) -> MemoryStore:
    """A store with a session of these records, one to three of which say something else."""
    changed = list(records)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        at = chance.randrange(len(changed))
        if chance.random() < 0.5:  # most records are messages, and most of what can be wrong is in the others
            at = chance.choice([n for n, record in enumerate(changed) if record.kind != "message"])
        changed[at] = _changed(changed, at, chance)
    store = MemoryStore()
    seen: set[str | None] = {None}
    for at, record in enumerate(changed):
        kept = record if record.key not in seen else record._replace(key=None)
        seen.add(kept.key)
        store.append("s", at, [kept]).result()
    return store


def _changed(records: list[Record], at: int, chance: random.Random) -> Record:
    record = records[at]
    match chance.randrange(12):
        case 0:
            return record._replace(kind=chance.choice(KINDS))
        case 1:
            return record._replace(body=chance.choice(records).body)
        case 2:
            return record._replace(body=chance.choice(BODIES))
        case 3:
            return record._replace(format=chance.choice([0, 1, 2, 3, 4, -1, 10**6]))
        case 4:
            return record._replace(seq=chance.choice([None, 0, 1, 10**6, (record.seq or 0) + 1, record.seq]))
    try:
        body = json.loads(record.body)
    except (ValueError, RecursionError):
        return record
    for _ in range(chance.choice((1, 1, 2))):
        body = _mutated(body, chance)
    return record._replace(body=json.dumps(body).encode())


def _mutated(value: object, chance: random.Random) -> object:
    """The same with one thing in it replaced, left out, doubled or moved."""
    if isinstance(value, dict) and value and chance.random() < 0.93:
        key = chance.choice(list(value))
        copy = dict(value)
        if chance.random() < 0.08:
            del copy[key]
        elif chance.random() < 0.05:
            copy[chance.choice(["x", "at", "digest", "joins"])] = chance.choice(VALUES)
        elif key == "rest" and isinstance(value[key], str) and chance.random() < 0.8:
            inner = _mutated(json.loads(zlib.decompress(b64decode(value[key]))), chance)
            copy[key] = b64encode(zlib.compress(json.dumps(inner).encode())).decode()
        else:
            copy[key] = _mutated(value[key], chance)
        return copy
    if isinstance(value, list) and value and chance.random() < 0.9:
        at = chance.randrange(len(value))
        if chance.random() < 0.15:
            return chance.choice([value[:at] + value[at + 1 :], value + value[at : at + 1], value[::-1]])
        return [*value[:at], _mutated(value[at], chance), *value[at + 1 :]]
    if type(value) is int and chance.random() < 0.6:
        return value + chance.choice((-1, 1, -(10**3), 10**3, 2**40, -value, -2 * value - 1))
    return chance.choice(VALUES)


def session_of_all_kinds(store: Any = None) -> Any:
    """A session with all that a format has to hold, the same in every run."""
    chance, talk = random.Random(1), MessageFactory("openai")
    answers = iter(["", "It goes well.", *["It went well."] * 20])
    manager = ContextManager(session="s", store=store, summarizer=lambda request: next(answers), **OPTIONS)
    manager.append(
        talk.say("system", "be brief"),
        talk.say("user", "Never touch config/prod.yaml. Begin."),
        idempotency_key="first",
    )
    for number in range(30):
        lines = [f"value_{number}_{line} = {chance.randrange(10**6)}" for line in range(chance.randrange(2, 9))]
        manager.append(talk.call([f"c{number}"], "I look.", {"path": f"src/m{number}.py"}))
        manager.append(*talk.results([(f"c{number}", "\n".join(lines))]))
        manager._background.wait(10)
        manager.get_messages_for_request()
        if number == 10:
            manager.pin(5)
            manager.observe_usage(input_tokens=manager.usage().used.tokens + 30, output_tokens=5)
        if number == 20:
            manager.get_messages_for_request(token_budget=2_000, lane="small")
            manager.observe_overflow(lane="small")
        if number == 25:
            manager.undo_compaction()
            manager.set_system_prompt_factory(lambda: "You are brief.")
            manager.append(talk.say("user", "for now") | {"metadata": {"ephemeral": True}})
    manager.append(talk.picture("look at \ud83d this"))
    manager.set_messages(manager.get_messages()[:-1])
    return manager
