"""Sessions as each format of records stored them, and what writes that of the present format.

`format-N` holds every kind of record, and what the version of that format read and sent. `odd-3` is a session of odd
messages, which format 3 sent as they were. The version that wrote format 3 last (789d3526) made it.

    python -m tests.history.golden    writes the file of the present format
"""

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from backscroll import ContextManager
from backscroll.history.codec import FORMAT
from backscroll.ports import Record, Stored
from backscroll.stores.memory import MemoryStore
from tests.builders import MessageFactory
from tests.history.crafting import OPTIONS

GOLDEN = Path(__file__).parents[1] / "golden"


def golden(format: int, session: str = "format") -> Iterator[Stored]:
    """The records of a format, as they were written when that was new. A session may have begun in an older one."""
    for at, line in enumerate((GOLDEN / f"{session}-{format}.jsonl").read_bytes().splitlines()):
        told = json.loads(line)
        body = told["body"].encode("utf-8", "surrogatepass")
        yield Stored(at, Record(told["kind"], told["seq"], body, told.get("format", format), told.get("key")))


def golden_facts(format: int, session: str = "format") -> dict[str, Any]:
    """What was read and sent."""
    found: dict[str, Any] = json.loads((GOLDEN / f"{session}-{format}.json").read_text(encoding="utf-8"))
    return found


def golden_store(format: int, session: str = "format") -> MemoryStore:
    """A store that holds the session `s` of a format."""
    store = MemoryStore()
    store.append("s", 0, [each.record for each in golden(format, session)]).result()
    return store


def continued(store: MemoryStore) -> ContextManager:
    """The session of format 3, continued with what format 4 added: a plan of older views, calls that a request showed
    without their results, and results that came late.
    """
    talk = MessageFactory("openai")
    answers = iter(["It went well."] * 20)
    manager = ContextManager(session="s", store=store, summarizer=lambda request: next(answers), **OPTIONS)
    manager.undo_compaction()  # the plan before it, under which nothing was healed
    manager.observe_refusal()
    manager.get_messages_for_request()
    manager.compact()
    for number in range(4):
        manager.append(talk.call([f"late{number}"], "I start it.", {"path": f"src/late{number}.py"}))
        manager.get_messages_for_request()
        manager.append(talk.say("user", f"Is number {number} still running?"), talk.say("assistant", f"{number} is."))
        if number != 2:  # of which the plans keep that it waits
            manager.append(*talk.results([(f"late{number}", f"late value_{number} = {number}\n" * 20)]))
        manager.append(*talk.results([("late0", f"once more: {number}")]), talk.say("user", f"Go on to {number + 1}."))
        manager._background.wait(10)
        manager.get_messages_for_request()
        manager.compact()
    manager.get_messages_for_request()
    return manager


def write() -> None:
    """Write the session of the present format."""
    store = golden_store(3)
    manager = continued(store)
    facts = {"messages": manager.get_messages(), "view": manager.get_messages_for_request()}
    manager.close()
    lines = [
        {
            "kind": record.kind,
            "seq": record.seq,
            "key": record.key,
            "body": record.body.decode("utf-8", "surrogatepass"),
        }
        | ({} if record.format == FORMAT else {"format": record.format})
        for _, record in store.read("s")
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (GOLDEN / f"format-{FORMAT}.jsonl").write_text(text, encoding="utf-8")
    (GOLDEN / f"format-{FORMAT}.json").write_text(json.dumps(facts, indent=1), encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    write()
