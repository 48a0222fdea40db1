"""What a view left out of real transcripts is one recall away, by a reference that stands in that view."""

import json
import re

import pytest

from backscroll import BudgetError, ContextManager
from backscroll.evaluation.readers import read
from backscroll.messages import read_message
from tests.real import RECORDED, needs_recordings

# some recordings hold tool results as words of a user, with more "rules" than a tenth of them can hold
pytestmark = [
    needs_recordings,
    pytest.mark.filterwarnings("ignore:the digest of lane"),
    pytest.mark.filterwarnings(r"ignore:\d+ messages of the user in a row"),
]
_USUAL = 4  # transcripts of each file that are not left to the long run
_SMALL = 4_000_000  # bytes of a file
REFERENCE = re.compile(r"\[ref:(\d+)(?:-(\d+)|\.(\d+))?\]")


def references(view):
    """First, last and part of every reference in a view."""
    found = REFERENCE.findall(json.dumps(view, ensure_ascii=False))
    return [(int(first), int(last or first), int(part) if part else None) for first, last, part in found]


def whole(manager, ref):
    text, offset = "", 0
    while offset is not None:
        page = manager.recall(ref, offset=offset, limit=50_000)
        text, offset = text + page, page.next_offset
    return text


def cases():
    """The first transcripts of each file, and the rest."""
    for file in RECORDED:
        for rest in (False, True):
            marks = [pytest.mark.long] if rest or file.stat().st_size >= _SMALL else []
            yield pytest.param(
                file, rest, marks=marks, id=f"{file.parent.name}-{file.stem}-{'rest' if rest else 'first'}"
            )


@pytest.mark.parametrize(("file", "rest"), list(cases()))
def test_everything_left_out_returns_verbatim_by_reference(file, rest):
    """Everything left out at a tenth comes back verbatim by a reference of the view."""
    transcripts = list(read(file, file.name))
    for transcript in transcripts[_USUAL:] if rest else transcripts[:_USUAL]:
        manager = ContextManager(budget=2_000_000)
        manager.append(*transcript.messages)
        manager.get_messages_for_request()
        budget = manager.usage().used.tokens // 10
        try:
            view = manager.get_messages_for_request(token_budget=budget)
        except BudgetError:
            continue
        refs, recalled, messages = references(view), {}, manager.get_messages()
        for found in manager.explain():
            if found.state == "whole":
                continue
            if found.state == "without reasoning":
                continue  # sealed, and for its provider alone
            for number, part in enumerate(read_message(messages[found.seq]).parts):
                reaching = [
                    ref for ref in refs if ref[0] <= found.seq <= ref[1] and (ref[2] is None or ref[2] == number)
                ]
                if not part.text or (found.state in ("excerpted", "cleared") and not reaching):
                    continue  # of a message that stands in the view, only some parts are cut
                assert reaching, f"nothing in the view leads to message {found.seq}, which is {found.state}"
                first, last, asked = min(reaching, key=lambda ref: ref[1] - ref[0])
                ref = f"{first}.{asked}" if asked is not None else f"{first}-{last}"
                text = recalled.setdefault(ref, None) or whole(manager, ref)
                recalled[ref] = text
                assert part.text in text
