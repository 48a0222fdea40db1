"""Warnings of a conversation in words for a user of `backscroll serve`, who passes no arguments to a manager."""

import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from backscroll import events
from backscroll.notices import BackscrollWarning

_ADVICE: Mapping[str, str] = {
    events.OVERHEAD_LARGE: "{tokens:,} of the {budget:,} tokens of a request to {lane} are not messages, but mostly "
    "tool definitions: switch off tools or MCP servers of the agent that it does not need, or raise --budget",
    events.COMPACTION_WON_LITTLE: "compactions for {lane} win too little and follow each other, since {tokens:,} of "
    "{budget:,} tokens must stay ({made_of}): raise --budget, or begin a new conversation",
    events.WINDOW_ASSUMED: "the window of {model!r} is not known, and {window:,} tokens are assumed: pass --budget",
    events.USAGE_REJECTED: "the usage that the provider counted for {lane}, {reported}, is not used, since {reason}: "
    "requests are measured here until it counts otherwise",
    events.USAGE_CORRECTED: "the {reported:,} tokens that the provider counted for {lane} are taken as {taken:,}, "
    "since {reason}",
}
"""The events whose general warnings name what only a program can do."""


def advise(note: Callable[[str], object]) -> Callable[[str, Mapping[str, Any]], None]:
    """Return a listener that notes such events in these words, and silence their general warnings.

    Args:
        note: Takes a sentence. One that it took last for an event is not noted again.
    """
    for name in _ADVICE:
        beginning = events.WARNINGS[name].partition("{")[0]
        warnings.filterwarnings("ignore", re.escape(beginning), BackscrollWarning)
    last: dict[str, str] = {}

    def heard(name: str, payload: Mapping[str, Any]) -> None:
        if name in _ADVICE:
            said = _ADVICE[name].format_map(payload)
            if last.get(name) != said:
                last[name] = said
                note(said)

    return heard
