"""Find the question that an answer ends with, and the short answers that mean nothing without it."""

import re
from collections.abc import Sequence
from itertools import takewhile

from backscroll.messages.prose.blocks import Block, blocks_of
from backscroll.messages.prose.lines import READ, cut
from backscroll.messages.prose.sentences import QUESTION, sentences_in
from backscroll.messages.prose.wording import AGREEMENT, GO_AHEAD, POINTER, REQUEST

_NEAR = 14  # blocks at the end of an answer in which its question is
_MOST_OPTIONS = 8
_OPTION = 160  # characters of an option, which its beginning names
_NAMES = 8  # characters that an option needs: "1. Redis"
_SHORT = 60  # characters below which a question needs what is before it: "Should I do that?"
_ANSWER = 60  # characters of a short answer: a longer one says itself what it wants
_WORD = re.compile(r"[^\W_]+(?:['\u2019]\w+)?")
_CHOICE = re.compile(
    r"(?:options?|choices?|numbers?|no\.?|#)?\s*\(?(?:\d{1,2}|[a-f])\)?(?:\s*(?:,|and|&|\+|-|to)\s*\d{1,2})*[.!)]?"
)


def question_in(text: str, room: int) -> str:
    """Return the last question of an answer, a line, with its options, a line each, in at most `room` characters; ""
    if it asks nothing.
    """
    blocks = [block for block in blocks_of(text[-READ:]) if block.kind != "code"]
    near = range(len(blocks) - 1, max(-1, len(blocks) - 1 - _NEAR), -1)
    at = next((number for number in near if _asked(blocks[number])), None)
    if at is None or room < 1:
        return ""
    before, after = _options(blocks, at)
    if at and not before + after and len(blocks[at].text) < _SHORT:
        before = [sentences_in(blocks[at - 1].text)[-1]]  # of what it asks: "Want me to do it?"
    question = cut(_asked(blocks[at]), max(room // 2, room - (_OPTION + 1) * len(before + after)))
    before, after = _fitting(before, after, room - len(question))
    return "\n".join([*before, question, *after])


def is_go_ahead(text: str) -> bool:
    """Return whether a user's answer means nothing without its question, such as "yes", "option 1" or "fix all 5"."""
    answer = text.strip().lower()
    if not answer or len(answer) > _ANSWER or "\n" in answer or answer.startswith("/"):
        return False
    if _CHOICE.fullmatch(answer):
        return True
    words = _WORD.findall(answer)
    if not words:
        return False
    if words[0] in AGREEMENT or any(answer.startswith(word) for word in AGREEMENT if not word.isascii()):
        return not QUESTION.search(answer)
    return GO_AHEAD.match(answer) is not None and all(word in POINTER or word.isdigit() for word in words)


def _asked(block: Block) -> str:
    """Return the questions that a block ends with; with the sentence before them if they are short."""
    sentences = sentences_in(block.text)
    last = next((at for at in range(len(sentences) - 1, -1, -1) if _asks(sentences[at])), None)
    if last is None:
        return ""
    first = last
    while first > 0 and _asks(sentences[first - 1]):
        first -= 1
    if first > 0 and sum(map(len, sentences[first : last + 1])) < _SHORT:
        first -= 1
    return "".join(sentences[first : last + 1]).strip()


def _asks(sentence: str) -> bool:
    return QUESTION.search(sentence) is not None or REQUEST.search(sentence) is not None


def _options(blocks: Sequence[Block], at: int) -> tuple[list[str], list[str]]:
    """Return the items directly before a question and those behind it. Behind it they answer it; before it they may."""
    after = [block.text for block in takewhile(_is_option, blocks[at + 1 :])]
    if after:
        return [], after[:_MOST_OPTIONS]
    asks_at_once = _asks(sentences_in(blocks[at].text)[0])
    before = [block.text for block in takewhile(_is_option, reversed(blocks[:at]))] if asks_at_once else []
    return before[:_MOST_OPTIONS][::-1], []


def _is_option(block: Block) -> bool:
    return block.kind == "item" or block.numbered


def _fitting(before: list[str], after: list[str], room: int) -> tuple[list[str], list[str]]:
    """Return options cut alike so that all of them fit; none if that would leave no words of them."""
    count = len(before) + len(after)
    each = min(_OPTION, room // count - 1) if count else 0
    if each < _NAMES:
        return [], []
    return [cut(option, each) for option in before], [cut(option, each) for option in after]
