"""Encode plans: their edits, and their digests. `codec.py` writes the records around them.

A digest, by far the largest part of a plan, is written once; later plans with the same digest refer to it. Checkpoints
refer to plans the same way. The visible part of a digest is plain JSON. The larger part, from which only the next
digest is made, is packed.
"""

import json
import zlib
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from backscroll.history.ledger import Fact, FactKind, Ledger
from backscroll.history.plan import (
    NO_DIGEST,
    Clear,
    Digest,
    DigestContent,
    DigestLine,
    Edit,
    Excerpt,
    LeftResult,
    Native,
    NativeBlock,
    Plan,
    Restate,
    TextWeight,
    Truncate,
)
from backscroll.history.ranges import SeqRange
from backscroll.history.recall_wording import RECALL, RecallWording
from backscroll.ports import LOST, Stored
from backscroll.tokens.counts import Count, Counts, MediaCount

_MOST_PLANS = 40  # of a lane whose positions are kept: those that can be undone
_FAST = 1  # of zlib's levels: two fifths of the time that the usual one takes, for a sixth more bytes
_OF_FACT = 2  # fields of a fact that are always written: its kind and its entry

# Made once: `json.dumps` makes an encoder at each call that names an option. A body never contains itself.
to_json: Callable[[Any], str] = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")
).encode

UTF_8 = ("utf-8", "surrogatepass")
"""Lone surrogates are written as they are: escaped, two of them would be read as one character."""

Body = dict[str, Any]
Fetch = Callable[[int], Stored]


class PlanRecords:
    """Encode and decode the plans of one session's log, in order. Keeps the positions of plans and digests.

    Args:
        fetch: Reads the record at a position, for references to earlier records. `None`: such references fail.
        looking: Read only the visible part of a digest.
    """

    def __init__(self, fetch: Fetch | None, *, looking: bool = False) -> None:
        self._fetch = fetch
        self._looking = looking
        self._digests: dict[str, tuple[int, DigestContent]] = {}
        """By lane: the newest digest, and the position of the record that holds it."""
        self._natives: dict[str, tuple[int, NativeBlock]] = {}
        """By lane: the newest native block, likewise."""
        self._plans: dict[str, deque[tuple[int, Plan]]] = {}
        """By lane: the newest plans, likewise."""

    def twin(self) -> "PlanRecords":
        """Return an independent copy."""
        twin = PlanRecords(self._fetch, looking=self._looking)
        twin._digests, twin._natives = dict(self._digests), dict(self._natives)
        twin._plans = {lane: plans.copy() for lane, plans in self._plans.items()}
        return twin

    def is_at(self, at: int, lane: str, plan: Plan, body: Body) -> None:
        """Note that this plan, written or read as `body`, is in the record at a position."""
        if "digest" in body:
            self._digests[lane] = at, plan.digest
        if "native" in body and plan.native is not None:
            self._natives[lane] = at, plan.native
        self._plans.setdefault(lane, deque(maxlen=_MOST_PLANS)).append((at, plan))

    def known(self, lane: str, place: int) -> Plan | None:
        """Return the plan in the record at a position, if known."""
        return next((plan for at, plan in self._plans.get(lane, ()) if at == place), None)

    def place(self, lane: str, plan: Plan) -> int | None:
        """Return the position of this plan, if known."""
        for at, known in self._plans.get(lane, ()):
            if known.number == plan.number and known == plan:  # the number first: comparing the rest takes long
                return at
        return None

    def write(self, lane: str, plan: Plan) -> Body:
        """Encode a plan."""
        body: Body = {"number": plan.number, "after": plan.summary_after, "edits": [_edit(e) for e in plan.edits]}
        if plan.last is not None:
            body["last"] = plan.last
        if plan.reason is not None:
            body["reason"] = plan.reason
        if plan.no_reasoning:
            body["no_reasoning"] = plan.no_reasoning
        if plan.left:
            body["left"] = plan.left
        if plan.text_weights:
            body["text_weights"] = plan.text_weights
        if plan.waited:
            body["waited"] = plan.waited
        if not plan.heals:
            body["unhealed"] = True
        if plan.recall != RECALL:
            body["recall"] = plan.recall
        if plan.native is not None:
            block = self._natives.get(lane)
            same = block is not None and block[1] == plan.native
            body |= {"native_at": block[0]} if block and same else {"native": _native(plan.native)}
        known = self._digests.get(lane)
        if plan.digest == NO_DIGEST:
            return body
        if known is not None and known[1] == plan.digest:
            return body | {"digest_at": known[0]}
        return body | {"digest": _digest(plan.digest)}

    def read(self, lane: str, body: Body, *, heals: bool = True) -> Plan:
        """Decode a plan. Raises the standard library's errors for anything else.

        Args:
            lane: Its lane.
            body: The encoded plan.
            heals: The record was written by a version that heals.
        """
        digest = NO_DIGEST
        if "digest" in body:
            digest = self._read_digest(body["digest"])
        elif "digest_at" in body:
            digest = self._digest_at(lane, body["digest_at"])
        edits = tuple(map(_read_edit, body["edits"]))
        bare = tuple(SeqRange(first, last) for first, last in body.get("no_reasoning", ()))
        native = None
        if "native" in body:
            native = self._read_native(body["native"])
        elif "native_at" in body:
            native = self._native_at(lane, body["native_at"])
        weights = tuple(TextWeight(*each) for each in body.get("text_weights", ()))
        waited = tuple((seq, number) for seq, number in body.get("waited", ()))
        left = tuple(LeftResult(*each) for each in body.get("left", ()))
        plan = Plan(
            edits=edits, number=body["number"], summary_after=body["after"], digest=digest, last=body.get("last"),
            no_reasoning=bare, reason=body.get("reason"), native=native, waited=waited,
            heals=heals and not body.get("unhealed", False), left=left, text_weights=weights,
            recall=RecallWording(*body.get("recall", RECALL)),
        )  # fmt: skip  # one thought
        return without_lost(plan) if native is None else plan

    def _read_native(self, body: Body) -> NativeBlock:
        return NativeBlock(
            message=body["message"],
            counts=read_counts(body["counts"]),
            last=body["last"],
            after=body["after"],
            quotes=_read_notes(body["quotes"]),
            notes=_read_notes(body["notes"]),
            digest=self._read_digest(dict(body["digest"])),
            edits=tuple(map(_read_edit, body["edits"])),
            model=body["model"],
        )

    def _native_at(self, lane: str, place: int) -> NativeBlock | None:
        known = self._natives.get(lane)
        if known is None or known[0] != place:
            if self._fetch is None:
                raise ValueError(f"its native block is in record {place}, which is not available here")
            record = self._fetch(place).record
            if record.kind == LOST:
                return None
            known = place, self._read_native(json.loads(record.body)["plan"]["native"])
            self._natives[lane] = known
        return known[1]

    def _digest_at(self, lane: str, place: int) -> DigestContent:
        known = self._digests.get(lane)
        if known is None or known[0] != place:
            if self._fetch is None:
                raise ValueError(f"its digest is in record {place}, which is not available here")
            record = self._fetch(place).record
            if record.kind == LOST:  # the digest is lost, and the rest of the plan is not
                return NO_DIGEST
            known = place, self._read_digest(json.loads(record.body)["plan"]["digest"])
            self._digests[lane] = known
        return known[1]

    def _read_digest(self, body: Body) -> DigestContent:
        notes, begun, now = _read_notes(body["notes"]), tuple(body.get("begun", ())), _read_notes(body.get("now", ()))
        if self._looking:
            ledger = Ledger() if "now" in body else None
            return DigestContent(notes, (), (), body["told"], begun=begun, ledger=ledger, now=now)
        if "rest" in body:
            body |= _unpacked(body["rest"])  # before format 3 they were not packed
        weights = tuple((word, weight) for word, weight in body["weights"])
        removed = tuple((line, seq) for line, seq in body.get("removed", ()))
        return DigestContent(
            notes=notes,
            weights=weights,
            reserve=_read_notes(body["spare"]),
            covered_tokens=body["told"],
            removed=removed,
            begun=begun,
            ledger=_read_ledger(body),
            now=now,
        )


_BY = {"supersede": "deduplicate", "clip": "excerpt", "mask": "clear", "mask batch": "cache savings"}
"""Names of strategies in stored records, with their present names: every format stays readable."""
_STORED = {name: stored for stored, name in _BY.items()}


def _stored_by(by: str) -> str:
    return _STORED.get(by, by)


def _edit(edit: Edit) -> list[Any]:
    match edit:
        case Excerpt():
            by, structure = _stored_by(edit.by), [edit.structure] if edit.structure else []
            return ["clip", edit.seq, edit.part, edit.head, edit.tail, edit.count, by, edit.between, *structure]
        case Clear():
            return ["mask", edit.seq, edit.part, edit.note, edit.count, _stored_by(edit.by)]
        case Restate():
            return ["restate", edit.seq, edit.part, edit.source, edit.source_part, edit.whole, edit.count, edit.by]
        case Truncate():
            return ["drop", edit.first, edit.last, _stored_by(edit.by)]
        case Digest():
            return ["fold", edit.first, edit.last, _stored_by(edit.by)]
        case Native():
            return ["native", edit.first, edit.last, edit.by]


def _read_edit(raw: list[Any]) -> Edit:
    kind, *rest = raw
    if kind == "clip":
        seq, part, head, tail, count, by, between, *structure = rest
        ranges = tuple((start, end) for start, end in between)
        shown = seq, part, head, tail
        return Excerpt(*shown, Count(*count), _BY.get(by, by), ranges, *structure)
    if kind == "mask":
        seq, part, note, count, by = rest
        return Clear(seq=seq, part=part, note=note, count=Count(*count), by=_BY.get(by, by))
    if kind == "restate":
        seq, part, source, source_part, whole, count, by = rest
        return Restate(
            seq=seq, part=part, source=source, source_part=source_part, whole=whole, count=Count(*count), by=by
        )
    first, last, by = rest
    if kind == "drop":
        return Truncate(first, last, _BY.get(by, by))
    if kind == "fold":
        return Digest(first, last, _BY.get(by, by))
    if kind == "native":
        return Native(first, last, by)
    raise ValueError(f"unknown edit {kind!r}")


def without_lost(plan: Plan) -> Plan:
    """Return the plan with gaps in place of native edits whose block was lost with its record."""
    if not any(isinstance(edit, Native) for edit in plan.edits):
        return plan
    edits = [Truncate(edit.first, edit.last, edit.by) if isinstance(edit, Native) else edit for edit in plan.edits]
    return replace(plan, edits=tuple(edits))


def _native(block: NativeBlock) -> Body:
    return {
        "message": block.message, "counts": block.counts, "last": block.last, "after": block.after,
        "quotes": _written(block.quotes), "notes": _written(block.notes),
        "digest": _digest(block.digest), "edits": [_edit(each) for each in block.edits], "model": block.model,
    }  # fmt: skip  # one thought


def read_counts(raw: list[list[Any]]) -> Counts:
    """Decode the counts of a message's parts."""
    return tuple([MediaCount(*values) if isinstance(values[0], str) else Count(*values) for values in raw])


def _digest(digest: DigestContent) -> Body:
    rest: Body = {"weights": digest.weights, "spare": _written(digest.reserve)}
    if digest.removed:
        rest["removed"] = digest.removed
    more: Body = {"begun": digest.begun} if digest.begun else {}
    if digest.ledger is not None:
        rest["ledger"] = [digest.ledger.last, digest.ledger.root, [_fact(fact) for fact in digest.ledger.facts]]
        more["now"] = _written(digest.now)
    return {"notes": _written(digest.notes), "rest": _packed(rest), "told": digest.covered_tokens, **more}


def _fact(fact: Fact) -> list[Any]:
    """Return a fact without the fields at its end that say nothing."""
    values: list[Any] = list(fact)
    while len(values) > _OF_FACT and values[-1] in ("", 0, ()):
        values.pop()
    return values


def _read_ledger(body: Body) -> Ledger | None:
    if "ledger" not in body:
        return None
    last, root, facts = body["ledger"]
    return Ledger(tuple([_read_fact(*values) for values in facts]), root, last)


def _read_fact(kind: FactKind, seq: int = 0, *more: Any) -> Fact:  # versions before left out a 0 too
    fact = Fact(kind, seq, *more)
    return fact._replace(names=tuple(fact.names), gone=tuple(fact.gone), marks=tuple(fact.marks))


def _written(notes: Iterable[DigestLine]) -> list[Any]:
    return [note if note.by else note[:4] for note in notes]  # nearly all lines have no author


def _read_notes(raw: list[list[Any]]) -> tuple[DigestLine, ...]:
    return tuple(DigestLine(*note) for note in raw)


def _packed(body: Body) -> str:
    return b64encode(zlib.compress(to_json(body).encode(*UTF_8), _FAST)).decode("ascii")


def _unpacked(text: str) -> Body:
    try:
        found: Body = json.loads(zlib.decompress(b64decode(text, validate=True)))
    except zlib.error as error:
        raise ValueError(f"its packed part cannot be unpacked: {error}") from error
    return found
