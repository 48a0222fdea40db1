"""How far a call goes through the files of the package: what a reader has to follow. No tests live here."""

import gc
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, NamedTuple

import backscroll
from backscroll import ContextManager
from tests.builders import MessageFactory
from tests.frozen.sessions import count

PACKAGE = str(Path(backscroll.__file__).parent)


class Way(NamedTuple):
    """Of one call."""

    files: int
    changes: int
    """How often the next call of a function, or the next step of a generator, is in another file."""
    calls: int


def way(act: Callable[[], object]) -> Way:
    """Calls it in this thread, and notes where it goes."""
    passed: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(PACKAGE) and frame.f_code.co_name[0] != "<":
            passed.append(name)

    gc.collect()
    gc.disable()  # what other tests left may end here, and goes through files of its own
    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(None)
        gc.enable()
    changes = sum(one != other for one, other in pairwise(passed))
    return Way(len(set(passed)), changes, len(passed))


def steps() -> dict[str, Way]:
    """An append and a plain request, in memory and in SQLite, in a session that does both already."""
    found: dict[str, Way] = {}
    with TemporaryDirectory() as folder:
        for name, store in (("memory", None), ("sqlite", f"sqlite:///{folder}/a.db")):
            manager, talk = (
                ContextManager(store=store, session=store and "s", tokenizer=count),
                MessageFactory("openai"),
            )
            for number in range(3):
                manager.append(talk.say("user", f"{number}?"), talk.say("assistant", "yes"))
                manager.get_messages_for_request()
            found[f"append, {name}"] = way(lambda manager=manager, talk=talk: manager.append(talk.say("user", "and?")))  # type: ignore[misc]  # mypy infers no lambda with defaults
            found[f"request, {name}"] = way(manager.get_messages_for_request)
            manager.close()
    return found
