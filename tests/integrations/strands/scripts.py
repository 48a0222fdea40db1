"""Scripts of models, and what is read from their requests: for our guarantees, and for what Strands itself ships."""

import json
import random
from itertools import pairwise
from typing import Any, NamedTuple

from strands import tool

from tests.integrations.strands.agents import CHINESE, TOOLS, text_of
from tests.integrations.strands.scripted import Scripted, call


def saving(request: Any, n: int) -> Any:
    """A file is saved, and then that is said, in turn."""
    return (
        call("save", {"path": f"notes/{n}.md", "text": f"fact {n // 2}: {n * 7919} " * 150}) if n % 2 == 0 else "Saved."
    )


READING = [
    call("read", {"path": "a.py", "lines": 400}),
    *[call("read", {"path": f"{n}.py"}) for n in range(9)],
    "Done.",
]
"""One long file and nine short ones."""
LOOKING = [*[call("look", {}) for _ in range(8)], "Done.", "Fine."]
"""Eight pictures."""
SUMMARIZING = [
    *["Fine."] * 6,
    call("summarize_context", {"keep_recent": 2, "summary_ratio": 0.8, "message_type": "messages"}),
]
"""Six turns, and a summary of them that the model asks for."""
SAME_ID = [
    call("read", {"path": "first.py", "lines": 400}, id="call_0"),
    "One.",
    call("read", {"path": "second.py", "lines": 400}, id="call_0"),
    "Two.",
]
"""Two calls of one id."""
SECRET = [call("read", {"path": "secret-of-one.py", "lines": 400}, id="call_1"), "Done."]


def shrinking() -> list[Any]:
    """Ten files, and the oldest messages are dropped."""
    reads = [call("read", {"path": f"{n}.py"}) for n in range(10)]
    return [*reads, call("truncate_context", {"keep_recent": 4}), "Done.", "Done."]


def turns(agent: Any, number: int) -> None:
    """So many turns of a user."""
    for turn in range(number):
        agent(f"Turn {turn}")


def long_talk(agent: Any) -> None:
    """A rule, and nine turns after it; for `saving`."""
    agent("The rule of the house: always answer in French.")
    for turn in range(9):
        agent(f"Save fact {turn}")


def two_reads_a_turn(request: Any, n: int) -> Any:
    return call("read", {"path": f"{n}.py", "lines": 12}) if n % 3 < 2 else "Done."


def counts(count: Any, told: int) -> list[int]:
    """What `count` makes of a model that reads 60 files, and of one that reads 120."""
    return [
        count(Scripted([*[call("read", {"path": f"{n}.py"}) for n in range(rounds)], "Done."], told=told))
        for rounds in (60, 120)
    ]


def texts_of_any_kind() -> list[str]:
    shuffled = random.Random(7)
    return [
        CHINESE * 60,
        "".join(shuffled.choice("0123456789abcdef") for _ in range(4_000)),
        "\n".join(",".join(str(shuffled.randrange(10_000)) for _ in range(8)) for _ in range(150)),
    ]


class Overflow(NamedTuple):
    """A conversation that does not fit 8,000 tokens."""

    steps: list[Any]
    prompt: str
    messages: list[Any]


OVERFLOWS = {
    "pasted": Overflow(["Done."], "A pasted line of a log, with numbers 12345. " * 2_000, []),
    "parallel": Overflow([[call("read", {"path": f"{n}.py", "lines": 110}) for n in range(8)], "Done."], "Go on", []),
    "restored": Overflow(
        ["Done."],
        "Go on",
        [
            {"role": role, "content": [{"text": f"{n}: {CHINESE * 30 if n % 4 == 0 else 'words and words ' * 120}"}]}
            for n in range(160)
            for role in [("user", "assistant")[n % 2]]
        ],
    ),
}
ENDLESS = json.dumps([{"id": n, "name": f"item {n}"} for n in range(16_000)])
assert len(ENDLESS) > 490_000
assert "\n" not in ENDLESS


@tool
def fetch() -> str:
    """Fetch the data."""
    return ENDLESS


FETCHING = [call("fetch", {}), "Done."]


@tool
def explode() -> dict[str, Any]:
    """Explode."""
    return {"status": "error", "content": [{"text": "traceback line\n" * 2_700}]}


def exploded(make: Any) -> str:
    """The last request after a long error, a call with a long input and many results."""
    steps = [
        call("explode", {}),
        call("save", {"path": "a", "text": "many words " * 3_700}),
        "Done.",
        *[call("read", {"path": f"{n}.py", "lines": 150}) for n in range(16)],
        "Done.",
    ]
    model = Scripted(steps, told=30_000)
    agent = make(model, tools=[explode, *TOOLS])
    agent("Explode and save"), agent("Read on")
    return json.dumps(model.requests[-1]["messages"])


def broken(requests: list[Any]) -> int:
    """How often over half of what was sent before was not sent again."""
    found = 0
    for one, other in pairwise(requests):
        pairs = zip(one["messages"], other["messages"], strict=False)
        same = next((n for n, (a, b) in enumerate(pairs) if a["content"] != b["content"]), len(one["messages"]))
        found += 2 * same < len(one["messages"])
    return found


def shots_in(request: Any) -> int:
    """Pictures in a request."""
    blocks = [block for message in request["messages"] for block in message["content"] if "toolResult" in block]
    return sum("image" in inner for block in blocks for inner in block["toolResult"]["content"])


def status_of(request: Any) -> int:
    """Tokens in use, as the last message of a request says."""
    return int(text_of(request["messages"][-1:]).partition("<used>")[2].split()[0].replace(",", ""))
