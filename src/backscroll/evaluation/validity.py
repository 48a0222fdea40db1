"""An oracle for views: what a provider would reject, and what the design forbids. It uses no code of the library.

It judges only by messages, so it works for any context manager and any dialect. It is strict where a provider is
strict, and each exception to a rule is documented next to it. `validity_rules` has the rules.
"""

from collections.abc import Sequence

from backscroll.evaluation.dialects import Message, Shape, name_answers
from backscroll.evaluation.odd_parts import has_halves, whole_characters
from backscroll.evaluation.validity_rules import RULES, Case, Rule


class Judge:
    """Judges the requests of one session. Each message of the history is read once, so it must not change."""

    def __init__(self, rules: Sequence[Rule] = RULES, *, takes_prefill: bool = True) -> None:
        """Make a judge.

        Args:
            rules: What is judged. A test may leave a rule out.
            takes_prefill: Whether the model goes on from an answer at the end of a request.
        """
        self._read: dict[int, Shape] = {}
        self._rules, self._takes_prefill = rules, takes_prefill

    def problems(self, view: list[Message], history: list[Message], numbers: Sequence[int] | None = None) -> list[str]:
        """Return what is wrong with `view` as a request that represents `history`, one line each; empty if it is valid.

        Args:
            view: The messages that would be sent.
            history: The whole conversation.
            numbers: The number under which a reference names each message of the history. `None`: its index, as long as
                nothing was rewound.

        A result follows its call. One that came after the conversation went on, a second one, and one for a call that
        was never made is text of the user where it came: "Later result of run_job (call_1) [ref:7]:". Its call keeps a
        placeholder. So each call has a result, also at the end, where only tools of the server and approvals may wait.

        A view may begin with a provider's own compaction, which is in no message of the history, instead of the
        messages that it represents. Then a summary must quote the user's first and last message if they are not shown.
        """
        if not history:
            return [] if not view else ["the view holds messages although the history is empty"]
        if not view:
            return ["the view is empty"]
        kept = [self._shape(message) for message in history]
        for at, message in enumerate(kept):
            for piece in message.pieces:
                piece.place = at if numbers is None else numbers[at]
        sent = [Shape(message) for message in view]
        name_answers(kept)
        name_answers(sent)
        shown = [piece for message in sent for piece in message.pieces]
        case = Case(shown, [piece for message in kept for piece in message.pieces], takes_prefill=self._takes_prefill)
        return [line for rule in self._rules if rule.is_kept or not case.is_native for line in rule.check(case)]

    def _shape(self, message: Message) -> Shape:
        known = self._read.get(id(message))  # the history keeps the message alive, so its id is not reused
        if known is None:
            known = self._read[id(message)] = Shape(whole_characters(message) if has_halves(message) else message)
        return known


def problems(view: list[Message], history: list[Message], numbers: Sequence[int] | None = None) -> list[str]:
    """Return the problems that a new `Judge` finds."""
    return Judge().problems(view, history, numbers)
