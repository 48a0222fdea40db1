"""Check a model's summary against the messages that it covers, in one pass over these.

- `wording.py`   words made comparable: case, quotes, endings, near synonyms, and negation
- `evidence.py`  the words of the messages, each with its positions
- `claims.py`    the sentences of a summary, their claims, and which are removed
"""

from backscroll.compaction.verification.claims import Verdict, of_users, verify
from backscroll.compaction.verification.evidence import Evidence

__all__ = ["Evidence", "Verdict", "of_users", "verify"]
