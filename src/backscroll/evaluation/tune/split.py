"""Splits transcripts into two halves by conversation, so that nothing of what judges was seen by what chose.

Two transcripts are one conversation if one continues, copies or serves the other:

- a session of Claude Code and its sub-agents, in one file or in the folder `subagents`;
- the same beginning, up to the first answer of the model: a fork, a resumed session, a second recording;
- a long answer of the model in common, word for word: a fork whose beginning was compacted away.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from backscroll.errors import ConfigurationError
from backscroll.evaluation.compare.jobs import Source
from backscroll.evaluation.facts import readable_text
from backscroll.evaluation.transcript import Message, Transcript, is_answer

LEAST = 6
"""Conversations that each half needs. Of five that differ by chance alone, all would point the same way too often."""
_LONG = 200  # characters of an answer that two conversations do not share by chance
_SIDE = "#side-"
_SUBAGENTS = "subagents"


@dataclass(frozen=True, slots=True)
class Conversation:
    """A session with its sub-agents, forks and copies."""

    sources: tuple[Source, ...]
    fingerprint: str
    """By its content: the same for the same transcripts at another place."""

    @property
    def requests(self) -> int:
        """Return the number of requests of a replay."""
        return sum(source.requests for source in self.sources)


class Halves(NamedTuple):
    """Conversations that options are chosen by, and those that judge the choice."""

    training: list[Conversation]
    held_out: list[Conversation]


def halves(conversations: Sequence[Conversation], seed: int) -> Halves:
    """Split conversations by chance, so that both halves have long and short ones.

    Conversations of similar length are paired, and `seed` decides which of a pair is held out. The order of the
    conversations and the names of their files have no influence.

    Raises:
        ConfigurationError: There are fewer conversations than two halves need.
    """
    if len(conversations) < 2 * LEAST:
        raise ConfigurationError(
            f"found {len(conversations)} conversations, but at least {2 * LEAST} are needed: half of them to choose "
            "options by, half to judge the choice (sub-agents, forks and copies belong to their conversation)"
        )
    ordered = sorted(conversations, key=lambda one: (-one.requests, one.fingerprint))
    split = Halves([], [])
    for first, second in zip(ordered[::2], ordered[1::2], strict=False):
        coin = _hash([str(seed), first.fingerprint, second.fingerprint])
        pair = (first, second) if int(coin, 16) % 2 else (second, first)
        split.training.append(pair[0])
        split.held_out.append(pair[1])
    if len(ordered) % 2:
        split.training.append(ordered[-1])
    return split


def conversations_of(sources: Iterable[Source]) -> list[Conversation]:
    """Read the transcripts and put together what is one conversation. Raises `TranscriptError` if a file changed."""
    ordered = sorted(sources, key=lambda source: (source.path, source.number))  # each file is read once
    prints = dict[Source, str]()
    groups = _Groups()
    for source in ordered:
        transcript = source.load()
        prints[source] = _hash(map(readable_text, transcript.messages))
        groups.add(source, _marks(source, transcript))
    return [
        Conversation(tuple(members), _hash(sorted(prints[member] for member in members))) for members in groups.found()
    ]


def _marks(source: Source, transcript: Transcript) -> Iterator[str]:
    """Yield what only transcripts of one conversation have in common."""
    path = Path(os.path.abspath(source.path))
    if path.parent.name == _SUBAGENTS:
        yield f"session {path.parent.parent}"
    elif _SIDE in source.name or source.number == 0:
        yield f"session {path.with_suffix('')}"
    yield from _said(transcript.messages)


def _said(messages: Sequence[Message]) -> Iterator[str]:
    texts = [readable_text(message) for message in messages]
    answers = [at for at, message in enumerate(messages) if is_answer(message)]
    if answers:
        yield f"beginning {_hash(texts[: answers[0] + 1])}"
    for at in answers:
        if len(texts[at]) >= _LONG:
            yield f"answer {_hash([texts[at]])}"


def _hash(texts: Iterable[str]) -> str:
    found = sha256()
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        found.update(b"%d " % len(data))
        found.update(data)
    return found.hexdigest()


class _Groups:
    """Sources joined by what they have in common."""

    def __init__(self) -> None:
        self._by_mark: dict[str, Source] = {}
        self._leader: dict[Source, Source] = {}

    def add(self, source: Source, marks: Iterable[str]) -> None:
        self._leader[source] = source
        for mark in marks:
            known = self._by_mark.setdefault(mark, source)
            self._leader[self._first(source)] = self._first(known)

    def _first(self, source: Source) -> Source:
        while self._leader[source] != source:
            source = self._leader[source]
        return source

    def found(self) -> list[list[Source]]:
        groups: dict[Source, list[Source]] = {}
        for source in self._leader:
            groups.setdefault(self._first(source), []).append(source)
        return list(groups.values())
