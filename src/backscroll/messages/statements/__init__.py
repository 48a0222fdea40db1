"""What users state as facts, and which statement replaces an older one.

- `values.py`       values in a sentence: dates, times, numbers, codes, names
- `corrections.py`  wordings that name the new value and the old one, as in "no longer Bern but Basel"
- `reading.py`      sentences read as subject and value
- `replacement.py`  same subject, other value: the newer statement replaces the older one

English only. A statement that is not recognized is an ordinary sentence. A wrong recognition would hide a fact, so
every doubt counts against it.
"""

from backscroll.messages.statements.reading import Statement, is_order, search_words, sentences_of, statements_in
from backscroll.messages.statements.replacement import Remark, Sentence, replaced_by

__all__ = [
    "Remark",
    "Sentence",
    "Statement",
    "is_order",
    "replaced_by",
    "search_words",
    "sentences_of",
    "statements_in",
]
