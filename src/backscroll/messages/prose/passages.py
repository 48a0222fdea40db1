"""Weigh the sentences of a text that may be kept or left out. Weights are in the words of a first sentence: 2.0."""

import re
from collections.abc import Iterator, Sequence

from backscroll.messages.prose.blocks import Block, Lists
from backscroll.messages.prose.lines import cut
from backscroll.messages.prose.passage import Passage
from backscroll.messages.prose.sentences import QUESTION, announces, sentences_in
from backscroll.messages.prose.wording import ORDER, OUTCOME, REASON, TASK

# Chosen by reading what was kept of closing reports of recorded sessions at 200 to 2,000 characters. Only their order
# decides: what leads a paragraph or an item, before what follows it, before what is said around it.
_LEADS = 2.0  # the first sentence of a paragraph or an item says what the rest explains
_FOLLOWS = 1.0
_NUMBERED = 3.6  # numbered headings are the list of the whole text: before all below them, also what has a place
_ROW = 1.8  # of a table: below items, because a row says less without its neighbors
_BELOW = 0.5  # less for an item below another one
_NAME = 2  # words of an item that only names something, with its bullet: as much as one below another item
_FIRST, _FIRST_OF_DOCUMENT = 1.5, 2.5  # more in the first paragraph: the result of a report, the subject of a document
_LAST = 1.5  # more in the last one, where reports ask and say what is next
_NEAR_END = 3  # sentences of these paragraphs that weigh more: with all of them one long paragraph took all room
_TOPIC = 0.6  # more below a heading that names findings, causes or what is left: before sections that only describe
_ASKS = 1.2  # more below a heading of a document that asks for something: before lists of how things are
_SAYS_RESULT = 60  # characters of a first line that leads to the rest: a shorter one is "Here is what I found:"
_REASON = 0.7  # more for causes and decisions: before their neighbors, never before the first paragraph
_ORDER = 1.6  # more for what a document asks: before its first sentences, which describe
_PLACE = 0.8  # more for a file with a line, a link or a hash, which no reader can guess
_QUESTION = 0.8  # more for what the reader may have to answer
_SAYS_LITTLE = 0.2  # all that an exclamation ("All done!"), an announcement, signs or a colon weigh
_EXCLAMATION = 34  # characters: longer ones say something
_CODE, _CODE_OF_DOCUMENT, _CODE_NAMED = 1.6, 2.8, 0.4  # quoted as a first sentence nearly is; its size alone fills room
_QUOTED_LINES, _QUOTED = 4, 240  # of code: a command or a signature; more would push the report out
_LINES_OF_DOCUMENT, _QUOTED_OF_DOCUMENT = 9, 360  # commands are what a document is followed by
LONGEST = 300  # characters of a passage: a longer sentence is kept in pieces, so that one line never takes all room
_VALUE = re.compile(r"\w\.\w+:\d+|https?://|\b(?=[a-f]*\d)[0-9a-f]{7,40}\b")
_TAG = re.compile(r"<[!/?A-Za-z][^<>]*>\s*")
_CUT_OFF = re.compile(r"(?:.*[:\uff1a?\uff1f]|\[code, \d+ lines\]) \u2026")
"""A line of which an earlier shortening left only the title, or the size."""
_SPLITS = (";", "\uff1b", "\uff0c", ",", " ")


def passages_of(blocks: Sequence[Block], *, document: bool, start: int = 0) -> list[Passage]:
    """Return the passages of blocks, in order, at positions from `start` on."""
    passages: list[Passage] = []
    said = [at for at, block in enumerate(blocks) if block.kind in ("paragraph", "item")]
    result = _result(blocks)
    if result is not None:
        said = [result, *said]
    lists = Lists()
    for at, block in enumerate(blocks):
        place = lists.place(block, start + len(passages))
        above = place.above
        if (block.kind == "lead" or at in said[-1:]) and blocks[at - 1].kind not in ("heading", "lead"):
            above = None  # behind other blocks of a section, where another one may begin without a heading
        last = at in said[-1:] and block.kind != "item"
        ends = (_FIRST_OF_DOCUMENT if document else _FIRST) * (at in said[:1]), _LAST * last
        found = _of_words(block, ends, document=document) if at == result else _of_block(block, ends, document=document)
        topic = _of_topic(block, place.topic, document=document)
        passages += (
            passage._replace(
                heading=above,
                group=place.group if passage.begins else None,
                weight=passage.weight + topic * (passage.begins and passage.weight >= _FOLLOWS),
            )
            for passage in found
        )
    return _with_last_list(passages) if document else passages


def _with_last_list(passages: list[Passage]) -> list[Passage]:
    """Return the passages of a document where the list at its end weighs more: there it says how to answer."""
    group = next((passage.group for passage in reversed(passages) if passage.begins), None)
    return [
        passage._replace(weight=passage.weight + _LAST * (group is not None and passage.group == group))
        for passage in passages
    ]


def _of_topic(block: Block, topic: str, *, document: bool) -> float:
    """Return what the headings above a block add to its weight."""
    if document and block.kind == "code":
        return (_ORDER + _ASKS) * (ORDER.search(topic) is not None)
    weighs = block.kind in ("paragraph", "item") and (TASK if document else OUTCOME).search(topic) is not None
    return (_ASKS if document else _TOPIC) * weighs


def _result(blocks: Sequence[Block]) -> int | None:
    """Return the position of the first words of a text if they lead to the rest and say a result: what was found."""
    first = next((at for at, block in enumerate(blocks) if block.kind != "heading"), None)
    leads = first is not None and blocks[first].kind == "lead" and len(blocks[first].text) >= _SAYS_RESULT
    return first if leads else None


def _of_block(block: Block, ends: tuple[float, float], *, document: bool) -> Iterator[Passage]:
    """Yield the passages of a block, which weigh more at the beginning and at the end of a text."""
    if block.kind == "code":
        yield from _of_code(block.text.split("\n"), document=document)
    elif block.kind in ("heading", "lead"):
        yield Passage(cut(block.text, LONGEST), _NUMBERED, title=not block.numbered)
    elif block.kind == "row":
        yield Passage(cut(block.text, LONGEST), _ROW)
    else:
        yield from _of_words(block, ends, document=document)


def _of_words(block: Block, ends: tuple[float, float], *, document: bool) -> Iterator[Passage]:
    begins = True
    sentences = sentences_in(block.text)
    below = block.kind == "item" and (block.nested or len(block.text.split()) <= _NAME)
    cut_off = len(block.text) <= LONGEST and _CUT_OFF.fullmatch(block.text) is not None
    for number, sentence in enumerate(sentences):
        answers = number == 1 and QUESTION.search(sentences[0]) is not None
        leads = (number == 0 or answers) and (block.kind == "item" or (block.begins and not block.nested))
        weight = (_LEADS if leads else _FOLLOWS) - _BELOW * below
        weight += ends[0] * (number < _NEAR_END) + ends[1] * (number >= len(sentences) - _NEAR_END)
        weight = _weighed(sentence, weight, document=document)
        if sentence is sentences[-1] and QUESTION.search(sentence):  # any other one is answered by what follows
            weight += _QUESTION
        result = ends[0] and len(sentence) >= _SAYS_RESULT
        if block.kind == "paragraph" and sentence.rstrip().endswith(":") and not result:  # it only leads to the rest
            weight = _SAYS_LITTLE
        if cut_off and sentence is sentences[-1]:  # to what is not there
            weight = 0.0
        for piece in _pieces(f"  {sentence}" if begins and block.nested else sentence):
            yield Passage(piece, weight, begins=begins)
            begins, weight = False, min(weight, _FOLLOWS)


def _of_code(lines: list[str], *, document: bool) -> Iterator[Passage]:
    """Yield a block of code in quotation marks if it is short, else its size."""
    closed = len(lines) > 1 and lines[-1].strip() != "" and not lines[-1].strip().strip(lines[0].strip()[0])
    inner = [" ".join(line.split()) for line in (lines[1:-1] if closed else lines[1:]) if line.strip()]
    most, room = (_LINES_OF_DOCUMENT, _QUOTED_OF_DOCUMENT) if document else (_QUOTED_LINES, _QUOTED)
    if 0 < len(inner) <= most and sum(map(len, inner)) < room:
        yield Passage(f"`{' ⏎ '.join(inner)}`", _CODE_OF_DOCUMENT if document else _CODE)
    elif inner:
        yield Passage(f"[code, {len(inner)} lines]", _CODE_NAMED)


def _weighed(sentence: str, weight: float, *, document: bool) -> float:
    """Return the weight of a sentence with what its words and signs add."""
    if (len(sentence) < _EXCLAMATION and sentence.rstrip()[-1:] in "!\uff01") or (not document and announces(sentence)):
        return _SAYS_LITTLE
    if not any(map(str.isalnum, sentence)) or _TAG.fullmatch(sentence):
        return _SAYS_LITTLE
    asked = ORDER.search(sentence) if document else REASON.search(sentence)
    weight += (_ORDER if document else _REASON) * (asked is not None)
    return weight + _PLACE * (_VALUE.search(sentence) is not None)


def _pieces(sentence: str) -> Iterator[str]:
    """Yield a sentence in pieces of at most `LONGEST` characters, split behind a comma or a space if it has one."""
    while len(sentence) > LONGEST:
        found = [sentence.rfind(sign, LONGEST // 2, LONGEST) for sign in _SPLITS]
        end = next((at + 1 for at in found if at >= 0), LONGEST)
        yield sentence[:end]
        sentence = sentence[end:]
    yield sentence
