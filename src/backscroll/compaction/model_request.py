"""Compactions that the model asks for: when they have to wait, and which are worth their price.

A model may call the tool again and again. What it asks for costs the prompt cache, so it must free enough, and another
one has to wait until the view has grown.
"""

from collections.abc import Callable

from backscroll.compaction.decision import NOTHING_DUE, Decision
from backscroll.tokens.budget import TokenTargets

GROWN = 0.1
"""Of the room: by so much a view must have grown since the last compaction."""
FREED = 0.1
"""Of the request: less is not worth a new prompt cache."""


def too_early(targets: TokenTargets, used: int, settled: int) -> str:
    """Return why a compaction has to wait; empty if it need not.

    Args:
        targets: What the lane's requests may take.
        used: Tokens of the request now.
        settled: Tokens of the request when a compaction was last considered; 0 before the first one.
    """
    if used <= targets.target:
        return (
            f"the context holds {used:,} of {targets.total:,} tokens, and compacting would bring it to "
            f"{targets.target:,}: go on"
        )
    grown = settled + int(GROWN * targets.room)
    if settled and used < grown:
        return (
            f"the context was compacted a short while ago and holds {used:,} tokens: go on, and ask again once it "
            f"holds {grown:,}"
        )
    return ""


def worthwhile(decide: Callable[[], Decision]) -> Decision:
    """Return the decision if its compaction frees enough; else one that changes nothing."""
    decision = decide()
    done = decision.compaction
    enough = done is not None and done.before_tokens - done.after_tokens >= FREED * done.before_tokens
    return decision if enough else NOTHING_DUE
