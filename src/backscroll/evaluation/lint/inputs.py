"""Values of a file to conversations: requests as sent, chained by what they share, or transcripts."""

from bisect import bisect
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from backscroll.evaluation.lint.request import Request, is_body, read_body
from backscroll.evaluation.lint.same import first_difference
from backscroll.evaluation.lint.talk import Talk, Usage
from backscroll.evaluation.readers import Records, load, transcripts
from backscroll.evaluation.transcript import bad
from backscroll.messages import SYSTEM_ROLES

_ALIKE = 0.5  # share of two texts that equal ends make up if one is the other with an edit

_COUNTS = ("cache_read_input_tokens", "cache_creation_input_tokens", "input_tokens")


def talks_of(source: Path | bytes | BinaryIO, name: str | None = None) -> list[Talk]:
    """Return the conversations of a file: each transcript, or the requests of each conversation.

    A file of request bodies, one object or one a line in the order sent, holds requests. Every other file is read as
    `backscroll replay` reads it.

    Raises:
        TranscriptError: The file is neither; the error names file and line.
    """
    name = name or (str(source) if isinstance(source, Path) else "input")
    records = load(source, name)
    values = [record.value for record in records.all]
    if len(values) == 1 and isinstance(values[0], list) and values[0]:
        values = values[0]
    if all(map(is_body, values)):
        talks = chained([read_body(body, number, name) for number, body in enumerate(values, 1)], name)
        if not any(request.messages for talk in talks for request in talk.requests):
            raise bad(name, "holds no messages")
        return talks
    found = transcripts(records, name)
    own = values if len(values) == len(found) else [None] * len(found)
    return [
        Talk(
            each.name,
            each.messages,
            recorded=_recorded(records, each.began),
            compacted=_compacted(records, each.began) if each.began else _noted(value),
        )
        for each, value in zip(found, own, strict=True)
    ]


def chained(requests: Sequence[Request], name: str) -> list[Talk]:
    """Return a conversation for each run of requests that continue each other; requests of several may alternate."""
    chains: list[list[Request]] = []
    for request in requests:
        related = [chain for chain in chains if _continues(chain[-1], request)]
        if related:
            max(related, key=lambda chain: _shared(chain[-1], request)).append(request)
        else:
            chains.append([request])
    names = [name if len(chains) == 1 else f"{name}#{number}" for number in range(1, len(chains) + 1)]
    return [Talk(own, requests=chain) for own, chain in zip(names, chains, strict=True)]


def _continues(before: Request, after: Request) -> bool:
    """Return whether a request belongs to the conversation of an earlier one: for the same model, with a like system
    prompt, and with the same first message or half of its messages. A first message that is only alike may be the
    template of many tasks.
    """
    if (before.model, before.shape) != (after.model, after.shape) or not before.messages or not after.messages:
        return False
    (prompt, *olds), (prompted, *news) = _opened(before), _opened(after)
    if not _alike(prompt, prompted):
        return False
    if olds[0] == news[0]:
        return True
    both = set(olds) & set(news)
    return 2 * len(both) >= min(len(olds), len(news)) and any(map(_long, both))


def _opened(request: Request) -> list[str]:
    """Return the system prompt, inside and outside the messages, and each other message; at least one."""
    rest = (at for at, message in enumerate(request.messages) if message.get("role") not in SYSTEM_ROLES)
    at = next(rest, 0)
    return [request.system_key + "".join(request.message_keys[:at]), *request.message_keys[at:]]


def _shared(before: Request, after: Request) -> tuple[int, int]:
    """Return how many messages two requests share at their beginning, and in all."""
    equal = [a == b for a, b in zip(before.message_keys, after.message_keys, strict=False)]
    return (equal.index(False) if False in equal else len(equal)), len({*before.message_keys} & {*after.message_keys})


def _long(text: str) -> bool:
    return len(text) >= 100  # a short one, such as "Go on.", occurs in many conversations


def _alike(before: str, after: str) -> bool:
    if before == after:
        return True
    start = first_difference(before, after)
    rest = min(len(before), len(after)) - start
    end = first_difference(before[::-1][:rest], after[::-1][:rest])
    return start + end >= _ALIKE * max(len(before), len(after))


def _compacted(records: Records, began: Sequence[int]) -> list[int]:
    """Return before which messages the client of a log compacted."""
    places = [at for at, record in enumerate(records.all) if _is_compaction(record.value)]
    return sorted({bisect(began, place) for place in places} - {0, len(began)})


def _is_compaction(line: Any) -> bool:
    """Return whether a line is the summary of Claude Code or the note of Codex."""
    return isinstance(line, dict) and (line.get("isCompactSummary") is True or line.get("type") == "compacted")


def _noted(value: Any) -> list[int]:
    """Return what a saved conversation says itself: `"compactions": [{"at": 122}]`, with the first message behind."""
    noted = value.get("compactions") if isinstance(value, dict) else None
    places = [each.get("at") for each in noted if isinstance(each, dict)] if isinstance(noted, list) else []
    return sorted({at for at in places if type(at) is int})


def _recorded(records: Records, began: Sequence[int]) -> list[Usage | None]:
    """Return what a log of Claude Code says about the request behind each message."""
    return [_usage(records.all[at].value) for at in began]


def _usage(line: Any) -> Usage | None:
    message = line.get("message") if isinstance(line, dict) else None
    used = message.get("usage") if isinstance(message, dict) else None
    if not isinstance(used, dict) or not isinstance(line.get("timestamp"), str):
        return None
    try:
        seconds = datetime.fromisoformat(line["timestamp"]).timestamp()
    except ValueError:
        return None
    read, written, rest = (_count(used.get(name)) for name in _COUNTS)
    by_life = used.get("cache_creation")
    hour = isinstance(by_life, dict) and _count(by_life.get("ephemeral_1h_input_tokens")) > 0
    return Usage(
        seconds=seconds, read=read, written=written, prompt=read + written + rest, life=3600.0 if hour else 300.0
    )


def _count(value: Any) -> int:
    return value if type(value) is int and value >= 0 else 0
