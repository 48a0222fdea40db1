"""What people and models write, shortened by its structure, without a model. Rooms are characters; callers convert.

- `wording.py`     English words that say something of a sentence: reasons, orders, announcements, short answers
- `lines.py`       one line of a text: its first one, or the beginning that fits
- `sentences.py`   a line split into sentences, of any language that ends them; which ones only announce
- `blocks.py`      a text split into headings, items, rows, paragraphs and code, each with its place
- `passage.py`     a part of a text that may be kept or left out
- `passages.py`    the sentences of a text that may be kept or left out, each with its weight
- `selection.py`   which of them are kept where not all fit
- `shortening.py`  prose shortened: what is kept, in order, with gaps marked
- `remarks.py`     a text written with calls, without sentences that only announce them
- `questions.py`   the last question of an answer with its options, and short answers that mean nothing without it
- `tasks.py`       whether a document asks its reader for something, by its orders and lists
- `user_words.py`  what a user typed, with pasted blocks named

Nothing here knows who wrote a text or where it is from. Words only weigh: a language without a table is shortened by
its structure alone.
"""

from backscroll.messages.prose.lines import cut, first_line
from backscroll.messages.prose.questions import is_go_ahead, question_in
from backscroll.messages.prose.remarks import remark
from backscroll.messages.prose.shortening import short
from backscroll.messages.prose.tasks import is_task
from backscroll.messages.prose.user_words import user_words

__all__ = ["cut", "first_line", "is_go_ahead", "is_task", "question_in", "remark", "short", "user_words"]
