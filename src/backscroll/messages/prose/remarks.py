"""Take from a text written with calls what it says of the work, without sentences that only announce the calls."""

from backscroll.messages.prose.blocks import blocks_of
from backscroll.messages.prose.lines import READ
from backscroll.messages.prose.sentences import announces, sentences_in

_SAYS = 15  # characters of a sentence that says something: "Done.", "All green now!" do not
_SAYS_DENSELY = 4  # characters in a script of words without spaces


def remark(text: str) -> str:
    """Return what a text written with calls says, in one line; "" if it only announces them. Code is left out."""
    if len(text) > 2 * READ:
        text = f"{text[:READ]}\n\n{text[-READ:]}"
    sentences = (
        sentence.strip() for block in blocks_of(text) if block.kind != "code" for sentence in sentences_in(block.text)
    )
    return " ".join(sentence for sentence in sentences if _says(sentence) and not announces(sentence))


def _says(sentence: str) -> bool:
    return len(sentence) >= (_SAYS if sentence.isascii() else _SAYS_DENSELY)
