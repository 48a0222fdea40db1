"""Check that a decoded event is possible: values of the declared types, within bounds, in order.

A record with the right checksum may still hold anything, for instance if another program wrote it. An impossible event
is reported as corruption when it is read, instead of failing somewhere later.
"""

import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, is_dataclass
from itertools import repeat
from math import isfinite
from operator import call
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from backscroll.history.log import (
    Checkpoint,
    HistorySnapshot,
    IdempotencyKeyUsed,
    LaneOpened,
    LogEvent,
    MessageAdded,
    NativeMade,
    PlanRecorded,
    RequestRecorded,
)
from backscroll.history.plan import GAPS, Edit, Excerpt, Native, Plan, Restate
from backscroll.messages.parts import Message
from backscroll.messages.reader import read_message
from backscroll.tokens.counts import Count, Counts

_MOST = 2**53
"""An upper bound of all numbers of tokens, messages and characters, which every JSON reader keeps exact."""
_Check = Callable[[Any], bool]
_known: dict[Any, tuple[list[str], list[_Check]]] = {}


def unsound(event: LogEvent) -> str | None:
    """Describe what is wrong with an event; None if it is possible."""
    if (where := _mistyped(event)) is not None:
        return f"its `{where}` has an invalid value"
    match event:
        case MessageAdded():
            return _message(event)
        case RequestRecorded():
            least = -1 if event.foresees is None else 0
            return None if event.last >= least else "its newest message is none"
        case IdempotencyKeyUsed():
            return None if 0 <= event.first <= event.last + 1 else "its range of messages is invalid"
        case PlanRecorded() | LaneOpened():
            return plan_fault(event.plan)
        case NativeMade():
            return native_message_fault(event.message, event.counts)
        case Checkpoint():
            plans = [plan for lane in event.lanes for plan in (lane.plan, *lane.before) if isinstance(plan, Plan)]
            found = (fault for plan in plans if (fault := plan_fault(plan)))
            return next(found, None) or _history(event.history)
        case _:
            return None


def _mistyped(event: LogEvent) -> str | None:
    for name, check in zip(*_checks(type(event)), strict=True):
        if not check(getattr(event, name)):
            return name
    return None


def _checks(kind: Any) -> tuple[list[str], list[_Check]]:
    """Return the names of a class's fields, and the checks of their values."""
    if kind not in _known:
        hints = get_type_hints(kind)
        names = [field.name for field in fields(kind)] if is_dataclass(kind) else list(hints)
        _known[kind] = names, [_check(hints[name]) for name in names]
    return _known[kind]


def _check(hint: Any) -> _Check:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda _: True
    if origin in (Union, types.UnionType):
        checks = [_check(each) for each in inner]
        return lambda value: any(map(call, checks, repeat(value)))
    if origin is Literal:
        return lambda value: type(value) is str and value in inner
    if origin is tuple:
        return _tuple(inner)
    if origin is dict:
        return lambda value: type(value) is dict
    if hint is int:
        return lambda value: type(value) is int and -_MOST <= value <= _MOST
    if hint is float:
        return lambda value: (type(value) is float and isfinite(value)) or (type(value) is int and abs(value) <= _MOST)
    if hasattr(hint, "_fields"):
        return lambda value: type(value) is hint and all(map(call, _checks(hint)[1], value))
    if is_dataclass(hint):
        return lambda value: (
            type(value) is hint and all(check(getattr(value, name)) for name, check in zip(*_checks(hint), strict=True))
        )
    return lambda value: type(value) is hint


def _tuple(inner: tuple[Any, ...]) -> _Check:
    if inner[1:] == (...,):
        each = _check(inner[0])
        return lambda value: isinstance(value, tuple) and all(map(each, value))
    checks = [_check(one) for one in inner]
    return lambda value: isinstance(value, tuple) and len(value) == len(checks) and all(map(call, checks, value))


def _message(event: MessageAdded) -> str | None:
    role = event.message.get("role")
    if type(role) is not str or not role:
        return "its message has no role"
    if event.seq < 0 or not all(0 <= first < event.seq for first in event.joins or ()):
        return "its number is negative, or it joins a later message"
    sizes = (value for count in event.counts for value in (count if type(count) is Count else count[1:]))
    return "a count is negative" if any(value < 0 for value in sizes) else None


def plan_fault(plan: Plan) -> str | None:
    """Describe what is wrong with a plan; None if it is possible."""
    if (fault := _edits_fault(plan.edits) or _native_fault(plan)) is not None:
        return fault
    if any(min(each.expected, each.upper) < 0 for each in plan.text_weights):
        return "a weight is negative"
    if any(min(each) < 0 for each in plan.left):
        return "a result that it leaves out has a negative number"
    return None if _grows([seq for each in plan.no_reasoning for seq in each]) else "its ranges are not in order"


def _native_fault(plan: Plan) -> str | None:
    block, gaps = plan.native, [edit for edit in plan.edits if isinstance(edit, Native)]
    if block is None or not gaps:
        return None if block is None and not gaps else "its native block and its native edits do not fit together"
    if gaps[-1].last > block.last or (block.after is not None and block.after < block.last):
        return "its native block represents other entries than its edits say"
    if (fault := native_message_fault(block.message, block.counts)) is not None:
        return fault
    return _edits_fault(block.edits)


def native_message_fault(message: Message, counts: Counts) -> str | None:
    """Describe what is wrong with the message that holds a native block; None if it is possible."""
    if message.get("role") != "assistant":
        return "its native block has no role"
    if len(read_message(message).parts) != len(counts):
        return "its native block has other counts than parts"
    sizes = (value for count in counts for value in (count if type(count) is Count else count[1:]))
    return "a count is negative" if any(value < 0 for value in sizes) else None


def _edits_fault(edits: Sequence[Edit]) -> str | None:
    behind = (-1, -1)
    for edit in edits:
        if isinstance(edit, GAPS):
            place, last = (edit.first, -1), (edit.last, _MOST)
        else:
            place = last = edit.seq, edit.part
            if min(edit.part, *edit.count) < 0 or (isinstance(edit, Excerpt) and not _grows(_cuts(edit))):
                return "the ranges of an edit are invalid"
            if isinstance(edit, Restate) and not (0 <= edit.source <= edit.seq and edit.source_part >= 0):
                return "an edit restates a later result"
        if not behind < place <= last:
            return "its edits are not in order"
        behind = last
    return None


def _cuts(clip: Excerpt) -> Iterable[int]:
    return (0, clip.head, *(at for pair in clip.between for at in pair), _MOST - clip.tail, _MOST)


def _history(saved: HistorySnapshot) -> str | None:
    runs = [seq for run in saved.runs for seq in run]
    firsts, lasts = runs[::2], runs[1::2]
    if not _grows(runs) or any(last >= first for last, first in zip(lasts[:-1], firsts[1:], strict=True)):
        return "the runs of its branch are not in order"
    named = (
        *runs,
        *saved.kept,
        *saved.protected,
        *(seq for seq, _ in saved.pins),
        saved.newest,
        saved.first_user,
    )
    named += (saved.last_user, saved.reminder, *(seq for group in saved.groups for seq in group.members))
    if not all(0 <= seq < saved.next_seq for seq in named if seq is not None):
        return "it names a message that was not added before it"
    if not (
        _grows(saved.kept)
        and -1 <= saved.last_assistant < saved.next_seq
        and -1 <= saved.last_sealed < saved.next_seq
        and 0 <= saved.leading <= saved.next_seq
    ):
        return "its positions are out of range"
    return None


def _grows(numbers: Iterable[int]) -> bool:
    found = list(numbers)
    return all(one <= other for one, other in zip([0, *found], found, strict=False))
