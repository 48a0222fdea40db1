"""The words of the messages that a summary covers, each with its positions.

It takes one pass over the texts. A lookup then costs as much as its rarest word has positions, up to a bound.
"""

import json
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from backscroll.compaction.sampling import READ, sampled
from backscroll.compaction.verification.wording import WORD, Meant, meant, plain, root, tidy
from backscroll.history.history import Entry
from backscroll.messages import Part

MOST_PLACES = 4_000  # positions of the rarest word that are examined
_NEAR = 40  # words around a number that must include one of its sentence
_NUMBER = re.compile(r"\d{1,3}(?:[,_'\u00a0 ]\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n+")
_TOGETHER = 3  # consecutive sentences of a user that may support a claim together
_ESCAPES = re.compile(r"\\[nrt\"]")
_ANSWER = 1_200  # characters at the end of an assistant's text that a user's yes refers to
_LOOKED_THROUGH = 4 * READ  # of one text: anything not found is removed, so more is read than elsewhere


class Evidence:
    """Texts of messages, grouped, and what users typed."""

    def __init__(
        self, groups: Iterable[Sequence[Entry]], others: Iterable[str] = (), users: Iterable[str] = ()
    ) -> None:
        """Index the texts. `others`: texts of earlier messages; `users`: what users wrote in these."""
        self._users: list[tuple[str, str]] = [("", text) for text in users]
        """Pairs of the preceding question and what the user typed."""
        texts: list[str] = []
        before = ""
        for group in groups:
            texts.append("\n\n".join(text for entry in group for part in entry.reading.parts for text in _texts(part)))
            for entry in group:
                if entry.reading.is_user_turn and (typed := entry.reading.typed):
                    self._users.append((before[-_ANSWER:], sampled(typed, _LOOKED_THROUGH)))
                elif entry.reading.role == "assistant":
                    before = "\n".join(part.text for part in entry.reading.parts if part.kind == "text")
        texts = [plain(text) for text in (*texts, *others, *(text for _, text in self._users))]
        self._text = "\n\n".join(texts)
        self._bounds = [0]
        for text in texts:
            self._bounds.append(self._bounds[-1] + len(text) + 2)
        self._words: list[str] = []
        self._starts: list[int] = []
        self._where: defaultdict[str, list[int]] = defaultdict(list)
        for found in WORD.finditer(self._text):
            self._where[found[0]].append(len(self._words))
            self._words.append(found[0])
            self._starts.append(found.start())

    def _places(self, words: Sequence[str]) -> Iterator[int]:
        """Yield the number of the first word of each place where these words are consecutive."""
        places = [self._where.get(word, []) for word in words]
        at = min(range(len(words)), key=lambda number: len(places[number]))
        for place in places[at][:MOST_PLACES]:
            start = place - at
            if start >= 0 and self._words[start : start + len(words)] == words:
                yield start

    def says(self, phrase: str) -> bool:
        """Return whether the texts contain these words in a row, with any signs between them."""
        words = WORD.findall(plain(phrase))
        return not words or any(True for _ in self._places(words))

    def names(self, name: str, *, alone: bool = False) -> list[int]:
        """Return the groups that contain a name literally. A path also matches by its beginning, and by its end unless
        `alone`.
        """
        name = plain(name)
        spans = [found.span() for found in WORD.finditer(name)]
        if not spans:
            return [-1]
        lead = len(name[: spans[0][0]]) - len(name[: spans[0][0]].rstrip("_"))
        core = name[spans[0][0] - lead : spans[-1][1]]
        found: list[int] = []
        for place in self._places([name[start:end] for start, end in spans]):
            begin = self._starts[place] - lead
            end = begin + len(core)
            around = self._text[max(0, begin - 2) : begin], self._text[end : end + 1]
            if self._text[begin:end] == core and _ends(*around) and not (alone and around[0][-1:] == "/"):
                found.append(bisect_right(self._bounds, begin))
        return found

    def together(self, names: Sequence[str]) -> bool:
        """Return whether one group contains these names, the last of them not as the end of a path."""
        groups = [set(self.names(name, alone=name is names[-1])) for name in names]
        return bool(set.intersection(*groups))

    @cached_property
    def _numbers(self) -> dict[float, list[int]]:
        found: defaultdict[float, list[int]] = defaultdict(list)
        for number in _NUMBER.finditer(self._text):
            start, end = number.span()
            if not (self._text[start - 1 : start].isalpha() and self._text[end : end + 1].isalnum()):  # of no hash
                found[as_number(number[0])].append(start)
        return found

    def counts(self, value: float, precise: int, stems: set[str]) -> bool:
        """Return whether a text has this number, or one that rounds to it at so many decimals, near a word of the
        sentence.
        """
        places = self._numbers.get(value, [])
        if not places:
            places = [at for known, there in self._numbers.items() if round(known, precise) == value for at in there]
        if len(places) > MOST_PLACES or not stems:
            return bool(places)
        return any(self._is_near(place, stems) for place in places)

    def _is_near(self, start: int, stems: set[str]) -> bool:
        at = bisect_left(self._starts, start)
        return any(root(word) in stems for word in self._words[max(0, at - _NEAR) : at + _NEAR])

    # -- what users said --

    @cached_property
    def _statements(self) -> list[dict[str, int]]:
        """The statements of users, a few sentences each: what they say of each word."""
        found: list[dict[str, int]] = []
        for before, text in self._users:
            sentences = [tidy(sentence) for sentence in _SENTENCE.split(text) if sentence.strip()]
            starts = range(max(1, len(sentences) - _TOGETHER + 1))
            found += [_statement(sentences[at : at + _TOGETHER]) for at in starts]
            if before and "yes" in found[-1] and len(text) < _ANSWER:
                found.append(_statement([tidy(before), *sentences]))
        return found

    def supports(self, claimed: Sequence[Meant]) -> bool:
        """Return whether a user said this: all of it in a few sentences, or each part of it somewhere."""
        if not claimed or any(_holds(statement, claimed) for statement in self._statements):
            return True
        parts: defaultdict[int, list[Meant]] = defaultdict(list)
        for word in claimed:
            parts[word.part].append(word)
        return len(parts) > 1 and all(
            any(_holds(statement, part) for statement in self._statements) for part in parts.values()
        )

    def quotes(self, phrase: str) -> bool:
        """Return whether a user typed these words in a row."""
        words = " ".join(WORD.findall(plain(phrase)))
        return any(f" {words} " in text for text in self._typed)

    @cached_property
    def _typed(self) -> list[str]:
        return [f" {' '.join(WORD.findall(plain(text)))} " for _, text in self._users]


def as_number(text: str) -> float:
    """Parse a number without its thousands separators."""
    return float(re.sub(r"[^\d.]", "", text))


def _statement(sentences: Iterable[str]) -> dict[str, int]:
    said: defaultdict[str, int] = defaultdict(int)
    for sentence in sentences:
        for word in meant(sentence):
            said[word.stem] |= word.says
    return said


def _holds(statement: dict[str, int], claimed: Sequence[Meant]) -> bool:
    """Return whether a statement contains the claim: of six words one may be missing, unless it is a firm one."""
    missing = [word for word in claimed if not statement.get(word.stem, 0) & word.says]
    return len(missing) <= len(claimed) // 6 and not any(word.firm for word in missing)


def _ends(before: str, after: str) -> bool:
    """Return whether a name ends here on both sides."""
    if after and (after.isalnum() or after == "_"):
        return False
    if before[-1:].isalnum() or before[-1:] == "_":
        return False
    return not (before[-1:] == "-" and before[:1].isalnum() and len(before) > 1)


def _texts(part: Part) -> Iterator[str]:
    if part.kind in ("reasoning", "opaque"):
        return
    if part.kind != "call":
        text = sampled(part.text, _LOOKED_THROUGH)
        yield text
        if _ESCAPES.search(text):
            yield _ESCAPES.sub("\n", text)
        return
    yield part.name or ""
    if len(part.text) > _LOOKED_THROUGH:
        yield sampled(part.text, _LOOKED_THROUGH)
        return
    try:
        yield from _values(json.loads(part.text))
    except (ValueError, RecursionError):
        yield part.text


def _values(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _values(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _values(inner)
    else:
        yield str(value)
