"""Write a digest from the facts of folded messages and of the previous digest, chosen to fit an allowance.

The user's words and rules come first, then one line per turn, then whole lines of the folded messages, chosen by what
they mention. The oldest turn lines merge into ranges; lines that an edit removed are dropped. Lines without room are
kept aside, up to a bound, for later digests.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from math import ceil
from operator import itemgetter
from typing import NamedTuple

from backscroll.compaction.digest.line_selection import FRAME, Candidate, cover, ranked
from backscroll.compaction.digest.notes import TurnFacts, newest_ranked
from backscroll.compaction.digest.outdated import is_talk, outdated, still_contradicting, without_outdated
from backscroll.compaction.digest.relevance import SHOWN, Line, Relevance, discounted, removed_in
from backscroll.compaction.digest.repeated import without_repeated
from backscroll.compaction.digest.squeezing import BY_USERS, OF_RANKED, squeeze_rules, strength_of
from backscroll.compaction.digest.stale_lines import fingerprint
from backscroll.compaction.digest.tallies import SAID_ONCE, merged, tally
from backscroll.compaction.digest.terms import specific_words
from backscroll.compaction.digest.user_rules import rules_of, same_rule
from backscroll.history.history import Entry
from backscroll.history.plan import LINES, RANKED, DigestContent, DigestLine
from backscroll.messages.statements import Sentence, sentences_of
from backscroll.view.rendering import note_text, note_texts

HEADINGS = 0.55  # of a digest for users' words and turns, the rest is for lines
IN_A_TALK = 0.9  # the same where no tool was called: then what the user said is what there is
HELD = 0.25  # of headings for words that replace what the view shows word for word
WITH_PROSE = 0.35  # of a digest for users' words and turns next to a model's summary, at the expense of lines
RESERVE_LINES, MOST_RESERVE = 0.05, 250  # lines kept aside without room: per token of the budget, and at most
WEIGHTS, MOST_WEIGHTS = 0.12, 2_000  # words whose weight is kept, likewise
MOST_REMOVED = 1_000  # lines that edits removed: about 12 bytes each in a stored plan
ERROR = 20.0  # weight of an error on top of its words: five mentions by the agent
_CHARACTERS = 3.2  # per token of a line, before it is counted
_OFTEN_SHORTER = 1.4  # how many more tokens of lines are chosen by that figure: plain words have 4.5 characters a token
MOST_SQUEEZED = 100  # users' words without room that are kept aside
MOST_PROSE = 0.6  # of a digest that a model's summary takes at most; no more than two fifths are requested


class Frame(NamedTuple):
    """The surroundings of a digest."""

    salience: Relevance
    kept: Sequence[Sequence[Entry]]
    """The groups that the view shows next to it."""
    allowance: int
    """Tokens that it may take."""
    budget: int
    """Tokens of the whole view, which bound what is kept aside."""
    tokens: Callable[[str], int]


class Said(NamedTuple):
    """The text of a digest's headings, and the weighty words that it lacks."""

    text: str
    unsaid: set[str]

    def holds(self, line: str) -> bool:
        """Return whether the text contains the line whole, and not within a longer word. A line with a word of `unsaid`
        need not be searched.
        """
        if (at := self.text.find(line)) < 0:
            return False
        around = self.text[max(0, at - 1) : at], self.text[at + len(line) : at + len(line) + 1]
        return not any(end.isalnum() or end == "_" for end in around)


def write(
    before: DigestContent,
    groups: Sequence[Sequence[Entry]],
    covered: int,
    frame: Frame,
    prose: DigestLine | None = None,
    *,
    facts: Sequence[TurnFacts] | None = None,
) -> DigestContent:
    """Write the digest of `before` and of these groups.

    Args:
        before: The previous digest.
        groups: The groups to fold.
        covered: Tokens of everything that the new digest covers.
        frame: Its surroundings.
        prose: A model's new summary, in place of the previous one.
        facts: The lines of these groups, if they were read already.
    """
    frame = frame._replace(tokens=cache(frame.tokens))  # each stage measures the same texts again
    known = sorted([*before.notes, *before.reserve], key=_first)
    facts = [TurnFacts(group) for group in groups] if facts is None else facts
    headings = [note for note in known if note.kind not in LINES]
    headings = without_repeated([*headings, *(note for turn in facts for note in turn.headings)])
    headings = _in_short(headings, prose, int(frame.allowance * MOST_PROSE), frame.tokens)
    talk = without_tools(headings, facts)
    facts = [turn for turn in facts if not (talk and turn.by_user)]  # their words are headings
    lines = Lines([note for note in known if note.kind in LINES], facts, frame.salience)
    replaced = outdated(headings, frame.kept, lines.remarks() if talk else ())
    lines.leave_out(replaced)
    headings, squeezed = _fitting(headings, replaced, frame, talk=talk)
    kept, reserve = choose_lines(lines, headings, frame.allowance - taken(headings, frame.tokens), frame)
    notes = tuple(sorted([*headings, *kept], key=place))
    while kept and taken(notes, frame.tokens) > frame.allowance:  # a line between two headings may cost a reference
        kept.pop()
        notes = tuple(sorted([*headings, *kept], key=place))
    return content(before, groups, covered, frame, notes=notes, reserve=(*squeezed, *reserve))


def content(
    before: DigestContent,
    groups: Sequence[Sequence[Entry]],
    covered: int,
    frame: Frame,
    *,
    notes: tuple[DigestLine, ...],
    reserve: tuple[DigestLine, ...],
) -> DigestContent:
    """Return a digest of these lines, with what the next one needs to know of `before` and of these groups."""
    weights = frame.salience.heaviest(groups, before.weights, min(MOST_WEIGHTS, int(frame.budget * WEIGHTS)))
    return DigestContent(
        notes=notes, weights=weights, reserve=reserve, covered_tokens=covered, removed=_removed(before, groups)
    )


def _removed(before: DigestContent, groups: Sequence[Sequence[Entry]]) -> tuple[tuple[int, int], ...]:
    """Return the fingerprints of the lines that edits removed, the newest ones: a line of a result that is folded later
    than the edit must not come back.
    """
    removed = dict(before.removed)
    for line, seq in removed_in(groups).items():
        key = fingerprint(line)
        removed.pop(key, None)
        removed[key] = seq
    return tuple(sorted(removed.items(), key=itemgetter(1)))[-MOST_REMOVED:]


def _fitting(
    headings: Sequence[DigestLine], replaced: Mapping[Sentence, int], frame: Frame, *, talk: bool
) -> tuple[list[DigestLine], list[DigestLine]]:
    """Return the headings that hold and fit, and users' words and rules without room."""
    headings = list(without_outdated(headings, replaced, SAID_ONCE))
    most = _room_for(headings, frame, talk=talk)
    held = fit_headings(still_contradicting(headings, replaced, frame.kept), int(most * HELD), frame.tokens)[0]
    others = [note for note in headings if note not in held]
    stages = IN_TALK if talk else WITH_TOOLS
    fitting, squeezed = fit_headings(others, most - taken(held, frame.tokens), frame.tokens, stages)
    return sorted([*held, *fitting], key=place), [note for note in squeezed if note.kind not in RANKED]


def without_tools(headings: Iterable[DigestLine], facts: Iterable[TurnFacts]) -> bool:
    """Return whether no tool was called in all that a digest covers."""
    turns = [note.text for note in headings if note.kind == "turn"]
    return not any(turn.with_tools for turn in facts) and {"said"}.issuperset(tally(turns))


def _room_for(headings: Sequence[DigestLine], frame: Frame, *, talk: bool) -> int:
    """Return the tokens that headings may take. A summary longer than requested costs lines, not users' words."""
    if talk:
        return int(frame.allowance * IN_A_TALK)
    prose = sum(frame.tokens(note_text(note)) for note in headings if note.kind == "prose")
    return max(int(frame.allowance * HEADINGS), prose + int(frame.allowance * WITH_PROSE))


def _in_short(
    headings: Sequence[DigestLine], prose: DigestLine | None, room: int, tokens: Callable[[str], int]
) -> list[DigestLine]:
    """Put the newest summary that fits in place of the turns that it covers."""
    summaries = [note for note in headings if note.kind == "prose"] + ([prose] if prose else [])
    newest = max([note for note in summaries if tokens(note_text(note)) <= room], key=_last, default=None)
    others = [note for note in headings if note.kind != "prose"]
    if newest is None:
        return others
    return sorted([newest, *(note for note in others if note.kind != "turn" or note.last > newest.last)], key=place)


def _last(note: DigestLine) -> int:
    return note.last


_first = itemgetter(0)
"""Order of the conversation, if all are lines or none is."""


def place(note: DigestLine) -> tuple[int, bool]:
    """Return the order of a digest: a line follows the turn that it is from."""
    return note.first, note.kind in LINES


def _error(note: DigestLine) -> str:
    """Return the worth of an error, as a word that nothing else mentions."""
    return f"error {note.first}"


def _with_error(note: DigestLine, line: Line, weights: Mapping[str, float]) -> Line:
    words, _, weight = line
    return (*words, _error(note)), 1.0, weight + weights[_error(note)]


class Lines:
    """Lines that could be kept, each once at its last mention, without those that an edit removed since.

    A line of a message becomes a `DigestLine` only if it is kept, also aside: of hundreds, most are not.
    """

    def __init__(self, known: Sequence[DigestLine], facts: Iterable[TurnFacts], salience: Relevance) -> None:
        self._texts = [note.text for note in known]
        self._from: list[DigestLine | int] = [*known]  # the line that exists already, else the message's `seq`
        errors = [number for number, note in enumerate(known) if note.kind == "error"]
        for turn in facts:
            for seq, texts, error in turn.lines:
                self._texts += texts
                self._from += [seq] * len(texts)
                if error is not None:
                    errors.append(len(self._from))
                    self._texts.append(error.text)
                    self._from.append(error)
        newest = dict(zip(self._texts, range(len(self._texts)), strict=True))
        for text in list(newest) if salience.removes else ():
            if salience.stale(text, self._first(newest[text])):
                del newest[text]
        self.newest_first: list[int] = sorted(newest.values(), reverse=True)
        """Their numbers. Of equal lines the first is taken, so this is the order of choice."""
        self.texts: list[str] = [self._texts[number] for number in self.newest_first]
        """Their texts in the same order."""
        self.errors: dict[int, DigestLine] = {
            number: self.note(number) for number in errors if newest.get(self._texts[number]) == number
        }
        """Lines that say what went wrong, by their numbers."""

    def remarks(self) -> list[tuple[int, str]]:
        """Return them with the `seq`s of their messages."""
        return [(self._first(number), self._texts[number]) for number in self.newest_first]

    def leave_out(self, replaced: Mapping[Sentence, int]) -> None:
        """Leave out the lines with a sentence that no longer holds."""
        if not replaced:
            return
        seqs = {seq for seq, _ in replaced}  # few: other lines need not be split
        gone = {
            number
            for number, text in zip(self.newest_first, self.texts, strict=True)
            if (seq := self._first(number)) in seqs and any((seq, one) in replaced for one in sentences_of(text))
        }
        self.newest_first = [number for number in self.newest_first if number not in gone]
        self.texts = [self._texts[number] for number in self.newest_first]

    def _first(self, number: int) -> int:
        found = self._from[number]
        return found.first if isinstance(found, DigestLine) else found

    def neighbors(self, number: int) -> Iterator[int]:
        """Yield the numbers of the lines before and after one in its message, as far as they are known."""
        for near in (number - 1, number + 1):
            if 0 <= near < len(self._from) and self._first(near) == self._first(number):
                yield near

    def note(self, number: int) -> DigestLine:
        """Return one of them as a `DigestLine`."""
        found = self._from[number]
        return found if isinstance(found, DigestLine) else DigestLine(found, found, "line", self._texts[number])


def choose_lines(
    lines: Lines, others: Iterable[DigestLine], room: int, frame: Frame, *, since: int = 0
) -> tuple[list[DigestLine], list[DigestLine]]:
    """Choose lines within `room` tokens, and the best of those that are only kept aside.

    Args:
        lines: The lines.
        others: What the digest says already.
        room: Tokens of the chosen lines at most.
        frame: The digest's surroundings.
        since: The first number of a line that may be chosen; those before it can only be kept aside.
    """
    text = "\n".join(dict.fromkeys([note.text for note in others]))  # unique: it is searched for every line
    mentioned_words = frozenset(specific_words(text))
    weights = discounted(frame.salience.weights, frame.salience.shown(frame.kept, set()), mentioned_words)
    said = Said(text, weights.keys() - mentioned_words)
    weights |= {_error(note): ERROR * (SHOWN if note.text in text else 1) for note in lines.errors.values()}
    return _choose(lines, weights, said, room, frame, since=since)


def _choose(
    lines: Lines, weights: defaultdict[str, float], said: Said, room: int, frame: Frame, *, since: int
) -> tuple[list[DigestLine], list[DigestLine]]:
    """Choose lines that are not `said` yet, within `room` tokens, and the best of the others."""
    candidates: list[Candidate] = []
    numbers: list[int] = []
    aside: list[DigestLine] = []
    errors, unsaid = lines.errors, said.unsaid
    reading = frame.salience.read(lines.texts, weights)
    for number, text, line in zip(lines.newest_first, lines.texts, reading, strict=True):
        words, factor, weight = line if number not in errors else _with_error(errors[number], line, weights)
        if weight and unsaid.isdisjoint(words) and said.holds(text):
            aside.append(lines.note(number))
            continue
        tokens = ceil(len(text) / _CHARACTERS) + 2
        candidates.append((words, tokens, factor, factor * weight / (tokens + FRAME)))
        numbers.append(number)
    chosen: dict[int, DigestLine] = {}
    order = ranked(candidates)
    at_number = {number: at for at, number in enumerate(numbers) if number >= since}
    among = [at for at in order if numbers[at] >= since] if since else order

    def neighbors(at: int) -> Iterator[int]:
        for near in lines.neighbors(numbers[at]):
            if near in at_number:
                yield at_number[near]

    for at in cover(candidates, weights, int(room * _OFTEN_SHORTER), among, neighbors):
        note = lines.note(numbers[at])
        tokens = frame.tokens(note_text(note)) + 1
        if tokens <= room:
            room -= tokens
            chosen[at] = note
    most = max(0, min(MOST_RESERVE, int(frame.budget * RESERVE_LINES)) - len(aside))
    best = (lines.note(numbers[at]) for at in order if at not in chosen and candidates[at][3] > 0)
    reserve = sorted([*aside, *islice(best, most)], key=_first)
    return [chosen[at] for at in sorted(chosen, reverse=True)], reserve


Stage = Callable[[Sequence[DigestLine], int, Callable[[str], int]], list[DigestLine]]
"""Removes or merges headings until a number of tokens is free, which the third argument counts."""


def fit_headings(
    notes: Sequence[DigestLine], room: int, tokens: Callable[[str], int], stages: Sequence[Stage] | None = None
) -> tuple[list[DigestLine], list[DigestLine]]:
    """Fit users' words, rules and turn lines into `room` tokens; also return the words and rules left out.

    The oldest turns merge first. Then the oldest of users' words go, except their rules. Then turns merge across users'
    words, and then a model's summary goes. The weakest rules go only if rules alone exceed the room. `IN_TALK` has
    another order.
    """
    kept = _each_rule_once(newest_ranked(notes, int(room * OF_RANKED), lambda note: tokens(note_text(note)) + 1))
    gone: list[DigestLine] = []
    over = taken(kept, tokens) - room
    for stage in WITH_TOOLS if stages is None else stages:
        while over > 0:  # repeated if it freed less than expected, because a path is written in full only once
            after = _each_rule_once(stage(kept, over, tokens))
            if after == kept:
                break
            gone += _lost(kept, after)
            kept, over = after, taken(after, tokens) - room
    return kept, _strongest(gone, MOST_SQUEEZED)


def _strongest(notes: Sequence[DigestLine], most: int) -> list[DigestLine]:
    """Return the strongest rules and the newest words, in order: a rule that has no room now may have it later."""
    if len(notes) <= most:
        return list(notes)
    worth = {number: (strength_of(note) if note.kind == "rule" else 0) for number, note in enumerate(notes)}
    best = sorted(worth, key=lambda number: (worth[number], number))[-most:]
    return [notes[number] for number in sorted(best)]


def taken(notes: Sequence[DigestLine], tokens: Callable[[str], int]) -> int:
    """Return the tokens of lines in a summary."""
    return sum(map(tokens, note_texts(notes))) + len(notes)


def _lost(before: Sequence[DigestLine], after: Sequence[DigestLine]) -> list[DigestLine]:
    """Return users' words and system messages that left, and rules that no remaining words contain."""
    left = set(after)
    words = [note.text for note in after if note.kind in BY_USERS]
    gone = [note for note in before if note not in left and note.kind in (*BY_USERS, "pasted", *RANKED)]
    with_rules = [each for note in gone for each in ((note, *rules_of(note)) if note.kind == "user" else (note,))]
    return [each for each in with_rules if each.kind != "rule" or not any(each.text in text for text in words)]


def _each_rule_once(notes: Sequence[DigestLine]) -> list[DigestLine]:
    """Remove rules that the user's words contain anyway, or that the user repeated later."""
    notes = list(dict.fromkeys(notes))
    rules = [note for note in notes if note.kind == "rule"]
    if not rules:
        return notes
    newest = {(rule.by, same_rule(rule.text)): rule for rule in rules}
    words: dict[int, list[str]] = {rule.first: [] for rule in rules}
    for note in notes:
        if note.kind == "user" and note.first in words:
            words[note.first].append(note.text)
    repeated = {
        rule
        for rule in rules
        if newest[rule.by, same_rule(rule.text)] != rule or any(rule.text in said for said in words[rule.first])
    }
    return [note for note in notes if note not in repeated] if repeated else notes


def _squeeze_pasted(notes: Sequence[DigestLine], excess: int, tokens: Callable[[str], int]) -> list[DigestLine]:
    """Remove the oldest of what users may have pasted, until `excess` tokens are free."""
    kept: list[DigestLine] = []
    for note in notes:
        if excess > 0 and note.kind == "pasted":
            excess -= tokens(note_text(note)) + 1
        else:
            kept.append(note)
    return kept


def _squeeze_words(notes: Sequence[DigestLine], excess: int, tokens: Callable[[str], int]) -> list[DigestLine]:
    """Remove the oldest of users' words, except their rules, until `excess` tokens are free."""
    kept: list[DigestLine] = []
    for note in notes:
        if excess <= 0 or note.kind != "user":
            kept.append(note)
            continue
        rules = rules_of(note)
        won = tokens(note_text(note)) + 1 - sum([tokens(note_text(rule)) + 1 for rule in rules])
        kept += rules if won > 0 else [note]
        excess -= max(0, won)
    return kept


def _squeeze_talk(notes: Sequence[DigestLine], excess: int, tokens: Callable[[str], int]) -> list[DigestLine]:
    """Remove the oldest of users' words that state nothing, until `excess` tokens are free."""
    kept: list[DigestLine] = []
    for note in notes:
        if excess > 0 and note.kind == "user" and is_talk(note):
            excess -= tokens(note_text(note)) + 1
        else:
            kept.append(note)
    return kept


def _without_prose(notes: Sequence[DigestLine], excess: int, tokens: Callable[[str], int]) -> list[DigestLine]:  # noqa: ARG001  a stage
    """Remove the summary: a model can write it again, while a user states a rule once."""
    return [note for note in notes if note.kind != "prose"]


def _merge_across(notes: Sequence[DigestLine], excess: int, tokens: Callable[[str], int]) -> list[DigestLine]:
    return _merge_turns(notes, excess, tokens, across=True)


def _merge_turns(
    notes: Sequence[DigestLine], excess: int, tokens: Callable[[str], int], *, across: bool = False
) -> list[DigestLine]:
    """Merge the oldest turns into ranges, until `excess` tokens are free; `across` users' words if set."""
    kept: list[DigestLine] = []
    last = -1
    for note in notes:
        if note.kind == "turn" and excess > 0 and last >= 0 and (across or last == len(kept) - 1):
            joined = merged(kept[last], note)
            excess -= tokens(note_text(kept[last])) + tokens(note_text(note)) - tokens(note_text(joined))
            kept[last] = joined
        else:
            last = len(kept) if note.kind == "turn" else last
            kept.append(note)
    return kept


WITH_TOOLS: Sequence[Stage] = (
    _merge_turns,
    _squeeze_pasted,
    _squeeze_words,
    _merge_across,
    _without_prose,
    squeeze_rules,
)
"""What headings lose first."""
IN_TALK: Sequence[Stage] = (
    _merge_across,
    _squeeze_talk,
    _squeeze_pasted,
    _squeeze_words,
    _without_prose,
    squeeze_rules,
)
"""The same where no tool was called: answers and small talk go before what the user stated."""
