"""`lost-rank`: a system message in the middle that a compaction of the client took out of the requests.

Source: the rule of hosts that system messages stay (contract 2.1.0 of Amplifier), and vendors' advice to give
instructions in the middle of a conversation as system or developer messages.
"""

from collections.abc import Iterator

from backscroll.evaluation.lint.costs import Costs
from backscroll.evaluation.lint.finding import Found, Rule
from backscroll.evaluation.lint.place import Place
from backscroll.evaluation.lint.request import Request
from backscroll.evaluation.lint.talk import Talk
from backscroll.messages import read_message


def _lost(talk: Talk, costs: Costs) -> Iterator[Found]:
    for step in talk.steps:
        left = set(step.after.message_keys)
        gone = [at for at, known in enumerate(step.before.message_keys) if known not in left]
        orders = [at for at in gone if _is_order(step.before, at)]
        if len(orders) == len(gone) or step.after.begins_elsewhere:
            continue  # the host took back what it had said, and nothing else
        text = str([step.after.system, *step.after.messages])
        for at in orders:
            words = "".join(part.text for part in read_message(step.before.messages[at]).parts)
            if words and repr(words)[1:-1] not in text:
                place = Place(f"{step.before.list_name}[{at}]", step.before.number)
                yield Found(place, f"a system message is not in request {step.after.number} and later ones")


def _is_order(request: Request, at: int) -> bool:
    return request.messages[at].get("role") in ("system", "developer")


RULES = (Rule("lost-rank", "warning", "Keep system messages when older messages leave.", _lost, ("lost_rank",)),)
