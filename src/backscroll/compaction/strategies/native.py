"""The strategy `native`: the provider's own block takes the place of the beginning of a view."""

from collections.abc import Sequence
from dataclasses import dataclass

from backscroll.compaction.candidates import Window
from backscroll.history.plan import Edit


@dataclass(frozen=True, slots=True)
class NativeStrategy:
    """Use a provider's block that is ready. It runs before all other strategies, wherever it is listed, because an
    edit behind the block would cost the reasoning that it keeps. So nothing is left to do when its turn comes.
    """

    name: str = "native"

    def __call__(self, window: Window, tokens: int) -> Sequence[Edit]:  # noqa: ARG002  a strategy's signature
        """Return no edits: `compaction/policy.py` has used the block by now."""
        return ()
