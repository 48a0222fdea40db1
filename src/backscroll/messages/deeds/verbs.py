"""Verbs in names of tools and in commands: those that look something up, and those that change something."""

import re
from functools import lru_cache

READS = frozenset(
    "activate ag analyse analyze ask back browse calc calculate can capture cat check compare compute convert count "
    "crawl describe detect diagnostics diff discover display enumerate estimate examine exists explain explore "
    "extract fd fetch filter find forward get glob goto grep has help history hover identify info inspect intent "
    "investigate investigator is list load locate logs look lookup ls lsp map measure monitor navigate observe open "
    "outline page parse peek ping poll preview print profile query quote read reason recall recommend references "
    "refresh reload report research researcher resolve retrieve rg scan scrape screenshot scroll search select sense "
    "show skill sleep snapshot stat stats status suggest summarize symbols tail think toolsearch trace transcribe "
    "translate tree validate verify version view visit wait watch webfetch websearch whoami".split()
)
"""A tool whose first verb is one of these only looks something up, or only thinks."""
CHANGES = frozenset(
    "accept add adjust append apply approve archive assign attach attempt ban cancel chmod clear click commit "
    "complete configure confirm connect copy cp create deactivate decline decrease delegate delete deny detach "
    "disable dismiss dispatch downgrade drag drop edit enable encrypt escalate exec execute export fill finish forget "
    "generate grant handoff hire import increase insert install invite invoke join kill launch leave link login "
    "logout mark memorize merge migrate mkdir modify move mv notify overwrite patch pause pay post prepend press "
    "provision publish purchase push put reactivate rebase refund register reject release remember remove rename "
    "reopen replace reply reschedule reset restart restore resubmit resume revert revoke rm rollback save sell send "
    "set share spawn stage start stop submit subscribe suspend swipe tap terminate toggle touch transfer trigger turn "
    "type unarchive unassign unblock undo uninstall unlink unlock unpin unshare unstage unsubscribe update upgrade "
    "upload vote write".split()
)
"""A tool whose first verb is one of these changes something."""
NOUNS = frozenset(
    "bash block book build buy call charge checkout comment deploy draft email exchange follow fork issue key label "
    "like lock make message note order pin process rate record request return rotate run schedule ship sign store "
    "switch sync tag terminal use".split()
)
"""Verbs of change that are nouns as well: they count where no other verb is in the name, as in `book_room`, and not in
`order_status`.
"""
SHOWN = frozenset("details docs documentation info log page pages results schema screen".split())
"""Names of information: a tool without a verb whose last word is one of these shows it."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LONGEST = 300  # characters of a name: providers accept 128 at most
_SERVER = re.compile(r"__|[./:]")


@lru_cache(maxsize=512)  # a session has a few dozen tools
def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a tool's name in lower case, without the server of MCP that offers it."""
    tool = next((part for part in reversed(_SERVER.split(name[:_LONGEST])) if part), "")
    return tuple(word.lower() for word in _WORD.findall(tool))


def reads_by_name(name: str) -> bool | None:
    """Return whether a tool's name says that it looks something up; `None` if the name says neither."""
    words = words_of(name)
    for word in words:
        if word in READS:
            return True
        if word in CHANGES:
            return False
    if words and words[-1] in SHOWN:
        return True
    return False if NOUNS.intersection(words) else None
