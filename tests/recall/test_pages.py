"""Lines of a text, lines around a hit, lines of any length; media beside a page."""

import base64
import re
from typing import Any

import pytest

from backscroll import ContextManager
from backscroll.errors import ConfigurationError
from backscroll.recall.pages import grep, lines_of

TEXT = "\n".join(f"line {number}" for number in range(1, 101))


class Finds:
    def __init__(self, pattern: str) -> None:
        self._pattern = re.compile(pattern)

    def finds(self, line: str) -> bool:
        return self._pattern.search(line) is not None


def numbers(pattern: str, around: int, within: tuple[int, int] | None = None) -> list[int]:
    return [line.number for line in grep(lines_of(TEXT, within), Finds(pattern), around)]


def test_lines_around_a_hit_come_once_each():
    assert numbers("line 50$", 2) == [48, 49, 50, 51, 52]
    assert numbers("line (50|52)$", 2) == [48, 49, 50, 51, 52, 53, 54]
    assert numbers("line (50|57)$", 2) == [48, 49, 50, 51, 52, 55, 56, 57, 58, 59]
    assert numbers("line 50$", 0) == [50]
    assert numbers("line 5", 1, (50, 52)) == [50, 51, 52]


@pytest.mark.parametrize("at", [0, 1_790, 1_999, 2_001, 77_777, 99_990])
def test_a_hit_in_an_endless_line_is_found_wherever_it_stands(at: int):
    text = "x" * at + "NEEDLE" + "x" * (100_000 - at)
    found = list(grep(lines_of(text), Finds("NEEDLE"), 0))
    assert found
    assert all(text[line.offset : line.offset + len(line.text)] == line.text for line in found)


def test_recall_takes_lines_around_a_pattern_within_a_range():
    context = ContextManager()
    context.append({"role": "user", "content": TEXT})
    found = context.recall(0, pattern="line 5", lines=(49, 52), around=1)
    assert [hit.text for hit in found.hits] == ["line 49", "line 50", "line 51", "line 52"]
    assert [TEXT[hit.offset :].startswith(hit.text) for hit in found.hits] == [True] * 4
    with pytest.raises(ConfigurationError, match="`around` must be a number of lines"):
        context.recall(0, pattern="line", around=-1)


def test_media_accompany_a_page_as_they_were_added():
    data = base64.b64encode(b"nothing").decode()
    image: dict[str, Any] = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    context = ContextManager()
    context.append({"role": "user", "content": [{"type": "text", "text": "Look"}, image]})
    whole = context.recall(0)
    assert whole.media == (image,)
    assert "Look" in whole
    assert context.recall("0.1").media == (image,)
    assert context.recall("0.0").media == ()
    whole.media[0]["source"]["data"] = ""
    assert context.recall(0).media == (image,), "what is handed out is a copy"
