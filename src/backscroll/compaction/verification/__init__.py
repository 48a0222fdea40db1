"""Checking what a model's summary says against the messages that it covers. Pure; one pass over the messages.

- `wording.py`   words made comparable: case, quotes, endings, near synonyms, and what is denied
- `evidence.py`  what was said, each word by its places
- `claims.py`    the sentences of a summary, what each claims, and which are struck out
"""

from backscroll.compaction.verification.claims import Verdict, of_users, verify
from backscroll.compaction.verification.evidence import Evidence

__all__ = ["Evidence", "Verdict", "of_users", "verify"]
