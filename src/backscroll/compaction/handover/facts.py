"""Keep the ledger: what turns change about the facts from which state and files are written."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

from backscroll.compaction.handover.answers import goes_on, is_answer, question_of
from backscroll.compaction.handover.checks import NOT_RUN, repaired
from backscroll.compaction.handover.file_facts import changed, committed, moved, taken_back, unstashed
from backscroll.compaction.handover.paths import root_of
from backscroll.compaction.handover.plan_steps import steps_with_files
from backscroll.compaction.handover.repository import (
    Sweep,
    covers,
    head_of,
    is_in,
    is_listed,
    moves_head,
    new_path,
    sweeps,
    unclean,
)
from backscroll.compaction.handover.turns import Done, Said, Turn
from backscroll.compaction.handover.user_lines import Asked
from backscroll.history.ledger import Fact, FactKind, Ledger
from backscroll.messages.deeds import Deed, DeedKind
from backscroll.messages.prose import cut, short, user_words
from backscroll.messages.prose.sentences import sentences_in

_MOST: Mapping[FactKind, int] = {
    "task": 40, "check": 10, "file": 120, "background": 6, "failure": 6, "refuted": 5, "commit": 6, "head": 3,
}  # fmt: skip  # one list
"""Facts of a kind that are kept, the newest: about twice as many as a state at 16,000 tokens has room for. A stored
fact takes some 60 bytes, packed.
"""
_REQUEST, _PLAN, _WHAT, _OUTCOME, _REFUTED = 700, 3_000, 170, 300, 240  # characters
_REFUTES = re.compile(
    r"\b(?:not the (?:root |real |actual )?(?:cause|culprit|problem|issue)|ruled out|red herring|false alarm|"
    r"(?:was|were|is) wrong about|turns? out (?:that )?(?:it|this|that) "
    r"(?:is|was)n['\u2019]t|"
    r"my (?:earlier |first |previous )?(?:assumption|guess|theory|hypothesis) was)\b",
    re.IGNORECASE,
)  # a sentence that says so names the refuted cause

_GOES_ON = "\nwhich goes on with: "
_STEPS, _STEP = 2, 160  # points of a request from which it is a plan, and characters of each
_READ = 20_000  # characters of a request in which points are looked for

_SILENT = re.compile(r"(?:exit(?: code)?:? ?-?\d*)?", re.IGNORECASE)
"""An outcome that says nothing: `rg` and `diff` end so as well."""


def noted(ledger: Ledger, turns: Sequence[Turn]) -> Ledger:
    """Return the ledger once these turns happened as well."""
    book = _Book(ledger)
    for turn in turns:
        book.note(turn)
    facts = book.facts()
    root = ledger.root or root_of(fact.key for fact in facts if fact.kind == "file")
    return Ledger(facts, root, max([ledger.last, *(turn.last for turn in turns)]))


class _Book:
    """The facts in the making. Of equal keys the newest is last."""

    def __init__(self, ledger: Ledger) -> None:
        self._facts = {(fact.kind, fact.key): fact for fact in ledger.facts}
        self._names = {_name(fact.key) for fact in ledger.facts if fact.kind == "file"}
        """Of files that were known, so that a new one is not looked for among all."""
        self._root = ledger.root
        self._by_kind: Mapping[DeedKind, Callable[[Done], None]] = {
            "edit": self._file, "read": self._file, "todo": self._tasks, "background": self._started,
            "check": self._checked, "commit": self._committed, "search": self._looked, "run": self._ran,
            "plan": self._planned_by_agent,
        }  # fmt: skip  # one table

    def facts(self) -> tuple[Fact, ...]:
        """Return the newest facts of each kind."""
        kept: list[Fact] = []
        left = dict(_MOST)
        for fact in reversed(self._facts.values()):
            if left.get(fact.kind, 1) > 0:
                kept.append(fact)
            left[fact.kind] = left.get(fact.kind, 1) - 1
        return tuple(reversed(kept))

    def _put(self, fact: Fact) -> None:
        self._facts.pop((fact.kind, fact.key), None)
        self._facts[fact.kind, fact.key] = fact
        if fact.kind == "file":
            self._names.add(_name(fact.key))

    def _drop(self, kind: FactKind, key: str = "") -> None:
        self._facts.pop((kind, key), None)

    def _get(self, kind: FactKind, key: str = "") -> Fact | None:
        return self._facts.get((kind, key))

    def note(self, turn: Turn) -> None:
        """Note what a turn changes."""
        if turn.asked is not None:
            self._asked(turn.asked)
        for step in turn.steps:
            if isinstance(step, Said):
                self._said(step)
            elif isinstance(step, Done):
                self._done(step)
            else:
                self._ended(key for kind, key in [*self._facts] if kind == "background" and key and key in step.text)
        self._ended(turn.ended)

    def _ended(self, keys: Iterable[str]) -> None:
        for key in list(keys):
            self._drop("background", key)

    def _asked(self, asked: Asked) -> None:
        question, before = self._get("question"), self._get("request")
        answers = question.text if question is not None and is_answer(asked.words) else ""
        text = _words(asked)
        if not answers and before is not None and goes_on(asked.words):
            text = f"{text}{_GOES_ON}{before.text.rpartition(_GOES_ON)[2]}"
        elif not answers:
            self._planned(asked)
        self._put(Fact("request", asked.seq, text=text, outcome=answers))
        self._drop("question")

    def _planned(self, asked: Asked) -> None:
        """Note the plan that a request brings: a list whose points name files."""
        plan = self._get("plan")
        if plan is not None and plan.outcome:
            self._drop("plan")
        steps = _steps(asked)
        if len(steps) >= _STEPS:
            self._put(Fact("plan", asked.seq, text="\n".join(f"- {step}" for step in steps)[:_PLAN], outcome="request"))

    def _said(self, said: Said) -> None:
        if _REFUTES.search(said.text):
            refuted = [sentence for sentence in sentences_in(said.text) if _REFUTES.search(sentence)]
            for sentence in refuted:
                self._put(Fact("refuted", said.seq, key=cut(sentence.strip(), _REFUTED)))
        if not said.closing:
            return
        self._put(Fact("report", said.seq))
        self._drop("question")
        if asked := question_of(said.text):
            self._put(Fact("question", said.seq, text=asked))

    def _done(self, done: Done) -> None:
        deed = done.deed
        if deed.failed and deed.kind in ("run", "edit"):
            if not _SILENT.fullmatch(deed.outcome):
                self._put(_fact("failure", done, key=_object(deed)))
            return
        if deed.kind in self._by_kind:
            self._by_kind[deed.kind](done)
        self._drop("failure", _object(deed))

    def _ran(self, done: Done) -> None:
        deed = done.deed
        for sweep in sweeps(deed.what):
            self._sweep(sweep, deed.folder, done.seq)
        if moves_head(deed.what):
            self._facts = {name: fact for name, fact in self._facts.items() if fact.kind != "head"}

    def _started(self, done: Done) -> None:
        deed = done.deed
        if deed.what == "ended":
            self._drop("background", deed.key)
        else:
            self._put(_fact("background", done, key=deed.key or deed.what))

    def _planned_by_agent(self, done: Done) -> None:
        self._put(Fact("plan", done.seq, text=short(done.deed.text or done.deed.what, _PLAN)))

    def _checked(self, done: Done) -> None:
        """Note a check; one that passed ends failures that it covers: its next run may fail for another reason."""
        if done.deed.failed and NOT_RUN.search(done.deed.outcome):
            return
        check = _fact("check", done, key=done.deed.key or done.deed.what)
        if not check.failed:
            failed = [fact for (kind, _), fact in self._facts.items() if kind == "check" and fact.failed]
            for fact in failed:
                if repaired(fact, [check]):
                    self._drop("check", fact.key)
        self._put(check)

    def _file(self, done: Done) -> None:
        deed = done.deed
        if deed.what == "restored":
            self._sweep(Sweep("restored", deed.path), "", done.seq)
            return
        if deed.what == "moved":
            self._sweep(Sweep("moved", deed.key, deed.path), "", done.seq)
            return
        key = self._key(deed.path)
        known = self._get("file", key) or Fact("file", done.seq, key)
        if deed.kind == "read":
            if not deed.failed and not known.times:  # a changed one keeps its place: the order says what came behind it
                self._put(known._replace(seq=done.seq))
            return
        self._put(changed(known, deed, done.seq))

    def _key(self, path: str) -> str:
        """Return the path under which a file is known; a relative one may be the end of an absolute one."""
        if not path.startswith("/"):
            if _name(path) not in self._names:
                return path
            ends = f"/{path.removeprefix('./')}"
            found = [key for kind, key in self._facts if kind == "file" and key.endswith(ends)]
            return found[0] if len(found) == 1 else path
        if ("file", path) in self._facts:
            return path
        for start in [at for at, sign in enumerate(path) if sign == "/"]:
            old: tuple[FactKind, str] = ("file", path[start + 1 :])
            if (known := self._facts.get(old)) is not None:
                self._facts = {
                    ("file", path) if name == old else name: known._replace(key=path) if name == old else fact
                    for name, fact in self._facts.items()
                }
                break
        return path

    def _sweep(self, sweep: Sweep, folder: str, seq: int) -> None:
        """Note what was done to all files that a command names."""
        for fact in [fact for (kind, _), fact in self._facts.items() if kind == "file"]:
            if is_in(fact.key, sweep.path, folder):
                self._swept(fact, sweep, seq)

    def _swept(self, fact: Fact, sweep: Sweep, seq: int) -> None:
        if sweep.how == "moved":
            self._drop("file", fact.key)
            self._put(moved(fact, new_path(fact.key, sweep), seq))
        elif sweep.how == "deleted" and fact.times:
            self._put(changed(fact, Deed("edit", "deleted", fact.key), seq))
        elif sweep.how == "deleted":
            self._drop("file", fact.key)
        elif sweep.how == "unstashed":
            self._put_swept(fact, unstashed(fact, seq))
        elif sweep.how in ("restored", "stashed"):
            self._put_swept(fact, taken_back(fact, seq, stashes=sweep.how == "stashed"))

    def _put_swept(self, before: Fact, fact: Fact) -> None:
        if fact.marks != before.marks:
            self._put(fact)

    def _committed(self, done: Done) -> None:
        """Note a commit: marks of earlier changes have no use behind it."""
        deed = done.deed
        if deed.failed:
            return
        self._put(
            _fact("commit", done, key=deed.folder)._replace(outcome=deed.key, failed="root-commit" in deed.outcome)
        )
        for fact in [fact for (kind, _), fact in self._facts.items() if kind == "file" and fact.marks]:
            if covers(deed.folder, fact.key, self._root):
                self._facts["file", fact.key] = committed(fact)

    def _looked(self, done: Done) -> None:
        """Note what git shows of files and of the newest commit."""
        deed = done.deed
        if (listed := unclean(deed.what, deed.text)) is not None:
            for fact in [fact for (kind, _), fact in self._facts.items() if kind == "file" and fact.times]:
                if not fact.outcome and covers(deed.folder, fact.key, self._root) and not is_listed(fact.key, listed):
                    self._facts["file", fact.key] = fact._replace(outcome="clean", marks=())
        if (newest := head_of(deed.what, deed.text)) is not None:
            hash_, subject = newest
            made = [fact for (kind, _), fact in self._facts.items() if kind == "commit"]
            own = any(fact.outcome[:7] == hash_[:7] for fact in made)
            known = self._get("head", deed.folder)
            if known is None or known.outcome[:7] != hash_[:7]:
                times = int(not own and (known is not None or bool(made)))
                self._put(Fact("head", done.seq, key=deed.folder, text=cut(subject, _WHAT), outcome=hash_, times=times))

    def _tasks(self, done: Done) -> None:
        deed = done.deed
        if deed.key:  # a change of one task
            status, text = next(iter(deed.rows), ("", deed.what))
            known = self._get("task", deed.key)
            text = text or (known.text if known else deed.what)
            status = status or (known.outcome if known else "")
            self._put(Fact("task", done.seq, key=deed.key, text=cut(text, _WHAT), outcome=status))
            return
        self._facts = {name: fact for name, fact in self._facts.items() if fact.kind != "task"}
        for number, (status, text) in enumerate(deed.rows):
            self._put(Fact("task", done.seq, key=str(number), text=cut(text, _WHAT), outcome=status))


@lru_cache(maxsize=64)
def _steps(asked: Asked) -> tuple[str, ...]:
    """Return the points of what a user asks for that name files."""
    texts = (asked.words if asked.typed else "", *asked.pasted)
    return tuple([cut(step, _STEP) for text in texts for step in steps_with_files(text[:_READ])])


@lru_cache(maxsize=64)  # noted twice at each compaction
def _words(asked: Asked) -> str:
    """Return what a user asks for: the words, or what was pasted."""
    if asked.pasted and not asked.typed:
        return f"{asked.words}: {short(asked.pasted[0], _REQUEST, document=True)}"
    return user_words(asked.words, _REQUEST)


def _fact(kind: FactKind, done: Done, key: str = "") -> Fact:
    """Return what a deed was and how it ended."""
    deed = done.deed
    outcome = deed.key if kind == "background" else cut(deed.outcome, _OUTCOME)
    return Fact(kind=kind, seq=done.seq, key=key, text=cut(deed.what, _WHAT), outcome=outcome, failed=deed.failed)


def _object(deed: Deed) -> str:
    """Return what a deed was about, so that doing it again with success repairs its failure."""
    return f"{deed.kind} {deed.path}" if deed.path else " ".join([deed.kind, *deed.what.split()[:2]])


def _name(path: str) -> str:
    """Return the last part of a path."""
    return path.rpartition("/")[2]
