"""`second-result` and `late-result`: results that cannot follow their calls.

Sources: the error texts of `pairs.py`, and reports of tools that run long or wait for an approval, whose second or late
result with the same id was refused.
"""

from collections.abc import Iterator

from backscroll.evaluation.lint.finding import Rule
from backscroll.evaluation.lint.rows import Fault, Row, each, odd_results


def _second(row: Row) -> Iterator[Fault]:
    for (at, call), kind in odd_results(row).items():
        if kind == "second":
            yield Fault(at, call, f"the call {call:.30} has a result already")


def _late(row: Row) -> Iterator[Fault]:
    for (at, call), kind in odd_results(row).items():
        if kind == "late":
            yield Fault(at, call, f"the conversation went on before the result of the call {call:.30}")


RULES = (
    Rule(
        "second-result",
        "error",
        "Send the first result with its call, and a later one as text of the user that names the call.",
        each(_second),
        ("second_result",),
    ),
    Rule(
        "late-result",
        "error",
        "Answer the call with a placeholder, and send its result as text of the user when it comes.",
        each(_late),
        ("late_result",),
    ),
)
