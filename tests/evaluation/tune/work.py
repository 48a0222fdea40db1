"""Conversations of two kinds: one that an option makes cheaper, and one that none does. No tests live here."""

import json
import random
from typing import Any

WORDS = [
    "alpha",
    "bravo",
    "charlie",
    "delta",
    "echo",
    "foxtrot",
    "golf",
    "hotel",
    "india",
    "juliett",
    "kilo",
    "lima",
    "mike",
    "november",
    "oscar",
    "papa",
]


def long_results(chance: random.Random, rounds: int = 10) -> list[dict[str, Any]]:
    """An agent that reads long files, and uses one name of each in its next step."""
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": f"Look at src/app{chance.randrange(10**6)}/part_0.py."}
    ]
    for at in range(rounds):
        function = {"name": "look", "arguments": json.dumps({"path": f"src/app/part_{at}.py"})}
        call = {"id": f"c{at}", "type": "function", "function": function}
        said = f"After part_{at - 1}.py I look at handler_{chance.randrange(10**4)}."
        messages.append({"role": "assistant", "content": said, "tool_calls": [call]})
        lines = [" ".join(chance.choices(WORDS, k=8)) for _ in range(chance.randrange(110, 150))]
        text = "\n".join([f"def handler_{at}(): return lookup_{at + 1}()", *lines, f"see src/app/part_{at + 1}.py"])
        messages.append({"role": "tool", "tool_call_id": f"c{at}", "content": text})
    return [*messages, {"role": "assistant", "content": "handler_1 and handler_7 are wrong in src/app/part_3.py."}]


def only_words(chance: random.Random, rounds: int = 30) -> list[dict[str, Any]]:
    """A user and an assistant who only talk."""
    messages: list[dict[str, Any]] = []
    for _ in range(rounds):
        number = chance.randrange(10**6)
        messages.append({"role": "user", "content": f"Note {number}: {' '.join(chance.choices(WORDS, k=120))}."})
        messages.append({"role": "assistant", "content": f"I noted {number}."})
    return messages
