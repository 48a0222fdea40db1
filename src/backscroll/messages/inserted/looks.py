"""Find what looks pasted in a text without a known shape: what a machine wrote, and what no person types at once."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

LONG = 4_000  # characters of distinct sentences: more is not typed at once
_SHORT = 600  # characters of a paragraph at either end of such a text that may have been typed
_MANY = 25  # distinct lines without an empty line between: such a block is pasted
_FENCE = re.compile(r"^[ \t]{0,3}(```+|~~~+)")
_HEADING = re.compile(r"\"?[ \t]{0,3}#{1,6} \S")
_QUOTED = re.compile(r"[ \t]{0,3}>")
_MACHINE = re.compile(
    r"\s*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\s*\[?\d{1,2}:\d\d:\d\d|"  # the time of a log
    r"\s*\[?(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL|TRACE|CRITICAL)\b[\]:| ]|"
    r"\s*Traceback \(most recent|\s+File \".*\", line \d+|\s+at [\w.$<>]+\(|\s*--- (?:FAIL|PASS|SKIP)|(?:FAIL|ok)\s*$|"
    r"(?:diff --git|@@ |index [0-9a-f]{6,}|\+\+\+ |--- \S+/)|[+-](?: {2,}|\t)\S|"  # a diff
    r"\s*[\w./-]+\.\w{1,5}:\d+(?::\d+)?:|\s*\$ \S|"  # a compiler or grep, a shell
    r"={3,}|-{3,}\s*$|\s*\|.*\|\s*$|\s*</?[A-Za-z][\w:.-]*(?:\s[^<>]*)?/?>|"  # a rule, a table, markup
    r"\s*\d+[:|\t].*[(){};=]|.*(?:[)\]}\"'];|\{)\s*$|\s*[}\])]+[;,]?\s*$|\s*\"[\w-]+\": "  # code, JSON
)
_INTRODUCES = re.compile(
    r"\b(?:feedback|comments?|reviews?|errors?|output|logs?|messages?|plan|issues?|spec|says?|said|wrote|results?|"
    r"tickets?|e?mail|report|docs?|document|readme|file|text|page|transcript|trace|diff|code|snippet|items|suggestions?)\b"
    r"[^.!?]*:\s*$",
    re.IGNORECASE,
)
"""A line that announces what is pasted behind it."""
_SECTION = re.compile(r"[A-Z][\w ,'()/-]{2,60}:\s*$")
_SECTIONS = 3  # lines of that kind from which a text is a document


def runs_of(text: str, copied: Callable[[Sequence[str]], Iterable[int]]) -> Iterator[tuple[bool, str]]:
    """Yield a text in runs of lines, each with whether it looks pasted; what is left may have been typed.

    Args:
        text: What no shape of a host explains.
        copied: Finds the numbers of lines that were copied; here what looks like a machine's or a document is found.
    """
    if len(text) > _SHORT and text.strip()[:1] == text.strip()[-1:] == '"':  # the argument of a command
        yield True, text
        return
    lines = text.split("\n")
    pasted = _looks_pasted(lines, copied)
    if len(text) > LONG and _distinct(lines, pasted) > LONG:
        pasted = _all_but_ends(lines, pasted)
    start = 0
    for at in range(1, len(lines) + 1):
        if at == len(lines) or pasted[at] != pasted[start]:
            yield pasted[start], "\n".join(lines[start:at])
            start = at


def _distinct(lines: Sequence[str], pasted: Sequence[bool]) -> int:
    """Return how many characters the different sentences have that do not look pasted."""
    left = (line for line, gone in zip(lines, pasted, strict=True) if not gone)
    return sum(map(len, {sentence for line in left for sentence in line.split(". ")}))


def _sections(lines: Sequence[str]) -> int:
    """Return where the sections of a document begin; the number of lines if it has too few."""
    found = [at for at, line in enumerate(lines) if _SECTION.match(line)]
    return found[0] if len(found) >= _SECTIONS else len(lines)


def _looks_pasted(lines: Sequence[str], copied: Callable[[Sequence[str]], Iterable[int]]) -> list[bool]:
    """Return of each line whether it looks pasted: fences, documents, quotations, and blocks of machines' lines."""
    found = [False] * len(lines)
    machines: list[int] = []
    fence, document = "", _sections(lines)
    for at, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence or mark:
            found[at] = True
            fence = "" if mark and fence and mark[1].startswith(fence) else fence or (mark[1] if mark else "")
        elif at == document or _HEADING.match(line):
            found[at:] = [True] * (len(lines) - at)
            break
        elif _QUOTED.match(line):
            found[at] = True
        elif _MACHINE.match(line):
            machines.append(at)
        elif _INTRODUCES.search(line) and any(each.strip() for each in lines[at + 1 :]):
            found[at + 1 :] = [True] * (len(lines) - at - 1)
            break
    if machines:
        end = _end_of_block(lines, machines[-1])
        found[machines[0] : end] = [True] * (end - machines[0])
    for at in copied(lines):
        found[at] = True
    return _with_dense(lines, found)


def _with_dense(lines: Sequence[str], found: list[bool]) -> list[bool]:
    """Add blocks of more distinct lines than a person types without an empty one."""
    start = 0
    while start < len(lines):
        end = _end_of_block(lines, start)
        if len(set(lines[start:end])) > _MANY:
            found[start:end] = [True] * (end - start)
        start = end + 1
    return found


def _end_of_block(lines: Sequence[str], at: int) -> int:
    while at < len(lines) and lines[at].strip():
        at += 1
    return at


def _all_but_ends(lines: Sequence[str], pasted: Sequence[bool]) -> list[bool]:
    """Return the same where only the first and the last paragraph may be typed, if they are short and of one line."""
    said = [at for at, line in enumerate(lines) if line.strip()]
    typed = {at for at in (said[0], said[-1]) if _is_alone(lines, at) and len(lines[at]) <= _SHORT}
    return [gone or at not in typed for at, gone in enumerate(pasted)]


def _is_alone(lines: Sequence[str], at: int) -> bool:
    return not any(lines[near].strip() for near in (at - 1, at + 1) if 0 <= near < len(lines))
