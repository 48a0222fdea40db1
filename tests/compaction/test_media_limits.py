"""What a provider accepts of media in one request is a limit of a view, like its budget."""

import base64
import struct
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import BudgetOptions, events
from backscroll.compaction.modes import STANDARD
from backscroll.evaluation.validity import problems
from backscroll.stores.memory import MemoryStore
from backscroll.tokens.counts import Count, MediaCount
from backscroll.tokens.known_models import MediaLimits
from backscroll.tokens.request_media import NO_MEDIA, RequestMedia, exceeds, media_of
from tests.fakes import RecordingSession

HAIKU = "claude-haiku-4-5"  # 100 images
KEPT = int(100 * STANDARD.target_usage)  # of them


def png(width: int, height: int, size: int = 0) -> str:
    """Return the header of a PNG as base64, filled up to so many bytes."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    made = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header))
    return base64.b64encode(made + bytes(max(0, size - len(made)))).decode()


SMALL = png(200, 100)


def shot(number: int, data: str = SMALL) -> list[dict[str, Any]]:
    """Return a call and its result, which is a screenshot."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    call = {"type": "tool_use", "id": f"c{number}", "name": "look", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": f"c{number}", "content": [{"type": "text", "text": "ok"}, image]}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}]


def begun(**options) -> RecordingSession:
    large = {"model": HAIKU, "budget": BudgetOptions(max_tokens=900_000), "clear_at_least_tokens": None}
    session = RecordingSession(**large | {"tokenizer": "estimate"} | options)
    session.manager.append({"role": "user", "content": "Click through the shop."})
    return session


def images_in(view: list[dict[str, Any]]) -> int:
    return str(view).count("'type': 'image'")


@pytest.mark.long
def test_view_never_holds_more_images_than_the_provider_accepts():
    session = begun()
    view, seen, extended = [], [], 0
    for number in range(260):
        session.manager.append(*shot(number))
        before, view = view, session.manager.get_messages_for_request()
        seen.append(images_in(view))
        extended += view[: len(before)] == before
        assert problems(view, session.manager.get_messages()) == []
    assert max(seen) == 100
    assert min(seen[100:]) == KEPT
    cleared = session.payloads(events.MEDIA_CLEARED)
    assert 260 - extended == session.compactions == len(cleared) == 6  # one for each 31 after the first 100
    assert {each["trigger"] for each in session.payloads(events.COMPACTION)} == {"media_limit"}
    assert cleared[0] == {"lane": "main", "images": KEPT, "bytes": cleared[0]["bytes"], "cleared": 101 - KEPT}


def test_cleared_image_is_recalled_and_explained():
    session = begun()
    for number in range(101):
        session.manager.append(*shot(number))
    session.manager.get_messages_for_request()
    first = next(found for found in session.manager.explain() if found.state == "cleared")
    assert first.reason == "media limit"
    assert session.manager.recall(first.ref).media


def test_oldest_images_go_and_protected_ones_stay():
    session = begun()
    image = shot(0)[1]["content"][0]["content"][1]
    session.manager.append({"role": "user", "content": [image], "metadata": {"pinned": True}})
    for number in range(110):
        session.manager.append(*shot(number))
    view = session.manager.get_messages_for_request()
    states = {found.seq: found.state for found in session.manager.explain()}
    assert states[1] == "whole"
    assert states[3] == "cleared"
    assert states[2 + 2 * 109 + 1] == "whole"
    assert images_in(view) == KEPT


def test_protected_images_over_the_limit_warn_once():
    session = begun()
    image = shot(0)[1]["content"][0]["content"][1]
    session.manager.append({"role": "user", "content": [image] * 102, "metadata": {"pinned": True}})
    with pytest.warns(RuntimeWarning, match=r"the 102 images of lane 'main' .*100 images, .*unpin messages"):
        view = session.manager.get_messages_for_request()
    assert images_in(view) == 102
    for number in range(5):
        session.manager.append(*shot(number))
        session.manager.get_messages_for_request()
    assert len(session.payloads(events.MEDIA_OVER_LIMIT)) == 1


def test_bytes_of_a_request_are_a_limit():
    session, heavy = begun(), png(200, 100, 3_000_000)
    for number in range(12):
        session.manager.append(*shot(number, heavy))
        view = session.manager.get_messages_for_request()
        assert len(str(view)) < 32_000_000
    assert session.payloads(events.MEDIA_CLEARED)


def test_image_that_no_request_may_hold_is_cleared_alone():
    session = begun()
    session.manager.append(*shot(0, png(9_000, 100)), *shot(1), *shot(2))
    view = session.manager.get_messages_for_request()
    assert images_in(view) == 2
    assert session.payloads(events.MEDIA_CLEARED)[0]["cleared"] == 1


def test_image_that_no_request_may_hold_is_cleared_unseen():
    """The newest result and a user's attachment included: the provider would refuse every request."""
    session, huge = begun(), png(9_000, 100)
    session.manager.append(*shot(0, huge))
    assert images_in(session.manager.get_messages_for_request()) == 0
    session.manager.append({"role": "assistant", "content": "Too large."})
    session.manager.append({"role": "user", "content": shot(0, huge)[1]["content"][0]["content"]})
    with pytest.warns(RuntimeWarning, match="attach a smaller one"):
        view = session.manager.get_messages_for_request()
    assert images_in(view) == 0
    assert [each["cleared"] for each in session.payloads(events.MEDIA_CLEARED)] == [1, 1]
    assert not session.payloads(events.MEDIA_OVER_LIMIT)


def test_large_images_go_once_there_are_many():
    """More than 20 images lower the limit of an edge to 2,000 pixels."""
    session, large = begun(), png(2_400, 100)
    for number in range(20):
        session.manager.append(*shot(number, large if number in (3, 5) else SMALL))
    assert images_in(session.manager.get_messages_for_request()) == 20
    session.manager.append(*shot(20), *shot(21), *shot(22))
    assert images_in(session.manager.get_messages_for_request()) == 21
    states = [found.state for found in session.manager.explain()]
    assert [seq for seq, state in enumerate(states) if state == "cleared"] == [8, 12]


def test_clearing_removes_bound_reasoning_behind_the_image():
    """A provider that binds reasoning refuses what was made after the cleared image, and keeps what was made before."""
    session, large = begun(model="claude-opus-5-5"), png(2_400, 100)
    for number in range(23):
        call, answer = shot(number, large if number == 5 else SMALL)
        thought = {"type": "thinking", "thinking": "I look.", "signature": f"s{number}"}
        session.manager.append({**call, "content": [thought, *call["content"]]}, answer)
        view = session.manager.get_messages_for_request()
        if number == 19:
            assert str(view).count("signature") == 20
    assert images_in(view) == 22
    signed = [block["signature"] for each in view for block in each["content"] if "signature" in block]
    assert signed[:6] == [f"s{number}" for number in range(6)]
    assert not {f"s{number}" for number in range(6, 20)} & set(signed)
    assert session.payloads(events.REASONING_REMOVED)[0]["trigger"] == "media_limit"


def test_unknown_model_has_no_limit_of_media():
    session = begun(model=None)
    for number in range(110):
        session.manager.append(*shot(number))
    assert images_in(session.manager.get_messages_for_request()) == 110


def test_view_after_a_restart_is_the_same():
    store = MemoryStore()
    session = begun(session="s", store=store)
    for number in range(130):
        session.manager.append(*shot(number))
        view = session.manager.get_messages_for_request()
    session.manager.close()
    again = RecordingSession(
        session="s", store=store, model=HAIKU, budget=900_000, clear_at_least_tokens=None, tokenizer="estimate"
    )
    assert again.manager.get_messages_for_request() == view


LIMITS = MediaLimits(100, 1_000, 800, 30_000, 20, 200)
COUNTS = st.lists(
    st.one_of(
        st.builds(Count, st.integers(0, 50)),
        st.builds(
            MediaCount,
            st.sampled_from(["image", "document"]),
            st.integers(0, 900),
            st.integers(0, 900),
            st.just(0),
            st.integers(0, 1_200),
        ),
    ),
    max_size=8,
)


@settings(max_examples=50)
@given(st.lists(COUNTS, max_size=8))
def test_sums_of_messages_add_up_to_those_of_all(messages):
    total = NO_MEDIA
    for counts in messages:
        total = total.plus(media_of(tuple(counts), LIMITS))
    assert total == media_of(tuple(count for counts in messages for count in counts), LIMITS)
    for counts in messages:
        total = total.minus(media_of(tuple(counts), LIMITS))
    assert total == NO_MEDIA


@pytest.mark.parametrize(
    ("media", "over"),
    [
        (RequestMedia(100, 20_000), False),
        (RequestMedia(101), True),
        (RequestMedia(20, 0, 20), False),
        (RequestMedia(21, 0, 1), True),
        (RequestMedia(1, 0, 0, 1), True),
        (RequestMedia(1, 29_000), True),
        (NO_MEDIA, False),
    ],
)
def test_request_over_any_limit_exceeds_them(media, over):
    assert exceeds(media, LIMITS, 1_000) is over


@settings(max_examples=10, deadline=None)
@given(st.integers(12_000, 60_000), st.lists(st.integers(1, 40), min_size=4, max_size=12))
def test_limit_holds_together_with_other_compactions(budget, batches):
    """Compactions by tokens and by media in the same request, several images to a step."""
    session, number = begun(budget=budget), 0
    for batch in batches:
        for _ in range(batch):
            session.manager.append(*shot(number))
            number += 1
        assert images_in(session.manager.get_messages_for_request()) <= 100
        assert session.manager.usage().used_upper_bound <= budget
