"""A program: views of a session with many words of equal weight, as JSON. `python -m tests.compaction.wordy`."""

import json
from typing import Any

from backscroll import ContextManager
from tests.builders import MessageFactory
from tests.fakes import count_quarter


def wordy_views() -> Any:
    """Views of a session with many words of equal weight."""
    manager = ContextManager(tokenizer=count_quarter, budget=3_000)
    talk = MessageFactory("openai")
    manager.append(talk.say("user", "begin"))
    views = []
    for number in range(40):
        names = " ".join(f"name_{number}_{place}" for place in range(30))
        manager.append(talk.call([f"c{number}"], names, {"path": f"src/{number}.py"}))
        manager.append(*talk.results([(f"c{number}", "\n".join(f"item_{number}_{row} = {row}" for row in range(60)))]))
        views.append(manager.get_messages_for_request())
    return views


if __name__ == "__main__":
    print(json.dumps(wordy_views()))
