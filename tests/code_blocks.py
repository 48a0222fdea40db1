"""The code blocks of a page."""

from pathlib import Path

from sybil.document import Document
from sybil.parsers.markdown import CodeBlockParser


def blocks(page: Path, language: str) -> list[tuple[int, str]]:
    """Line and text of each code block of a language, as Sybil finds them."""
    parser = CodeBlockParser(language, evaluator=lambda example: None)
    document = Document.parse(str(page), parser, encoding="utf-8")
    return [(example.line, example.parsed) for example in document.examples()]
