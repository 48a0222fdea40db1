"""Where a session was when it ended, for a model that continues its work."""

from collections.abc import Sequence
from typing import Any

from backscroll.errors import ConfigurationError
from backscroll.integrations.mcp import answers
from backscroll.integrations.mcp.archive import Archive
from backscroll.integrations.mcp.indexed_session import IndexedSession
from backscroll.integrations.mcp.tools import QUOTED, described
from backscroll.messages import read_message

_LEAST = 4  # tokens of a message at least: its role, a colon, a word and what separates it from the next
DESCRIPTION = "Continue where an earlier session ended."


def continued(archive: Archive, name: str, most: int, count: answers.Count) -> str:
    """Return the newest digest of a session and its newest messages, in at most so many tokens.

    Args:
        archive: the sessions.
        name: the session. Empty: the newest that is neither the running one nor a sub-agent.
        most: tokens at most.
        count: counts tokens.

    Raises:
        ConfigurationError: There is no such session.
    """
    archive.refresh()
    chosen = archive.session(name) if name else _newest(archive)
    with archive.read(chosen.name) as reader:
        view = [text for message in reader.ending(most // _LEAST) if (text := _said(message))]
    about = answers.cut(described(chosen), most // 4, count)
    head = f"Continue the work of this session: {about}. {QUOTED}"
    foot = f"Read more of it with the tool read: {answers.call('read', {'session': chosen.name})}"
    room = most - count(head) - count(foot)
    while True:
        answer = "\n".join([head, answers.quotation(_end_of(view, room, count)), foot])
        if count(answer) <= most or room <= 1:
            return answer
        room = room * 9 // 10


def _end_of(view: Sequence[str], room: int, count: answers.Count) -> str:
    """Return the newest digest and the newest messages of a view, about so many tokens."""
    digest = next((text for text in reversed(view) if "<summary>" in text), "")
    kept = [answers.cut(digest, room // 2, count)] if digest else []
    room -= sum(count(text) + 2 for text in kept)
    newest: list[str] = []
    for text in reversed(view):
        if text == digest:
            continue
        shown = text if count(text) <= room else answers.cut(text, room, count) if not newest else ""
        if not shown:
            break
        newest.insert(0, shown)
        room -= count(shown) + 2
    return "\n\n".join([*kept, *newest])


def _newest(archive: Archive) -> IndexedSession:
    sessions = archive.sessions()
    running = archive.running(sessions)
    chosen = next(
        (each for each in sessions if each.name != running and not (each.facts.parent or each.facts.single)), None
    )
    if chosen is None:
        raise ConfigurationError("there is no earlier session to continue")
    return chosen


def _said(message: dict[str, Any]) -> str:
    reading = read_message(message)
    texts = [part.readable for part in reading.parts if part.readable]
    return f"{reading.role}: {' '.join(texts)}" if texts else ""
