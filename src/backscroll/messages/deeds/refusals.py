"""Calls that the user refused, with what he said."""

import re

from backscroll.messages.deeds.arguments import Arguments, command_in, first_text, path_in
from backscroll.messages.deeds.deed import Deed
from backscroll.messages.deeds.frames import REFUSALS
from backscroll.messages.deeds.texts import bounded, one_line

_NEAR = 400  # characters at the beginning of a result in which hosts say that a user refused
_SAID = 2_000
_REFUSED = re.compile(
    rf"\s{{0,20}}(?:<\w+>\s*)?(?:Error: ?)?(?:{'|'.join(pattern for _, pattern, _ in REFUSALS)})", re.IGNORECASE
)
_WORDS = re.compile(
    r"(?:the user said:|the user provided the following (?:reason|feedback)[^:\n]{0,80}:|with the following feedback:|"
    r"\b(?:feedback|reason|reply|comment|instructions):|<feedback>)\s*",
    re.IGNORECASE,
)


def refusal(name: str, arguments: Arguments, result: str) -> Deed | None:
    """Return the deed of a call that the user refused; `None` if he did not."""
    found = _REFUSED.match(result[:_NEAR])
    if found is None:
        return None
    said = _WORDS.search(result[found.end() : found.end() + 2 * _SAID])
    words = result[found.end() + said.end() :][:_SAID].replace("</feedback>", "").strip() if said else ""
    path = path_in(arguments)
    target = command_in(arguments) or path or first_text(arguments, ("url", "query", "title", "subject", "description"))
    plan = first_text(arguments, ("plan",))
    what = f"{one_line(name, 100)} {one_line(target, 200)}".strip()
    return Deed("refused", what, path=path, outcome=words, text=bounded(plan))
