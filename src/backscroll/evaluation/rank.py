"""A judge of rank: who may say what in a view. Nothing loses its rank by a compaction, and nothing gains one.

The words of system and developer messages stay whole, under their role or as a line `system:` of a digest. What a line
of a digest calls a rule of the user was typed by the user, and so was what it quotes as the user's. It uses no code of
the library.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

from backscroll.evaluation.dialects import Message, Shape
from backscroll.evaluation.odd_parts import all_texts, frame_of, plain, said_in

Speaker = Literal["system", "user", "inserted", "assistant", "tool"]
"""Who said a message. `inserted`: by the role `user`, but typed by no person: hooks, templates, observations."""

_LABEL = r"(rule of the user|user|system|developer)(?: \([^)\n]*\)| \S{1,40})?: "
_LINE = re.compile(rf"^[ \t]*(?:\[ref:[^\]\n]*\] ?)?{_LABEL}(.*)$", re.MULTILINE)
_DIGEST = re.compile(r"<summary>.*?</summary>", re.DOTALL)
_WRAPPED = re.compile(r"<([a-z][\w-]*)\b[^>\n]*>.*?</\1>|^(```|~~~).*?^\2", re.DOTALL | re.MULTILINE)
_SKILL = "Base directory for this skill"
_CUT = re.compile(r"…|\.\.\.|\[\.\.\.|\[ref:|\(ref:")
_ENOUGH = 16  # letters that identify words


class RankCase:
    """A view and its history, and who said each message."""

    def __init__(
        self, view: Sequence[Message], history: Sequence[Message], speakers: Sequence[Speaker], evicted: Collection[int]
    ) -> None:
        self.view: list[Shape] = [piece for message in view for piece in Shape(message).pieces]
        self.history: Sequence[Message] = history
        self.speakers: Sequence[Speaker] = speakers
        self.evicted: Collection[int] = evicted

    @cached_property
    def digests(self) -> str:
        """The texts of all digests."""
        texts = [text for message in self.view for text in all_texts(message.held) if "<summary>" in text]
        return "\n".join(found for text in texts for found in _DIGEST.findall(text))

    @cached_property
    def lines(self) -> list[tuple[str, str]]:
        """What digests quote, as label and words."""
        return [(found[1], found[2]) for found in _LINE.finditer(self.digests)]

    @cached_property
    def system_words(self) -> str:
        """Everything that the view says as a system or developer message."""
        return "\n".join(plain(text) for message in self.view if message.is_system for text in all_texts(message.held))

    def words_of(self, *speakers: Speaker) -> str:
        """Return the words of these speakers in the history, for comparisons."""
        return "\n".join(
            plain(text)
            for message, speaker in zip(self.history, self.speakers, strict=True)
            for who in _speakers_in(message, speaker)
            if who in speakers
            for text in _said(message, who)
        )

    def own_texts(self, role: str) -> Iterator[tuple[int, str]]:
        """Yield what the view says under a role by itself: no digest, no framed result."""
        for at, message in enumerate(self.view):
            for text in [message.text] if message.role == role else ():
                left = _DIGEST.sub("", text)
                if frame_of(left) is None:
                    yield at, left


class RankRule(NamedTuple):
    """One way to lose or to gain a rank."""

    name: str
    check: Callable[[RankCase], Iterator[str]]


def _system_lost(case: RankCase) -> Iterator[str]:
    quoted = "\n".join(plain(words) for label, words in case.lines if label in ("system", "developer"))
    for at, (message, speaker) in enumerate(zip(case.history, case.speakers, strict=True)):
        words = plain(Shape(message).text)
        if speaker == "system" and at not in case.evicted and words not in case.system_words and words not in quoted:
            yield f"history[{at}], a {message.get('role')} message, has lost its words or its rank"


def _user_lost(case: RankCase) -> Iterator[str]:
    """Check that no words of the user are shown as another's."""
    for role, label in (("assistant", "assistant"), ("system", "system"), ("developer", "system")):
        others = case.words_of("assistant" if label == "assistant" else "system", "tool", "inserted")
        for at, text in case.own_texts(role):
            words = plain(text)
            for said in _typed(case):
                if _found(said, words) and not _found(said, others):
                    yield f"view[{at}]: words of the user as those of the {label}"


def _rule_gained(case: RankCase) -> Iterator[str]:
    """Check that what a digest calls the user's was typed by the user."""
    typed = case.words_of("user")
    for label, words in case.lines:
        own = plain(_CUT.split(words)[0])
        if label in ("user", "rule of the user") and own and own not in typed and not _found(own, typed):
            yield f"a digest quotes as {label}: {words[:60]!r}, which the user did not type"


def _system_gained(case: RankCase) -> Iterator[str]:
    """Check that nothing but a system message is shown as one. A system prompt may come from elsewhere."""
    system = case.words_of("system")
    others = [said for speaker in ("user", "inserted", "assistant", "tool") for said in _each(case, speaker)]
    found = case.system_words + "\n".join(plain(words) for label, words in case.lines if label == "system")
    for said in others:
        if len(said) >= _ENOUGH and said in found and said not in system:
            yield f"words of no system message have the rank of one: {said[:60]!r}"


def _user_gained(case: RankCase) -> Iterator[str]:
    """Check that no answer and no result is shown as the user's own words. A framed result says what it is."""
    own = case.words_of("user", "inserted", "system")
    for at, text in case.own_texts("user"):
        words = plain(text)
        for said in (*_each(case, "assistant"), *_each(case, "tool")):
            if len(said) >= _ENOUGH and said in words and said not in own:
                yield f"view[{at}]: words of the user that another said: {said[:60]!r}"


RULES: tuple[RankRule, ...] = (
    RankRule("system-lost", _system_lost),
    RankRule("user-lost", _user_lost),
    RankRule("rule-gained", _rule_gained),
    RankRule("system-gained", _system_gained),
    RankRule("user-gained", _user_gained),
)
"""All rules of rank."""


def rank_problems(
    view: Sequence[Message],
    history: Sequence[Message],
    *,
    speakers: Sequence[Speaker] | None = None,
    evicted: Collection[int] = (),
    rules: Sequence[RankRule] = RULES,
) -> list[str]:
    """Return which words of a view have lost or gained rank, one line each; empty if none have.

    Args:
        view: The messages of a request.
        history: All messages, in order.
        speakers: Who said each message of the history. `None`: its role says, its `metadata` (`kind`, `source`,
            `ephemeral`), and for parts of a user's message their wrappers.
        evicted: Indexes of system messages that an event named as evicted, because they alone are too long.
        rules: What is judged. A test may leave one out.
    """
    said_by = [speaker_of(message) for message in history] if speakers is None else speakers
    case = RankCase(view, history, said_by, evicted)
    return [line for rule in rules for line in rule.check(case)]


def speaker_of(message: Message) -> Speaker:
    """Return who said a message, by its role and its metadata."""
    role, metadata = message.get("role"), message.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    if role in ("system", "developer"):
        return "system"
    if role in ("assistant", "model"):
        return "assistant"
    if role != "user" or Shape(message).results:
        return "tool"
    is_inserted = metadata.get("source") == "hook" or metadata.get("ephemeral") is True
    return "inserted" if is_inserted or metadata.get("kind", "typed") != "typed" else "user"


def typed_in(text: str) -> str:
    """Return what a person typed of a user's text: no wrappers of clients, no fenced blocks, no text of a skill."""
    return "" if text.startswith(_SKILL) else _WRAPPED.sub("\n", text)


def _said(message: Message, speaker: Speaker) -> list[str]:
    shape = Shape(message)
    if speaker == "user":
        return [typed_in(shape.text)]
    if speaker == "tool":
        answers = [text for _, content in shape.answers for text in said_in(content)]
        return answers if shape.answers or message.get("role") == "tool" else [shape.text]
    return [shape.text]


def _each(case: RankCase, speaker: Speaker) -> list[str]:
    return [
        plain(text)
        for message, found in zip(case.history, case.speakers, strict=True)
        if speaker in _speakers_in(message, found)
        for text in _said(message, speaker)
    ]


def _speakers_in(message: Message, speaker: Speaker) -> tuple[Speaker, ...]:
    """Return who speaks in a message: next to results in blocks, the user may say something as well."""
    by_both = speaker == "tool" and message.get("role") == "user" and Shape(message).answers and Shape(message).text
    return ("tool", "user") if by_both else (speaker,)


def _typed(case: RankCase) -> list[str]:
    return [said for said in _each(case, "user") if len(said) >= _ENOUGH]


def _found(said: str, words: str) -> bool:
    """Return whether words hold the beginning of what was said."""
    return said[: 2 * _ENOUGH] in words
