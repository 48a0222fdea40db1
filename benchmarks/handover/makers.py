"""What a reader may get in place of a session: a view of this tree, the newest messages, a recorded summary.

A maker is named `ours16` (our default at 16,000 tokens), `ours8-lean` (a mode), `newest16`, `summary`, or
`summary+newest8` (both). Its view of a session is the file `views/SESSION.MAKER.txt` of the exam's folder, so that
anything else can take part that writes such a file.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peers.base import calls_of
from peers.exact import of_message, tokens

from backscroll import ContextManager
from handover.recordings import Message, Session

_NAME = re.compile(r"(ours|newest)(\d+)(?:-(\w+))?")
SESSION = "exam"
"""The name of the session in each store."""


class NoView(LookupError):
    """A session has nothing for a maker, such as no recorded summary."""


def view(maker: str, session: Session, store: Path) -> str:
    """Return what a maker shows of a session, as text. Ours leaves its store at `store`, for `recall`.

    Raises:
        NoView: the session has none.
        ValueError: there is no such maker.
    """
    first, _, rest = maker.partition("+")
    shown = _summary(session) if first == "summary" else _messages(first, session, store)
    return f"{shown}\n\n{view(rest, session, store)}" if rest else shown


def _summary(session: Session) -> str:
    if not session.summary:
        raise NoView("no summary is recorded")
    return written({"role": "user", "content": f"Summary of the earlier conversation:\n{session.summary}"})


def _messages(maker: str, session: Session, store: Path) -> str:
    if (name := _NAME.fullmatch(maker)) is None:
        raise ValueError(f"no maker is named {maker!r}; see benchmarks/handover/makers.py")
    budget = int(name[2]) * 1_000
    chosen = ours(session.messages, budget, name[3], store) if name[1] == "ours" else newest(session.messages, budget)
    if not chosen:
        raise NoView("the newest message is too long")
    return "\n\n".join(map(written, chosen))


def ours(messages: Sequence[Message], budget: int, mode: str | None, store: Path) -> Sequence[Message]:
    """Return our view at the end of a session that ran as an agent runs it: with a view before each answer."""
    for left in store.parent.glob(f"{store.name}*"):
        left.unlink()
    options: dict[str, Any] = {"mode": mode} if mode else {}
    with ContextManager(budget=budget, store=f"sqlite:///{store}", session=SESSION, **options) as manager:
        for message in messages:
            if message["role"] == "assistant":
                manager.get_messages_for_request()
            manager.append(message)
        return list(manager.get_messages_for_request())


def newest(messages: Sequence[Message], budget: int) -> list[Message]:
    """Return the newest messages that fit into a budget. None of them is the result of a call that does not fit."""
    room, start = budget, len(messages)
    while start and (room := room - of_message(messages[start - 1])) >= 0:
        start -= 1
    while start < len(messages) and messages[start]["role"] == "tool":
        start += 1
    return list(messages[start:])


def written(message: Message) -> str:
    """Write a message as readers see it."""
    content = message.get("content")
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False) if content else ""
    calls = "".join(f"\n<call {known[-6:]} {name}({arguments})>" for known, name, arguments in calls_of(message))
    about = f" (result of {message['tool_call_id'][-6:]})" if message["role"] == "tool" else ""
    return f"=== {message['role']}{about}\n{text}{calls}"


def recall(maker: str, store: Path, words: Sequence[str]) -> str:
    """Return what the tool `recall` answers a session of ours that sees its view: for words, or for a reference behind
    `--ref`, such as 3-17, and the offset of a further page.

    Raises:
        ValueError: no maker of ours has this name.
    """
    name = _NAME.fullmatch(maker)
    if name is None or name[1] != "ours":
        raise ValueError(f"{maker!r} has no tool")
    options: dict[str, Any] = {"mode": name[3]} if name[3] else {}
    with ContextManager(budget=int(name[2]) * 1_000, store=f"sqlite:///{store}", session=SESSION, **options) as manager:
        manager.get_messages_for_request()
        _, run = manager.recall_tool()
        if words[0] != "--ref":
            return run(query=" ".join(words))
        return run(ref=words[1], offset=int(words[2]) if words[2:] else None)


def size(text: str) -> int:
    """Return the tokens of a view."""
    return tokens(text)
