"""Real transcripts of agents, replayed at a half, a quarter and a tenth of their size. Skipped without their folder.

Sessions of the largest recording take turns at a half and a quarter of their size, and are all replayed at a tenth.
`HYPOTHESIS_PROFILE=thorough` replays each at all three. A tenth of the smaller recordings is not marked `long`:
most compactions happen there.
"""

import pytest

from backscroll.evaluation.readers import read
from backscroll.evaluation.run import replay
from backscroll.tokens.engines import resolve
from tests.profiles import THOROUGH
from tests.real import RECORDED, needs_recordings

LARGE = 5_000_000  # bytes
SMALL = 1_000_000


def sessions(file, share):
    """Those of a recording that are replayed at this share."""
    found = read(file, file.name)
    if THOROUGH or share == 0.1 or file.stat().st_size < LARGE:
        return found
    return found[::2] if share == 0.5 else found[1::2]


# some recordings hold tool results as words of a user, with more "rules" than a tenth of them can hold
pytestmark = [needs_recordings, pytest.mark.filterwarnings("ignore:the digest of lane")]


def cases():
    """Each recording at each share."""
    for file in RECORDED:
        for share in (0.5, 0.25, 0.1):
            marks = [pytest.mark.long] if share != 0.1 or file.stat().st_size >= SMALL else []
            yield pytest.param(file, share, marks=marks, id=f"{file.parent.name}-{file.stem}-{share}")


@pytest.mark.parametrize(("file", "share"), list(cases()))
def test_real_views_are_valid_and_only_required_sizes_refused(file, share):
    """No view is invalid or over budget and only floors are refused."""
    count = resolve("auto").count
    for transcript in sessions(file, share):
        outcome = replay(transcript, budget=share)
        assert (outcome.invalid, outcome.over_budget) == (0, 0), outcome
        if outcome.refused:
            assert _smallest_floor(transcript.messages, count) > 0.75 * share * outcome.raw_tokens


def _smallest_floor(messages, count):
    """Tokens that no clipping can save: the system messages, and a stub for each of user, call, results and notice."""
    leading = 0
    for message in messages:
        if message["role"] != "system":
            break
        leading += count(str(message["content"])) + 4
    parallel = max(len(message.get("tool_calls") or ()) + len(_blocks(message)) for message in messages)
    return leading + 60 * (3 + 2 * parallel)


def _blocks(message):
    content = message.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
