"""The rules, one idea a file. A rule is pure: it gets a conversation and prices, and yields what it found.

volatile.py   volatile-prefix
rewrites.py   tools-changed, prefix-rewritten, small-compaction
reasoning.py  stale-reasoning, missing-reasoning
marks.py      too-many-marks, mark-order, mark-misplaced, no-marks
lookback.py   lookback, short-prefix
expiry.py     cache-expired
repeats.py    repeated-read
sizes.py      large-schema, unused-tools, large-result
images.py     image-limits
secrets.py    secrets
pairs.py      orphan-call, orphan-result, misordered, duplicate-id
empty.py      empty-content
late_results.py  second-result, late-result
cut_arguments.py  cut-arguments
surrogates.py  lone-surrogate
server_pairs.py  server-pair
not_text.py   result-not-text
twice.py      data-twice
prefill.py    prefill
ranks.py      lost-rank
"""

from backscroll.evaluation.lint.finding import Rule
from backscroll.evaluation.lint.rules import (
    cut_arguments,
    empty,
    expiry,
    images,
    late_results,
    lookback,
    marks,
    not_text,
    pairs,
    prefill,
    ranks,
    reasoning,
    repeats,
    rewrites,
    secrets,
    server_pairs,
    sizes,
    surrogates,
    twice,
    volatile,
)

_FILES = (
    volatile,
    rewrites,
    reasoning,
    marks,
    lookback,
    expiry,
    repeats,
    sizes,
    images,
    secrets,
    pairs,
    empty,
    late_results,
    cut_arguments,
    surrogates,
    server_pairs,
    not_text,
    twice,
    prefill,
    ranks,
)
RULES: tuple[Rule, ...] = tuple(rule for each in _FILES for rule in each.RULES)
"""All rules in the order of the documentation."""
