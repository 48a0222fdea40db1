"""The rules, one idea a file. A rule is pure: it gets a conversation and prices, and yields what it found.

volatile.py   volatile-prefix
rewrites.py   tools-changed, prefix-rewritten, small-compaction
marks.py      too-many-marks, mark-order, mark-misplaced, no-marks
pairs.py      orphan-call, orphan-result, misordered, duplicate-id
repeats.py    repeated-read
"""

from backscroll.evaluation.lint.finding import Rule
from backscroll.evaluation.lint.rules import marks, pairs, repeats, rewrites, volatile

RULES: tuple[Rule, ...] = (*volatile.RULES, *rewrites.RULES, *marks.RULES, *pairs.RULES, *repeats.RULES)
"""All rules in the order of the documentation."""
