"""A result without the frame of its host, its exit code, and the run that goes on behind it."""

import json
import re
from itertools import pairwise
from typing import NamedTuple

from backscroll.messages.deeds.frames import FILE_NUMBERS, FRAMES, NUMBERS, Form
from backscroll.messages.deeds.texts import bounded
from backscroll.messages.inserted.shapes import SHAPES

_WORDS = ("running", "launched")
"""What a frame says of a run in place of its id."""
_LINE = 400  # characters of a line that can be a frame: the longest recorded one has 182
_NUMBERED = 0.9  # share of lines with ascending numbers from which they are a file's; wrapped lines have none
ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,300}(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")
"""Codes of a terminal: colours, movements, titles and links."""
BARE_COLOUR = re.compile(r"\[(?:\d{1,3};){0,4}\d{1,3}m(?!\])")
"""Colours without the escape, which some stores of sessions drop."""


def _any(form: Form) -> re.Pattern[str]:
    """Return one pattern for all frames of a form; what it says is in the only group that matched."""
    return re.compile("|".join(f"(?:{row.pattern})" for row in FRAMES if row.form == form))


_TAGGED = [row.pattern for row in FRAMES if row.form == "line" and r"\1" in row.pattern]
_PLAIN = re.compile("|".join(f"(?:{row.pattern})" for row in FRAMES if row.form == "line" and r"\1" not in row.pattern))
_TAGS = tuple(re.compile(pattern) for pattern in _TAGGED)
_EXIT, _RUNNING, _ID = _any("exit"), _any("running"), _any("id")
_OVER, _LEAD, _FILE = _any("over"), _any("lead"), _any("file")
_BLOCK = "|".join(shape.pattern for shape in SHAPES if (shape.name, shape.form) == ("reminder", "tag"))
"""What hosts append to results as well as to texts of users."""
BLOCKS = re.compile(rf"<(/?)(?:{_BLOCK})>")
LINE_NUMBERS = tuple(re.compile(pattern) for _, pattern, _ in NUMBERS)
_FILE_NUMBERS = tuple(re.compile(pattern) for _, pattern, _ in FILE_NUMBERS)
_NUMBER = re.compile(r"\d+")


class Framed(NamedTuple):
    """A result in its frame."""

    text: str
    """What the tool returned."""
    code: int | None = None
    """The exit code of a command; `None` if the frame has none."""
    running: str = ""
    """The id of a run that goes on; empty if nothing does. a word where its host shows no id."""
    over: bool = False
    """Whether the frame says that a run ended."""
    file: str = ""
    """The file that the result is of, where the frame names it."""


def without_envelope(text: str) -> tuple[str, int | None, str]:
    """Return a result without its host's frame, the exit code, and the id of a run that goes on.

    Args:
        text: The result. Of more than 40,000 characters the two ends are read and returned.

    Returns:
        The text without frames, terminal codes and the numbers of a file's lines; the exit code, `None` if the frame
        has none; the id of what still runs, empty if nothing does.
    """
    framed = unframed(text)
    return framed.text, framed.code, framed.running


def unframed(text: str) -> Framed:
    """Return a result and what its frame says."""
    text = bounded(text)
    if recorded := _from_json(text):
        text, code = recorded
    else:
        code = None
    text = _without_blocks(_without_colours(text).replace("\r\n", "\n"))
    lines = text.split("\n")
    frame = _Frame(code)
    first = frame.skip(lines, 0, len(lines), 1)
    last = frame.skip(lines, len(lines) - 1, first - 1, -1) + 1
    kept = _unnumbered(lines[first:last], LINE_NUMBERS)
    return Framed("\n".join(kept).strip("\n"), code=frame.code, running=frame.goes_on, over=frame.over, file=frame.file)


class _Frame:
    """What the lines of a frame say."""

    def __init__(self, code: int | None) -> None:
        self.code = code
        self.running = ""
        self.id = ""
        self.over = False
        self.file = ""

    @property
    def goes_on(self) -> str:
        """The id of a run that goes on; a word where its host shows no id."""
        return self.id if self.running in _WORDS and self.id else self.running

    def skip(self, lines: list[str], at: int, end: int, step: int) -> int:
        """Return the number of the first line, in this direction, that belongs to the result."""
        while at != end and self._is_frame(lines[at]):
            at += step
        if at != end and step > 0 and (lead := _LEAD.match(lines[at])):
            lines[at] = lines[at][lead.end() :]
        return at

    def _is_frame(self, line: str) -> bool:
        line = line.strip()
        if not line:
            return True
        if len(line) > _LINE:
            return False
        if found := _EXIT.fullmatch(line):
            self.code = int(_only(found)[:9])
        elif found := _RUNNING.fullmatch(line):
            self.running = self.running or _only(found).replace("still ", "")
        elif found := _ID.fullmatch(line):
            self.id = _only(found)
        elif found := _FILE.fullmatch(line):
            self.file = self.file or _only(found)
        elif _OVER.fullmatch(line):
            self.over = True
        else:
            return says_nothing(line)
        return True


def says_nothing(line: str) -> bool:
    """Return whether a line of a frame says nothing of the result."""
    return len(line) <= _LINE and (bool(_PLAIN.fullmatch(line)) or any(tag.fullmatch(line) for tag in _TAGS))


def _only(found: re.Match[str]) -> str:
    return next(group for group in found.groups() if group is not None)


def _from_json(text: str) -> tuple[str, int | None] | None:
    """Return output and exit code of a result that is JSON around them, as of an older Codex, of Gemini and of ADK."""
    if not text.startswith('{"'):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    output, metadata = value.get("output", value.get("result")), value.get("metadata", value)
    code = metadata.get("exit_code") if isinstance(metadata, dict) else None
    if not isinstance(output, str) or len(value) > 3:
        return None
    return output, code if type(code) is int else None


def _without_colours(text: str) -> str:
    if "\x1b" in text:
        text = ANSI.sub("", text)
    return BARE_COLOUR.sub("", text)


def _without_blocks(text: str) -> str:
    """Return a text without the blocks that a host appends, tags and all."""
    if "<" not in text:
        return text
    kept: list[str] = []
    at, opened = 0, -1
    for tag in BLOCKS.finditer(text):
        if not tag.group(1) and opened < 0:
            opened = tag.start()
        elif tag.group(1) and opened >= 0:
            kept.append(text[at:opened])
            at, opened = tag.end(), -1
    kept.append(text[at:])
    return "".join(kept)


def unnumbered(text: str) -> str:
    """Return the text of a file without the numbers that a host puts before its lines."""
    return "\n".join(_unnumbered(text.split("\n"), _FILE_NUMBERS))


def _unnumbered(lines: list[str], patterns: tuple[re.Pattern[str], ...]) -> list[str]:
    """Return the lines without their numbers, if nearly all have one and these count up by one."""
    first = next((line for line in lines if line.strip()), "")
    patterns = tuple(pattern for pattern in patterns if pattern.match(first))
    filled = [line for line in lines if line.strip()] if patterns else []
    for pattern in patterns:
        numbers = [_number(line) for line in filled if pattern.match(line)]
        rises = sum(after == before + 1 for before, after in pairwise(numbers))
        if numbers and len(numbers) >= _NUMBERED * len(filled) and rises >= _NUMBERED * (len(numbers) - 1):
            return [line[found.end() :] if (found := pattern.match(line)) else line for line in lines]
    return lines


def _number(line: str) -> int:
    found = _NUMBER.search(line)
    return int(found.group(0)[:9]) if found else 0
