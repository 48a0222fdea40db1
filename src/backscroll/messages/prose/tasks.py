"""Recognize a document that asks its reader for something: a pasted task, and no log, listing or code."""

from functools import lru_cache

from backscroll.messages.prose.blocks import blocks_of
from backscroll.messages.prose.wording import ORDER, TASK

_READ = 8_000  # characters: what a task asks for shows in its first pages
_LONG = 600  # characters: a shorter text needs no more room than any other
_ITEMS = 5  # of its lists
_ORDERS = 2  # of its blocks that order something, or are a heading of what is asked
_LETTERS = 0.6  # of its characters that are no space; logs, listings and code have more digits and signs


@lru_cache(maxsize=64)  # the size of each line is asked for at several levels
def is_task(text: str) -> bool:
    """Return whether a text is a task: mostly words, in lists, with orders."""
    if len(text) < _LONG:
        return False
    text = text[:_READ]
    signs = "".join(text.split())
    if sum(map(str.isalpha, signs)) < _LETTERS * len(signs):
        return False
    blocks = blocks_of(text)
    items = sum(block.kind == "item" for block in blocks)
    orders = sum(
        (TASK if block.kind in ("heading", "lead") else ORDER).search(block.text) is not None
        for block in blocks
        if block.kind != "code"
    )
    return items >= _ITEMS and orders >= _ORDERS
