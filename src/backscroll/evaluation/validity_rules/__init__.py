"""The rules of the oracle, one idea a file. None uses code of the library.

- `case.py`: what a rule judges: a view and its history, read once
- `timeline.py`: the order that a view must have
- `presence.py`: what every view must hold
- `pairs.py`: calls and results, of the server's tools as well
- `arguments.py`: arguments of calls
- `contents.py`: characters, empty blocks, types of results, the same data twice, an answer at the end
- `reasoning.py`: reasoning and what it led to
- `results.py`: no result is lost, and the newest message is last
- `order.py`: order and roles
"""

from backscroll.evaluation.validity_rules import arguments, contents, order, pairs, presence, reasoning, results
from backscroll.evaluation.validity_rules.case import Case, Rule

_FILES = (presence, pairs, arguments, reasoning, contents, results, order)
RULES: tuple[Rule, ...] = tuple(rule for each in _FILES for rule in each.RULES)
"""All rules of the oracle."""

__all__ = ["RULES", "Case", "Rule"]
