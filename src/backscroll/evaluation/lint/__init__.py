"""What is wrong with a transcript, or with requests as sent: `backscroll lint`.

- `finding.py`: what a rule is, and what it finds; `place.py`: where
- `request.py`: a request in any provider's shape; `same.py`: when two pieces of it are the same for a provider
- `talk.py`: what is linted: a transcript, or the requests of one conversation
- `rows.py`: messages whose calls and results have to match
- `inputs.py`: files to these
- `costs.py`: tokens, and what they cost at the prices of a prompt cache
- `breaks.py`: where a request changes what the one before it began with
- `rules/`: the rules, one idea a file
- `run.py`: runs them
"""

from backscroll.evaluation.lint.costs import Costs
from backscroll.evaluation.lint.finding import SEVERITIES, Finding, Rule, Severity
from backscroll.evaluation.lint.inputs import chained, talks_of
from backscroll.evaluation.lint.place import Place
from backscroll.evaluation.lint.request import Request, read_body
from backscroll.evaluation.lint.rules import RULES
from backscroll.evaluation.lint.run import lint, lint_all
from backscroll.evaluation.lint.talk import Talk

__all__ = [
    "RULES",
    "SEVERITIES",
    "Costs",
    "Finding",
    "Place",
    "Request",
    "Rule",
    "Severity",
    "Talk",
    "chained",
    "lint",
    "lint_all",
    "read_body",
    "talks_of",
]
