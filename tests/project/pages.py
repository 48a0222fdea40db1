"""The pages of the documentation, and the code blocks in them."""

import ast
from functools import cache
from pathlib import Path

from sybil.document import Document
from sybil.parsers.markdown import CodeBlockParser

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
WITH_CODE = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> list[tuple[int, str]]:
    """Line and text of each code block of a language, as Sybil finds them."""
    parser = CodeBlockParser(language, evaluator=lambda example: None)
    document = Document.parse(str(page), parser, encoding="utf-8")
    return [(example.line, example.parsed) for example in document.examples()]


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def printed(page: Path, line: int) -> str:
    """The text block that follows a line of a page."""
    return next(text for number, text in blocks(page, "text") if number > line)


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a file of Python, which tests of several modules read and do not change."""
    return ast.parse(path.read_text(encoding="utf-8"))
