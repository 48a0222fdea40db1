"""`lone-surrogate`: half a character, which no client can encode as UTF-8.

Sources: `UnicodeEncodeError` of the clients of Python, and Anthropic's error "no low surrogate in string".
"""

import json
from collections.abc import Iterator

from backscroll.evaluation.lint.finding import Rule
from backscroll.evaluation.lint.rows import Fault, Row, each


def _halves(row: Row) -> Iterator[Fault]:
    for at, message in enumerate(row.messages):
        try:
            json.dumps(message, ensure_ascii=False, default=str).encode()
        except UnicodeEncodeError:
            yield Fault(at, "", "a text holds half a character (a lone surrogate)")


RULES = (
    Rule(
        "lone-surrogate",
        "error",
        "Cut texts between characters, and replace half of one by U+FFFD.",
        each(_halves),
        ("lone_surrogate",),
    ),
)
