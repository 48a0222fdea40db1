"""Prose of the source: words that its readers stumble over stand nowhere; the list of what is left only shrinks."""

import ast
import io
import json
import re
import tokenize
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "backscroll"
LEFT = Path(__file__).with_name("words_left.json")
"""How many of these words each file still has. Nobody adds to it: `python -m tests.project.test_words` writes it anew
after words were taken out.
"""
WORDS = re.compile(
    r"\b(told|tells?|anew|besides?|whoever|whatever|stands?|stood|nobody|somebody|as it was written|takes? in|lets? go"
    r"|is about|who asks|may live here|mends?|mended|tellings?)\b",
    re.IGNORECASE,
)
FIXED_TEXTS = (
    "view/rendering.py",
    "compaction/summarization.py",
    "compaction/verification/claims.py",
    "compaction/verification/wording.py",
    "recall/tool.py",
    "history/plan_codec.py",
)
"""Files whose texts hashes hold, and prose rules do not: parts of views, instructions of summarizers, the definition of
the recall tool, words that claims are found by, and keys of stored records.
"""


def words_in(path: Path) -> int:
    """Words of the list in comments, docstrings, messages and names of a file."""
    source = path.read_text("utf-8")
    found = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            found += len(WORDS.findall(token.string))
        elif token.type == tokenize.NAME:
            found += any(WORDS.fullmatch(part) for part in token.string.split("_"))
    return found


def docstring_lines(path: Path) -> int:
    """The same in docstrings and comments alone, for files with fixed texts."""
    source = path.read_text("utf-8")
    nodes = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(source)) if isinstance(node, nodes)]
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    texts += [token.string for token in tokens if token.type == tokenize.COMMENT]
    return sum(len(WORDS.findall(text)) for text in texts)


@cache
def counted() -> dict[str, int]:
    """The words of each file that has any."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        found[name] = docstring_lines(path) if name in FIXED_TEXTS else words_in(path)
    return {name: count for name, count in found.items() if count}


def test_words_of_the_list_only_shrink():
    left = json.loads(LEFT.read_text("utf-8"))
    assert {name: count for name, count in counted().items() if count > left.get(name, 0)} == {}


def test_list_of_what_is_left_is_true():
    """A file that got better is written down, so that it cannot get worse again."""
    assert json.loads(LEFT.read_text("utf-8")) == counted()


if __name__ == "__main__":
    LEFT.write_text(json.dumps(counted(), indent=1) + "\n", "utf-8")
