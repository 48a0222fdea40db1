"""How lines of a chronicle begin, by what they say, and how changes of files merge in one line."""

import re
from collections.abc import Mapping, Sequence

COMMIT, PUSH, CHECK, PLAN, DELEGATED, ASKED, REFUSED, STARTED, LOOKED, FAILED, WROTE = (
    "commit ", "push: ", "check `", "plan: ", "delegated ", "asked the user: ", "the user refused ", "started `",
    "looked at ", "failed: ", "in ",
)  # fmt: skip  # one list
EDITS = ("created ", "edited ", "deleted ", "wrote ", "moved ", "restored ")
"""How lines begin, by kind of deed. A command that is nothing in particular begins with a backtick."""
ANSWER = "\nanswer: "
NOTHING = "nothing found: "
GOES_ON = "(continued)"
DOCUMENT = "read "
_FOR_AGENTS = re.compile(r"(?:claude|agents|gemini|contributing|copilot|rules|conventions)[^/]*$", re.IGNORECASE)
_PROSE = re.compile(r"\.(?:md|mdx|txt|rst|adoc)$", re.IGNORECASE)
_EDIT = re.compile(r"(created|edited|deleted|wrote|moved|restored) (.+?)(?: x(\d+))?")
_FEW = 4  # files of a merged line that are named one by one


def is_for_agents(path: str) -> bool:
    """Return whether a document says how agents have to work in the project, by its name."""
    return _FOR_AGENTS.search(path) is not None


def is_prose(path: str) -> bool:
    """Return whether a file is a text for people, by its name."""
    return _PROSE.search(path) is not None


def merged_edits(lines: Sequence[str], *, name_all: bool = True) -> str:
    """Return several lines of changes as one. `name_all`: name every file, and not only a few of many."""
    counts: dict[tuple[str, str], int] = {}
    for item in "; ".join(lines).split("; "):
        if (found := _EDIT.fullmatch(item)) is not None:
            how, path, times = found.groups()
            counts[how, path] = counts.get((how, path), 0) + int(times or 1)
    files = list(dict.fromkeys(path for _, path in counts))
    if name_all or len(files) <= _FEW:
        return written(counts) or "; ".join(lines)
    return f"edited {len(files)} files ({', '.join(files[: _FEW - 1])}, …)"


def written(counts: Mapping[tuple[str, str], int]) -> str:
    """Write how often each file was changed in which way, by way and path."""
    return "; ".join(f"{how} {path}" + (f" x{times}" if times > 1 else "") for (how, path), times in counts.items())
