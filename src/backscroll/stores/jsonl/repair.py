"""Mending a folder of sessions: what is not as it was written is written anew, with a note where something is lost."""

import json
import os
import re
import secrets
import sys
from collections.abc import Iterator
from typing import Any

from backscroll.errors import DamagedError
from backscroll.ports import LOST, Record
from backscroll.stores.commit_counter import Guard
from backscroll.stores.fork_lock import GATE
from backscroll.stores.jsonl import lines
from backscroll.stores.jsonl.file import LogFile, scan, told
from backscroll.stores.jsonl.folder import Folder, file_name
from backscroll.stores.jsonl.index import Index
from backscroll.stores.jsonl.lines import Header
from backscroll.stores.problems import Mended

_NOTE = "this record was not as it was written when its file was repaired"


def repair(folder: Folder) -> list[Mended]:
    """Mends every file, and says what was done."""
    if not os.path.isdir(folder.path):
        return []
    done: list[Mended] = []
    with told(folder.path), GATE, folder.changing():
        ids = {each.header.parent: each.header.parent_id for each in folder.listed() if each.header}
        for path, header, problem in folder.listed():
            if not os.path.exists(path):
                done.append(_gone(path))
                continue
            name = _name_of(path) if header is None else header.session
            if name is None:
                done.append(
                    Mended(None, None, f"{problem}; which session it was cannot be told, and it stays as it is")
                )
            else:
                done += _mended(folder, LogFile(path, name), ids.get(name))
        folder.sync()
    folder.forget()
    return done


def _gone(path: str) -> Mended:
    """There is nothing left to mend."""
    guard = Guard(path)
    acknowledged = guard.read()
    os.unlink(guard.path)
    return Mended(None, None, f"{path}: the file is gone, and {acknowledged} commits with it")


def _mended(folder: Folder, log: LogFile, id: str | None) -> Iterator[Mended]:
    with log.opened(folder.timeout):
        acknowledged = log.guard.read()
        try:
            with open(log.path, "rb") as file:
                scan(file, log.index, acknowledged)
        except DamagedError as error:
            yield Mended(log.session, None, f"{error}; it stays as it is")
            return
        index, lost = log.index, acknowledged - log.index.commits
        header = index.header or _header(folder, log, id)
        if not index.commits:
            kept = log.keep()
            os.unlink(log.guard.path)
            os.unlink(log.path)
            yield Mended(log.session, None, f"nothing of it is left but {kept}")
        elif index.header is None or index.damaged():
            commits = max(acknowledged, index.commits, index.end - header.shares)
            kept = log.replace(b"".join(_lines(log, header, commits)))
            log.raise_guard(commits)
            yield Mended(log.session, None, f"the file was written anew; the damaged one is {kept}")
        elif lost > 0:
            log.guard.lower_to(index.commits)
        if index.commits and index.header is None:
            yield Mended(log.session, None, "the line that names the session was made from what is left of it")
        for place in index.damaged():
            if place >= header.shares:
                yield Mended(log.session, place, f"{_NOTE}, and is lost")
        if lost > 0:
            yield Mended(log.session, index.end, f"the last {lost} of {acknowledged} acknowledged commits are gone")


def _lines(log: LogFile, header: Header, commits: int) -> Iterator[bytes]:
    """The file as it should be. Each record is an append of its own, and the last has the number `commits`."""
    index, content = log.index, log.content()
    seqs = _lost_seqs(index, content)
    yield lines.header_line(header)
    for place in range(header.shares, index.end):
        start = index.start(place)
        record = Record(LOST, seqs.get(place), _NOTE.encode(), 0)
        if start >= 0:
            line = content[start : content.find(b"\n", start)]
            head = lines.head_of(line)
            assert head is not None
            record = lines.record_of(line, head)
        yield from lines.record_lines(log.session, place, [lines.form_of(record)], commits - (index.end - 1 - place))


def _lost_seqs(index: Index, content: bytes) -> dict[int, int]:
    """The `seq`s of records that are lost, where that can be told: where those before and behind leave no choice, or by
    what is left of their lines.
    """
    gaps: dict[tuple[int | None, int | None], list[int]] = {}
    for place in index.damaged():
        gaps.setdefault(index.seqs_around(place), []).append(place)
    found: dict[int, int] = {}
    for (before, after), gap in gaps.items():
        if before is not None and after is not None and after - before - 1 == len(gap):
            found |= zip(gap, range(before + 1, after), strict=True)
            continue
        told = {place: _told_seq(content, -1 - index.start(place), place) for place in gap}
        low, high = -1 if before is None else before, sys.maxsize if after is None else after
        sure = {place: seq for place, seq in told.items() if seq is not None and low < seq < high}
        if list(sure.values()) == sorted(set(sure.values())):
            found |= sure
    return found


def _told_seq(content: bytes, start: int, place: int) -> int | None:
    """Of a line that is not as it was written, but begins as one for this place does."""
    found = re.match(rb'\{"at":%d,"kind":"[^"]*","seq":(\d{1,18}),' % place, content[start : start + 400])
    return int(found[1]) if found else None


# -- a first line that is not as it was written --


def _name_of(path: str) -> str | None:
    """The session's name, if it still stands there: the file's own name tells whether it is that."""
    with open(path, "rb") as file:
        for line in file:
            name = _field(line, "session")
            if isinstance(name, str) and os.path.basename(path) == _safely(name):
                return name
    return None


def _safely(name: str) -> str | None:
    try:
        return file_name(name)
    except UnicodeEncodeError:
        return None


def _header(folder: Folder, log: LogFile, id: str | None) -> Header:
    """The first line from what is left of it. `id`: by which forks know the file."""
    with open(log.path, "rb") as file:
        line = next((line for line in file if _field(line, "session") == log.session), b"")
    begun, known, parent = _field(line, "begun"), _field(line, "id"), _field(line, "parent")
    if not isinstance(known, str) or not re.fullmatch("[0-9a-f]{16}", known):
        known = secrets.token_hex(8)
    header = Header(log.session, begun if isinstance(begun, int) else 0, id or known)
    shares = _field(line, "shares")
    if isinstance(parent, str) and isinstance(shares, int) and shares <= log.index.end:
        past = folder.log(parent)
        with past.lock:
            there = past.refresh()
        if there.header is not None and there.end >= shares:
            return header._replace(parent=parent, parent_id=there.header.id, shares=shares, commit=1)
    return header


def _field(line: bytes, name: str) -> Any:
    """A value of a line that may be no JSON any more; None if it cannot be read."""
    found = re.search(rb'"%b":("(?:[^"\\]|\\.)*"|\d{1,15})' % name.encode(), line)
    try:
        return json.loads(found[1]) if found else None
    except ValueError:
        return None
